use crate::{
    Sample,
    survival::{Served, Step, steps},
};
use alloc::vec::Vec;
use core::time::Duration;

/// How delays are distributed, by the estimate of Kaplan and Meier.
///
/// Without cancelled tasks that is what counting gives. With them, delays are known up to
/// [`Distribution::known`] only, the share of those no longer than the longest that finished; the means
/// below take all longer ones for as long as that.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    steps: Vec<Step>,
    finished: usize,
    cancelled: usize,
}

impl Distribution {
    /// Of these samples, whatever their operation, size and node; none if no task finished.
    pub fn of(samples: impl IntoIterator<Item = Sample>) -> Option<Self> {
        let mut times: Vec<Served> =
            samples.into_iter().map(|sample| Served::of(&sample)).collect();
        times.sort_unstable();
        Self::of_times(times.into_iter())
    }

    /// Of ascending times; none if no task finished.
    pub(crate) fn of_times(sorted: impl ExactSizeIterator<Item = Served>) -> Option<Self> {
        let count = sorted.len();
        let steps: Vec<Step> = steps(sorted).collect();
        let (finished, cancelled) = (steps.len(), count - steps.len());
        (finished > 0).then_some(Self { steps, finished, cancelled })
    }

    /// Tasks that finished.
    pub const fn finished(&self) -> usize {
        self.finished
    }

    /// Tasks that were cancelled.
    pub const fn cancelled(&self) -> usize {
        self.cancelled
    }

    fn unknown(&self) -> f64 {
        self.steps.last().map_or(0.0, |step| step.survival)
    }

    /// The share of delays that are known; 1 unless the longest time is a cancelled task's.
    pub fn known(&self) -> f64 {
        1.0 - self.unknown()
    }

    fn mean_of(&self, term: impl Fn(f64) -> f64) -> f64 {
        let longest = self.steps.last().map_or(0.0, |step| step.served.ms());
        let known: f64 = self.steps.iter().map(|step| step.mass * term(step.served.ms())).sum();
        known + self.unknown() * term(longest)
    }

    /// Mean, milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.mean_of(|ms| ms)
    }

    /// Standard deviation, milliseconds.
    pub fn deviation_ms(&self) -> f64 {
        let mean = self.mean_ms();
        libm::sqrt(self.mean_of(|ms| (ms - mean) * (ms - mean)))
    }

    /// The least delay that the share `p`, 0 to 1, of delays does not exceed; none beyond what is known.
    pub fn quantile(&self, p: f64) -> Option<Duration> {
        let above = 1.0 - p.clamp(0.0, 1.0) + 1e-12;
        let place = self.steps.partition_point(|step| step.survival > above);
        self.steps.get(place).map(|step| step.served.time())
    }

    /// The share of delays longer than `delay`; beyond what is known, the share that is not.
    pub fn ccdf(&self, delay: Duration) -> f64 {
        let place = self.steps.partition_point(|step| step.served.time() <= delay);
        if place == 0 { 1.0 } else { self.steps[place - 1].survival }
    }

    /// At most `points_max` points of a plot: milliseconds, and the share of delays that are longer.
    /// They are spread evenly over the logarithm of the share, so that the tail has as many as it needs.
    pub fn ccdf_points(&self, points_max: usize) -> Vec<(f64, f64)> {
        let point = |step: &Step| (step.served.ms(), step.survival);
        if self.steps.len() <= points_max {
            return self.steps.iter().map(point).collect();
        }
        let least = self.steps.iter().rev().map(|step| step.survival).find(|&share| share > 0.0);
        let depth = libm::log(least.unwrap_or(1.0));
        let place = |at: usize| {
            let share = libm::exp(depth * (at + 1) as f64 / points_max as f64);
            self.steps.partition_point(|step| step.survival > share * (1.0 + 1e-9))
        };
        let mut places: Vec<usize> = (0..points_max).map(place).collect();
        places.dedup();
        places.into_iter().filter_map(|place| self.steps.get(place)).map(point).collect()
    }
}
