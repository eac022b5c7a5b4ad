//! Stout: delay-based congestion control of the interval (McCullough, Dunagan, Wolman, Snoeren).
//!
//! Perf is batch size over latency plus interval. Below recent perf: BACK-OFF, the interval grows
//! by the share α. Otherwise: ACCELERATE, it goes the share β of the way to its square root, in
//! milliseconds. Recent perf is of averages after a BACK-OFF, and the greatest after an ACCELERATE.
//! The slides give none of the constants; those here are ours.

use crate::{BatchCourse, Controller, ControllerSettings, Rhythm};
use core::time::Duration;
use libm::sqrt;
use ripstop_estimator::MovingAverage;
use ripstop_model::Timestamp;

/// The interval is not below the fixed point of its square root, and begins there.
const INTERVAL_MIN_MS: f64 = 1.0;
const INTERVAL_MAX_MS: f64 = 400.0;
/// What a decision's numbers count for in the averages.
const WEIGHT: f64 = 0.125;
/// Decisions among which the greatest perf is sought.
const PERFS_MAX: usize = 16;
/// Batches of a decision, and how far below recent perf is no reason to back off.
const PUBLISHED: (u32, f64) = (1, 0.0);
const OVER_TEN: (u32, f64) = (10, 0.1);

/// Numbers of a batch, or of several.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    batches: u32,
    members: f64,
    latency_ms: f64,
    interval_ms: f64,
}

/// The published rule.
#[derive(Debug)]
pub(crate) struct Stout {
    batches: u32,
    tolerance: f64,
    back_off: f64,
    accelerate: f64,
    interval_max_ms: f64,
    interval_ms: f64,
    now: Sums,
    /// Of members, latency and interval; none before the first decision.
    averages: Option<[MovingAverage; 3]>,
    /// Perfs of the last decisions, the oldest of which is replaced.
    perfs: [f64; PERFS_MAX],
    decisions: usize,
    has_backed_off: bool,
}

impl Stout {
    /// A decision for each batch, without tolerance.
    pub(crate) fn published(settings: &ControllerSettings) -> Self {
        Self::new(settings, PUBLISHED)
    }

    /// Decisions over ten batches, with tolerance.
    pub(crate) fn over_ten(settings: &ControllerSettings) -> Self {
        Self::new(settings, OVER_TEN)
    }

    fn new(settings: &ControllerSettings, (batches, tolerance): (u32, f64)) -> Self {
        let most = settings.interval_max.map_or(INTERVAL_MAX_MS, |most| most.as_secs_f64() * 1e3);
        Self {
            batches,
            tolerance,
            back_off: settings.back_off,
            accelerate: settings.accelerate,
            interval_max_ms: most.max(INTERVAL_MIN_MS),
            interval_ms: INTERVAL_MIN_MS,
            now: Sums::default(),
            averages: None,
            perfs: [0.0; PERFS_MAX],
            decisions: 0,
            has_backed_off: false,
        }
    }

    fn recent_perf(&self) -> Option<f64> {
        let [members, latency, interval] = self.averages?.map(MovingAverage::get);
        Some(if self.has_backed_off {
            members / (latency + interval)
        } else {
            self.perfs.iter().copied().fold(0.0, f64::max)
        })
    }

    fn decide(&mut self) {
        let Sums { members, latency_ms, interval_ms, .. } = core::mem::take(&mut self.now);
        let perf = members / (latency_ms + interval_ms).max(f64::MIN_POSITIVE);
        let recent = self.recent_perf();
        self.has_backed_off = recent.is_some_and(|recent| perf < recent * (1.0 - self.tolerance));
        let interval = self.interval_ms;
        let next = if self.has_backed_off {
            (1.0 + self.back_off) * interval
        } else {
            (1.0 - self.accelerate) * interval + self.accelerate * sqrt(interval)
        };
        self.interval_ms = next.clamp(INTERVAL_MIN_MS, self.interval_max_ms);
        self.perfs[self.decisions % PERFS_MAX] = perf;
        self.decisions += 1;
        let numbers = [members, latency_ms, interval_ms];
        let averages = self.averages.get_or_insert_with(|| numbers.map(MovingAverage::new));
        averages.iter_mut().zip(numbers).for_each(|(average, number)| average.add(WEIGHT, number));
    }
}

impl Controller for Stout {
    fn rhythm(&self) -> Rhythm {
        Rhythm::AfterEnd(Duration::from_secs_f64(self.interval_ms / 1e3))
    }

    fn learn(&mut self, _: Timestamp, course: &BatchCourse) {
        self.now.batches += 1;
        self.now.members += course.came as f64;
        self.now.latency_ms += course.latency.as_secs_f64() * 1e3;
        self.now.interval_ms += self.interval_ms;
        if self.now.batches >= self.batches {
            self.decide();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_delay::Dice;

    /// The interval after batches on a store of its own that takes 5 ms, give or take 30 %, for
    /// members that come at an even rate of one each millisecond.
    fn interval_after(mut stout: Stout, batches: u32) -> f64 {
        let mut dice = Dice::new(1);
        for _ in 0..batches {
            let latency = 5.0 * libm::exp(0.3 * dice.normal() - 0.045);
            let came = (latency + stout.interval_ms) as usize;
            let latency = Duration::from_secs_f64(latency / 1e3);
            let (held, since_departure, left, bytes) = (None, None, came, 256);
            let course = BatchCourse { came, left, bytes, held, latency, since_departure };
            stout.learn(Timestamp::ZERO, &course);
        }
        stout.interval_ms
    }

    #[test]
    fn the_literal_rule_drifts_to_its_cap_and_ten_batches_cure_that() {
        let settings = ControllerSettings::default();
        assert!(interval_after(Stout::published(&settings), 4000) > 0.5 * INTERVAL_MAX_MS);
        assert!(interval_after(Stout::over_ten(&settings), 4000) < 2.0);
    }

    #[test]
    fn backing_off_keeps_the_ratio_of_two_intervals_and_accelerating_shrinks_it() {
        let ratio = |step: fn(f64) -> f64| step(80.0) / step(20.0);
        assert!((ratio(|it| 1.05 * it) - 4.0).abs() < 1e-12);
        assert!(ratio(|it| 0.95 * it + 0.05 * sqrt(it)) < 4.0);
    }
}
