//! TOFEC for many servers: ours.
//!
//! The published thresholds know the backlog that one fast server would have. A pool of L lanes has
//! none to speak of up to half its load, and a backlog under one code says something else than the
//! same one under another. So the load is measured in a way that does not depend on the codes in
//! use, and the thresholds are loads.

use super::{Demand, LoadThresholds, tables::Tables};
use crate::{Choice, Limits, Load, Policy, PolicySettings, RequestClass, Sample, eager::eager};
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::MovingAverage;
use ripstop_model::{Operation, Timestamp};

/// The code that is best at the load that smoothed lanes and backlog show, all its tasks at once.
///
/// The load ρ is the share of the lanes that would be busy if every request took the least lane
/// time U₁ that it can: busy lanes, and the requests that wait beyond those that wait at this load
/// anyway, times the mean of U₁ over that of U for the codes that were chosen, all smoothed alike.
/// Requests that wait now add the load that serves them within 2 U₁, so that a surge is met at
/// once.
///
/// The smoothed part is uncertain, and the two ways to be wrong differ. Of too high a load nothing
/// is seen: lanes idle, and requests get less redundancy than they could, which their slowest feel.
/// Too low a load makes requests wait, which is met at once. So it is taken one standard deviation
/// low.
///
/// Without a delay model, and until one is learned, it serves like [`Greedy`](crate::Greedy).
#[derive(Debug)]
pub struct MultiServerTofec {
    limits: Limits,
    /// The weight of the old average.
    memory: f64,
    /// Smoothed, as they are before [`Smoothed::weight`] is divided by.
    smoothed: Smoothed,
    /// One standard deviation of the smoothed load, relative to it.
    error: f64,
    /// The backlog that is expected at the load seen last.
    expected: f64,
    greedy: crate::Greedy,
    tables: Tables<LoadThresholds>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Smoothed {
    /// What a constant 1 would have come to: less than 1 at the beginning.
    weight: MovingAverage,
    /// Busy lanes and unexpected backlog.
    occupied: MovingAverage,
    /// U of the codes that were chosen, milliseconds.
    chosen_ms: MovingAverage,
    /// U₁ of the same requests, milliseconds.
    least_ms: MovingAverage,
}

/// In how many mean least lane times the backlog should be served beside what arrives.
const DRAIN: f64 = 2.0;
/// The most that a load is: thresholds lie below.
const LOAD_MAX: f64 = 1.0;

/// How far the smoothed load is off by chance, relative to it. With the memory factor a it is that
/// of the last (1+a)/(1−a) arrivals; that many of a Poisson process bring work that deviates by
/// √(2(1−a)/(1+a)), if that of each is exponential.
fn error(memory: f64) -> f64 {
    libm::sqrt(2.0 * (1.0 - memory) / (1.0 + memory))
}

impl Smoothed {
    fn see(&mut self, memory: f64, occupied: f64) {
        self.weight.fade(memory, 1.0);
        self.occupied.fade(memory, occupied);
    }

    fn take(&mut self, memory: f64, chosen_ms: f64, least_ms: f64) {
        self.chosen_ms.fade(memory, chosen_ms);
        self.least_ms.fade(memory, least_ms);
    }

    /// ρ on this many lanes.
    fn load(&self, lanes: f64) -> f64 {
        let (chosen_ms, least_ms) = (self.chosen_ms.get(), self.least_ms.get());
        let share = if chosen_ms > 0.0 { least_ms / chosen_ms } else { 1.0 };
        self.occupied.get() / self.weight.get().max(f64::MIN_POSITIVE) / lanes * share
    }
}

impl MultiServerTofec {
    /// With the model, the limits and the memory factor of `settings`.
    pub fn new(settings: &PolicySettings) -> Self {
        Self {
            limits: settings.limits,
            memory: settings.memory,
            smoothed: Smoothed::default(),
            error: error(settings.memory),
            expected: 0.0,
            greedy: crate::Greedy::new(settings),
            tables: Tables::new(settings),
        }
    }

    /// Takes in what an arrival sees; returns the load that codes are chosen for.
    fn see(&mut self, load: Load) -> f64 {
        let (lanes, backlog) = (load.lanes.max(1) as f64, load.backlog as f64);
        let busy = load.lanes.saturating_sub(load.lanes_idle) as f64;
        // More than one for each lane says nothing more, and would be remembered for longer.
        self.smoothed.see(self.memory, busy + backlog.min(lanes) - self.expected);
        let surplus = (backlog - self.expected).max(0.0);
        let smoothed = self.smoothed.load(lanes) / (1.0 + self.error);
        (smoothed + surplus / (DRAIN * lanes)).clamp(0.0, LOAD_MAX)
    }
}

impl Policy for MultiServerTofec {
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        let (seen, lanes) = (self.see(load), load.lanes.max(1));
        let limits = self.limits;
        let make = |demand: &Demand| LoadThresholds::new(demand, lanes, class, limits);
        let Some(table) = self.tables.table(now, class, lanes, make) else {
            return self.greedy.choose(now, class, load);
        };
        let (code, backlog) = (table.code(seen), table.backlog(seen));
        let (chosen_ms, least_ms) = (table.lane_ms(seen), table.least_lane_ms());
        self.expected = backlog.min(lanes as f64);
        self.smoothed.take(self.memory, chosen_ms, least_ms);
        eager(code)
    }

    fn learn(&mut self, now: Timestamp, sample: &Sample) {
        self.tables.learn(now, sample);
    }

    fn delay_model(&self, operation: Operation) -> Option<ShiftedExponential> {
        self.tables.delay_model(operation)
    }
}

#[cfg(test)]
mod tests;
