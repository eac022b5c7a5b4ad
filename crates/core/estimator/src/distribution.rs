use crate::{
    Sample,
    survival::{Served, Step, steps},
};
use alloc::vec::Vec;
use core::time::Duration;

/// How delays are distributed, by the estimate of Kaplan and Meier.
///
/// Without cancelled tasks that is what counting gives. With them, delays are known up to
/// [`Distribution::known`] only, the share of those no longer than the longest that finished; the
/// means below take all longer ones for as long as that.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    steps: Vec<Step>,
    finished: usize,
    cancelled: usize,
    /// Finished or not.
    longest: Served,
}

/// This many delays that are equally likely by the estimate of Kaplan and Meier, ascending. What is
/// not known of the longest counts as the longest that was seen, finished or not: so does
/// everything if no task finished. None without samples.
pub fn equally_likely(samples: impl IntoIterator<Item = Sample>, count: usize) -> Vec<Duration> {
    let times = ascending(samples);
    let Some(&longest) = times.last() else { return Vec::new() };
    let delays = Distribution::of_times(times.into_iter());
    let quantile = |at: usize| {
        let delay = delays.as_ref().and_then(|all| all.quantile((at as f64 + 0.5) / count as f64));
        delay.unwrap_or(longest.time())
    };
    (0..count).map(quantile).collect()
}

fn ascending(samples: impl IntoIterator<Item = Sample>) -> Vec<Served> {
    let mut times: Vec<Served> = samples.into_iter().map(|sample| Served::of(&sample)).collect();
    times.sort_unstable();
    times
}

impl Distribution {
    /// Of these samples, whatever their operation, size and node; none if no task finished.
    pub fn of(samples: impl IntoIterator<Item = Sample>) -> Option<Self> {
        Self::of_times(ascending(samples).into_iter())
    }

    /// Of ascending times; none if no task finished.
    pub(crate) fn of_times(sorted: impl ExactSizeIterator<Item = Served>) -> Option<Self> {
        let (count, mut last) = (sorted.len(), None);
        let steps: Vec<Step> = steps(sorted.inspect(|&served| last = Some(served))).collect();
        let (finished, cancelled) = (steps.len(), count - steps.len());
        last.filter(|_| finished > 0).map(|longest| Self { steps, finished, cancelled, longest })
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

    /// The first three moments, in powers of seconds. Unlike the mean above they take what is not
    /// known of the longest delays for as long as the longest that was seen, finished or not: a
    /// planner must not think a node fast whose slow tasks were all cancelled.
    pub fn moments_s(&self) -> [f64; 3] {
        let least = |served: Served| served.time().as_secs_f64().max(1e-9);
        let known = self.steps.iter().map(|step| (step.mass, least(step.served)));
        let mut moments = [0.0; 3];
        for (mass, seconds) in known.chain([(self.unknown(), least(self.longest))]) {
            let powers = [seconds, seconds * seconds, seconds * seconds * seconds];
            moments.iter_mut().zip(powers).for_each(|(sum, power)| *sum += mass * power);
        }
        moments
    }

    /// The least delay that the share `p`, 0 to 1, of delays does not exceed; none beyond what is
    /// known.
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

    /// At most `points_max` points of a plot: milliseconds, and the share of delays that are
    /// longer. They are spread evenly over the logarithm of the share, so that the tail has as many
    /// as it needs.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::{NodeId, Operation};

    /// Milliseconds, and whether the task finished.
    fn seen(times: impl IntoIterator<Item = (u64, bool)>) -> Vec<Sample> {
        let sample = |(ms, finished)| Sample {
            operation: Operation::Read,
            node: NodeId(0),
            bytes: 1,
            served: Duration::from_millis(ms),
            finished,
        };
        times.into_iter().map(sample).collect()
    }

    #[test]
    fn in_moments_what_was_cancelled_counts_as_longer() {
        let mean_s = |times: &[(u64, bool)]| {
            Distribution::of(seen(times.iter().copied())).unwrap().moments_s()[0]
        };
        let all = [(1000, true), (2000, true), (3000, true), (4000, true)];
        assert!((mean_s(&all) - 2.5).abs() < 1e-12);
        // The first two of four were waited for: the other two took 2 s or longer.
        let cut = [(1000, true), (2000, true), (2000, false), (2000, false)];
        assert!((mean_s(&cut) - 1.75).abs() < 1e-12);
        // One given up at 1.5: its part goes to what is seen later.
        let mixed = [(1000, true), (1500, false), (3000, true), (5000, true)];
        assert!((mean_s(&mixed) - (0.25 + 0.375 * 8.0)).abs() < 1e-12);
        // Half were given up at 9: they took that at least.
        assert!((mean_s(&[(1000, true), (9000, false)]) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn equally_likely_delays_have_the_mean_of_what_was_seen() {
        let mean_s = |samples: Vec<Sample>| {
            let delays = equally_likely(samples, 200);
            assert!(delays.len() == 200 && delays.is_sorted());
            delays.iter().sum::<Duration>().as_secs_f64() / 200.0
        };
        assert!((mean_s(seen((1..=1000).map(|ms| (ms, true)))) - 0.5005).abs() < 2e-3);
        let cut = seen((1..=1000).map(|ms| (ms.min(500), ms <= 500)));
        assert!((mean_s(cut) - 0.375).abs() < 3e-3);
        assert!((mean_s(seen([(40, false), (70, false)])) - 0.07).abs() < 1e-9, "at least that");
        assert_eq!(equally_likely([], 200), []);
    }
}
