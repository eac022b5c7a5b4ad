use super::Demand;
use crate::{Limits, RequestClass};
use alloc::vec::Vec;
use ripstop_model::Code;

/// A whole code and what it costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Candidate {
    pub(super) code: Code,
    /// Mean service delay: equation (2), exactly.
    service_ms: f64,
    /// Variance of the service delay, square milliseconds.
    service_variance: f64,
    /// U: lane time of a request, equation (3).
    pub(super) lane_ms: f64,
    /// (1 + c²)/2, c being the coefficient of variation of the service delay.
    variation: f64,
    /// √(2(L/n + 1)) − 1.
    power: f64,
}

impl Candidate {
    fn new(demand: &Demand, lanes: f64, n: usize, k: usize) -> Self {
        let (service_ms, service_variance) =
            (demand.service_exact_ms(n, k), demand.service_variance(n, k));
        let square = (service_ms * service_ms).max(f64::MIN_POSITIVE);
        Self {
            code: Code::new(n, k).expect("1 ≤ k ≤ n ≤ 255, as N is"),
            service_ms,
            service_variance,
            lane_ms: demand.lane_time_ms(n as f64, k as f64),
            variation: f64::midpoint(1.0, service_variance / square),
            power: libm::sqrt(2.0 * ((lanes / n as f64).max(1.0) + 1.0)) - 1.0,
        }
    }

    /// Share of the requests that wait for lanes when this share of them is busy: that of as many
    /// servers as requests fit on the lanes, L/n (Sakasegawa: An approximation formula, 1977).
    /// Those whose first task has a lane already and whose last one has not are part of it.
    fn waiting_share(&self, busy: f64) -> f64 {
        libm::pow(busy, self.power)
    }

    /// Mean number of requests that wait.
    fn waiting(&self, busy: f64) -> f64 {
        if busy >= 1.0 {
            return f64::INFINITY;
        }
        self.variation * self.waiting_share(busy) * busy / (1.0 - busy)
    }

    /// Mean plus standard deviation of the whole delay, milliseconds. The wait is exponential, or
    /// none: its second moment is twice the share of those that wait times the square of their
    /// mean.
    fn cost_ms(&self, busy: f64, lanes: f64) -> f64 {
        if busy >= 1.0 {
            return f64::INFINITY;
        }
        let share = self.waiting_share(busy);
        // Of those that wait, by Little's law.
        let wait_ms = self.variation * self.lane_ms / ((1.0 - busy) * lanes);
        let variance = self.service_variance + share * (2.0 - share) * wait_ms * wait_ms;
        self.service_ms + share * wait_ms + libm::sqrt(variance)
    }
}

/// Which code is best at which load: the minimum over whole codes of mean plus standard deviation
/// of the delay, service and queueing together, the queue being that of many servers.
///
/// The mean alone would leave a code whose slow requests are few and very slow for too long:
/// between two codes of about the same mean, the one with the lesser deviation has the lower 99th
/// percentile.
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
    /// The thresholds for requests of this class on this many lanes.
    pub fn new(demand: &Demand, lanes: usize, class: &RequestClass, limits: Limits) -> Self {
        let least_k = limits.ks(class).next().expect("there is a possible k");
        let codes =
            limits.ks(class).flat_map(|k| (k..=limits.n_max(class, k)).map(move |n| (n, k)));
        // Beyond the lanes, a task begins when another has ended: too late to be worth its lane
        // time.
        let fit = codes.filter(|&(n, _)| n <= lanes.max(least_k));
        let lanes = lanes as f64;
        let mut all: Vec<_> = fit.map(|(n, k)| Candidate::new(demand, lanes, n, k)).collect();
        // Whichever is dearer in lane time without being better alone is best nowhere.
        all.sort_by(|one, other| one.lane_ms.total_cmp(&other.lane_ms));
        let least_ms = all.first().expect("there is a possible code").lane_ms;
        let mut least_cost = f64::INFINITY;
        all.retain(|one| {
            let cost = one.cost_ms(0.0, lanes);
            let better = cost < least_cost;
            least_cost = least_cost.min(cost);
            better
        });
        let mut own = Self { lanes, least_ms, steps: Vec::new() };
        let at = |part: u32| f64::from(part) / f64::from(PARTS);
        own.steps.push((0.0, own.best(&all, 0.0)));
        for part in 0..PARTS {
            own.refine(&all, at(part), at(part + 1));
        }
        own
    }

    /// Mean plus standard deviation of the delay of requests with this code at a load,
    /// milliseconds.
    fn cost_ms(&self, one: &Candidate, load: f64) -> f64 {
        one.cost_ms(load * one.lane_ms / self.least_ms, self.lanes)
    }

    fn waiting(&self, one: &Candidate, load: f64) -> f64 {
        one.waiting(load * one.lane_ms / self.least_ms)
    }

    /// The best of them; at full load, which none endures, the one that takes the least lane time.
    fn best(&self, all: &[Candidate], load: f64) -> Candidate {
        let cost = |one: &&Candidate| self.cost_ms(one, load);
        *all.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("there is a possible code")
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
            if self.cost_ms(&before, middle) <= self.cost_ms(&after, middle) {
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

    /// The code that is best at a load: the share of the lanes that is busy if every request takes
    /// the least lane time there is.
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
