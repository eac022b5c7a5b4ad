use super::Demand;
use crate::{Class, Limits};
use alloc::vec::Vec;
use ripstop_model::Code;

/// A whole code and what it costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Candidate {
    pub(super) code: Code,
    /// Mean service delay: equation (2), exactly.
    service_ms: f64,
    /// U: lane time of a request, equation (3).
    pub(super) lane_ms: f64,
    /// (1 + c²)/2, c being the coefficient of variation of the service delay.
    variation: f64,
    /// √(2(L/n + 1)).
    power: f64,
}

impl Candidate {
    fn new(demand: &Demand, lanes: f64, n: usize, k: usize) -> Self {
        let power = libm::sqrt(2.0 * ((lanes / n as f64).max(1.0) + 1.0));
        Self {
            code: Code::new(n, k).expect("1 ≤ k ≤ n ≤ 255, as N is"),
            service_ms: demand.service_exact_ms(n, k),
            lane_ms: demand.lane_time_ms(n as f64, k as f64),
            variation: f64::midpoint(1.0, demand.variation(n, k)),
            power,
        }
    }

    /// Mean number of requests that wait for lanes when this share of them is busy: that of as many
    /// servers as requests fit on the lanes, L/n (Sakasegawa: An approximation formula, 1977). Those whose
    /// first task has a lane already and whose last one has not are part of it.
    fn waiting(&self, busy: f64) -> f64 {
        if busy >= 1.0 {
            return f64::INFINITY;
        }
        self.variation * libm::pow(busy, self.power) / (1.0 - busy)
    }
}

/// Which code is best at which load: the minimum of service plus queueing delay over whole codes, the
/// queue being that of many servers.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadThresholds {
    lanes: f64,
    /// The least lane time of a request of this class.
    least_ms: f64,
    /// Each code that is best somewhere with the load from which it is, ascending.
    steps: Vec<(f64, Candidate)>,
}

/// Parts that the loads 0 to 1 are first cut into.
const PARTS: u32 = 16;
/// Loads nearer than this have one step between them at most.
const NEAR: f64 = 1.0 / 4096.0;

impl LoadThresholds {
    /// The thresholds for requests of this class on so many lanes.
    pub fn new(demand: &Demand, lanes: usize, class: &Class, limits: Limits) -> Self {
        let lanes = lanes as f64;
        let codes =
            limits.ks(class).flat_map(|k| (k..=limits.n_max(class, k)).map(move |n| (n, k)));
        let mut all: Vec<_> = codes.map(|(n, k)| Candidate::new(demand, lanes, n, k)).collect();
        // Whichever is dearer in lane time without being faster is best nowhere.
        all.sort_by(|one, other| one.lane_ms.total_cmp(&other.lane_ms));
        let least_ms = all.first().expect("there is a possible code").lane_ms;
        let mut fastest = f64::INFINITY;
        all.retain(|one| {
            let faster = one.service_ms < fastest;
            fastest = fastest.min(one.service_ms);
            faster
        });
        let mut own = Self { lanes, least_ms, steps: Vec::new() };
        let at = |part: u32| f64::from(part) / f64::from(PARTS);
        own.steps.push((0.0, own.best(&all, 0.0)));
        for part in 0..PARTS {
            own.refine(&all, at(part), at(part + 1));
        }
        own
    }

    /// Mean delay of requests with this code at a load, milliseconds.
    fn delay_ms(&self, one: &Candidate, load: f64) -> f64 {
        if load <= 0.0 {
            return one.service_ms;
        }
        // Little's law.
        one.service_ms + self.waiting(one, load) * self.least_ms / (load * self.lanes)
    }

    fn waiting(&self, one: &Candidate, load: f64) -> f64 {
        one.waiting(load * one.lane_ms / self.least_ms)
    }

    /// The best of them; at full load, which none endures, the one that takes the least lane time.
    fn best(&self, all: &[Candidate], load: f64) -> Candidate {
        let delay = |one: &&Candidate| self.delay_ms(one, load);
        *all.iter().min_by(|a, b| delay(a).total_cmp(&delay(b))).expect("there is a possible code")
    }

    /// Adds the steps between two loads.
    fn refine(&mut self, all: &[Candidate], low: f64, high: f64) {
        let (_, before) = *self.steps.last().expect("there is a first step");
        let after = self.best(all, high);
        if after.code == before.code {
            return;
        }
        if high - low > NEAR {
            let middle = f64::midpoint(low, high);
            self.refine(all, low, middle);
            return self.refine(all, middle, high);
        }
        let (mut low, mut high) = (low, high);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.delay_ms(&before, middle) <= self.delay_ms(&after, middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.steps.push((high, after));
    }

    fn step(&self, load: f64) -> &Candidate {
        let next = self.steps.partition_point(|&(from, _)| from <= load);
        &self.steps[next.max(1) - 1].1
    }

    /// The code that is best at a load: the share of the lanes that is busy if every request takes the
    /// least lane time there is.
    pub fn code(&self, load: f64) -> Code {
        self.step(load).code
    }

    /// The mean backlog that this code makes of this load.
    pub fn backlog(&self, load: f64) -> f64 {
        self.waiting(self.step(load), load)
    }

    /// Mean lane time of a request with the code for this load, milliseconds.
    pub fn lane_ms(&self, load: f64) -> f64 {
        self.step(load).lane_ms
    }

    /// The least lane time that a request of this class can take, milliseconds.
    pub fn least_lane_ms(&self) -> f64 {
        self.least_ms
    }

    /// Each code with the load from which it is used, ascending.
    pub fn steps(&self) -> impl Iterator<Item = (f64, Code)> {
        self.steps.iter().map(|&(from, one)| (from, one.code))
    }
}

#[cfg(test)]
mod tests;
