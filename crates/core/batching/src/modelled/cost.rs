//! What a batch costs: a fixed part, a part for each member, and by how much each batch that waits
//! at the store slows service down.
//!
//! The two parts are fitted to batches that no writer held back, for then all writers do the same,
//! and latencies say what a service takes whatever its law. How far batches that are held back cost
//! less than that says what their shorter queue is worth.

use alloc::vec::Vec;
use libm::{expm1, log2, round};
use ripstop_estimator::{MovingAverage, Point, line};

/// Means that are kept of calibrating batches, each told from others that differ by a factor of
/// about √2 in size: sizes up to 2^16.
const MEANS_MAX: usize = 33;
/// A mean, of calibrating batches or of others, is that of about as many.
const MEMORY: f64 = 16.0;
/// Batches that are held back must cost less than this share of calibrating ones to speak of a
/// slowdown: the wait that is taken out of their latencies is not as exact.
const CHEAPER: f64 = 0.93;
/// Sizes below this tell nothing of a member's part.
const SIZES_TELL: f64 = 8.0;
/// No slowdown is taken to be more.
const SLOWDOWN_MAX: f64 = 1.0;

/// The law of a batch's cost, in milliseconds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Cost {
    pub(super) fixed: f64,
    pub(super) each: f64,
    /// Share by which each waiting batch makes it longer.
    pub(super) slowdown: f64,
}

impl Cost {
    /// Of a batch of this size while this many wait.
    pub(super) fn of(&self, members: f64, queue: f64) -> f64 {
        (self.fixed + self.each * members) * (1.0 + self.slowdown * queue)
    }
}

/// Calibrating batches of about one size.
#[derive(Clone, Copy, Debug)]
struct Mean {
    kind: i32,
    members: f64,
    cost: f64,
    weight: f64,
}

/// Costs that were seen.
#[derive(Clone, Default, Debug)]
pub(super) struct Costs {
    means: Vec<Mean>,
    /// The queue at calibrating batches.
    queue: MovingAverage,
    calibrating: f64,
    /// Of others: the queue, and the cost over that of a calibrating batch of the same size.
    held_queue: MovingAverage,
    held_ratio: MovingAverage,
    held: f64,
    /// As calibrating batches have it, with their queue.
    plain: Cost,
}

impl Costs {
    /// Takes in what a batch of this size, which nobody held back, cost while this many waited, and
    /// what the squared coefficient of variation of such a cost is.
    pub(super) fn calibrate(&mut self, members: f64, queue: f64, cost: f64, noise: f64) {
        self.calibrating = (self.calibrating + 1.0).min(MEMORY);
        self.queue.add(1.0 / self.calibrating, queue);
        // Who has few members still waits for the first now and then: all were not at the store.
        let trust = expm1(-members) * expm1(-members);
        let members = members.max(1.0);
        let kind = round(2.0 * log2(members)) as i32;
        if let Some(mean) = self.means.iter_mut().find(|mean| mean.kind == kind) {
            mean.weight = (mean.weight + trust).min(MEMORY);
            let share = trust / mean.weight;
            mean.members += share * (members - mean.members);
            mean.cost += share * (cost - mean.cost);
        } else if self.means.len() < MEANS_MAX {
            self.means.push(Mean { kind, members, cost, weight: trust });
        }
        self.plain = self.fit(noise);
    }

    /// Takes in what batches of this size that were held back cost.
    pub(super) fn add(&mut self, members: f64, queue: f64, cost: f64) {
        self.held = (self.held + 1.0).min(MEMORY);
        let ratio = cost / self.plain.of(members, 0.0).max(f64::MIN_POSITIVE);
        self.held_ratio.add(1.0 / self.held, ratio);
        self.held_queue.add(1.0 / self.held, queue);
    }

    /// The greatest size that was calibrated; none if nothing was.
    pub(super) fn members_max(&self) -> Option<f64> {
        self.means.iter().map(|mean| mean.members).reduce(f64::max)
    }

    /// What a calibrating batch of this size costs.
    pub(super) fn calibrated(&self, members: f64) -> f64 {
        self.plain.of(members, 0.0)
    }

    /// What batches that are held back cost, over what calibrating ones do; 1 before enough came.
    pub(super) fn dearer(&self) -> f64 {
        if self.held < MEMORY { 1.0 } else { self.held_ratio.get() }
    }

    /// The law.
    pub(super) fn law(&self) -> Cost {
        let (ratio, queue, held) = (self.held_ratio.get(), self.queue.get(), self.held_queue.get());
        // What is slower by (1 + s·queue) when calibrating is slower by (1 + s·held) now.
        let slowdown = (1.0 - ratio) / (ratio * queue - held);
        if self.held < 1.0 || ratio > CHEAPER || slowdown.is_nan() || slowdown < 0.0 {
            return self.plain;
        }
        let slowdown = slowdown.min(SLOWDOWN_MAX);
        let scale = 1.0 / (1.0 + slowdown * queue);
        Cost { fixed: scale * self.plain.fixed, each: scale * self.plain.each, slowdown }
    }

    /// The line nearest to the means, in proportion. Its slope is believed as far as noise does not
    /// explain it: t²/(1 + t²) of it, where t is the slope in its standard errors.
    fn fit(&self, noise: f64) -> Cost {
        let point = |mean: &Mean| {
            let square = (mean.cost * mean.cost).max(f64::MIN_POSITIVE);
            Point { x: mean.members, y: mean.cost, weight: mean.weight / square }
        };
        let points: Vec<Point> = self.means.iter().map(point).collect();
        let sum = |term: &dyn Fn(&Point) -> f64| -> f64 {
            points.iter().map(|point| point.weight * term(point)).sum()
        };
        let weight = sum(&|_| 1.0);
        let (x, y) = (sum(&|point| point.x) / weight, sum(&|point| point.y) / weight);
        let spread = sum(&|point| (point.x - x) * (point.x - x));
        let greatest = points.iter().map(|point| point.x).fold(0.0, f64::max);
        if spread <= 0.0 || greatest < SIZES_TELL {
            return Cost { fixed: y, each: 0.0, slowdown: 0.0 };
        }
        let slope = line(&points).1;
        let squared_t = slope * slope * spread / noise.max(f64::MIN_POSITIVE);
        let each = slope * squared_t / (1.0 + squared_t);
        Cost { fixed: (y - each * x).max(0.0), each, slowdown: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_delay::Dice;

    fn calibrated(law: Cost, queue: f64) -> Costs {
        let (mut costs, mut dice) = (Costs::default(), Dice::new(1));
        for _ in 0..400 {
            let members = 1.0 + 400.0 * dice.uniform();
            costs.calibrate(
                members,
                queue,
                law.of(members, queue) * (1.0 + 0.1 * dice.normal()),
                0.01,
            );
        }
        costs
    }

    #[test]
    fn parts_are_found_in_noise_and_what_is_kept_is_bounded() {
        let costs = calibrated(Cost { fixed: 5.0, each: 0.05, slowdown: 0.0 }, 7.0);
        let fit = costs.law();
        assert!((fit.fixed / 5.0 - 1.0).abs() < 0.1, "{fit:?}");
        assert!((fit.each / 0.05 - 1.0).abs() < 0.1 && fit.slowdown <= 0.0, "{fit:?}");
        assert!(costs.means.len() <= MEANS_MAX);
    }

    #[test]
    fn a_queue_that_slows_service_down_is_told_by_batches_that_are_held_back() {
        let law = Cost { fixed: 5.0, each: 0.05, slowdown: 0.05 };
        let mut costs = calibrated(law, 31.0);
        (0..20).for_each(|_| costs.add(200.0, 2.0, law.of(200.0, 2.0)));
        let fit = costs.law();
        assert!((fit.slowdown / 0.05 - 1.0).abs() < 0.2, "{fit:?}");
        assert!((fit.of(200.0, 0.0) / 15.0 - 1.0).abs() < 0.1, "{fit:?}");
    }

    #[test]
    fn what_costs_more_than_when_calibrated_is_no_reason_for_a_slowdown() {
        let law = Cost { fixed: 5.0, each: 0.05, slowdown: 0.0 };
        let mut costs = calibrated(law, 7.0);
        let plain = costs.law();
        (0..20).for_each(|_| costs.add(200.0, 1.0, 1.2 * law.of(200.0, 0.0)));
        assert_eq!(costs.law(), plain);
    }
}
