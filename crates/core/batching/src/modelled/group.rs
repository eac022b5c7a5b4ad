//! Successive batches under one interval, taken together.

use super::keys::Keys;
use crate::BatchCourse;

/// A latency that is longer than as many times the mean of the others is a straggler, and says
/// nothing of them.
const STRAGGLER: f64 = 8.0;
/// Batches among which one may be a straggler.
const STRAGGLER_BATCHES_MIN: u32 = 3;

/// Sums, in milliseconds.
#[derive(Clone, Default, Debug)]
pub(super) struct Group {
    pub(super) batches: u32,
    /// Members that came.
    pub(super) came: usize,
    left: usize,
    latency: f64,
    latency_max: f64,
    held: f64,
    cycle: f64,
    last: Option<f64>,
    /// Of squared steps from one latency to the next, and the greatest of them.
    steps: f64,
    step_max: f64,
}

/// Means of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) batches: f64,
    /// Members that came, and those of them that left, each of a batch.
    pub(super) came: f64,
    pub(super) left: f64,
    pub(super) latency_ms: f64,
    /// Variance of latencies; none of a single one.
    pub(super) variance: Option<f64>,
    /// From an end to the next departure.
    pub(super) held_ms: f64,
    /// From a departure to the next.
    pub(super) cycle_ms: f64,
}

impl Group {
    /// Takes in a batch, unless it is the writer's first.
    pub(super) fn add(&mut self, course: &BatchCourse) {
        let (Some(held), Some(cycle)) = (course.held, course.since_departure) else { return };
        let latency = course.latency.as_secs_f64() * 1e3;
        self.batches += 1;
        self.came += course.came;
        self.left += course.left;
        self.latency += latency;
        self.latency_max = self.latency_max.max(latency);
        self.held += held.as_secs_f64() * 1e3;
        self.cycle += cycle.as_secs_f64() * 1e3;
        if let Some(last) = self.last.replace(latency) {
            let step = (latency - last) * (latency - last);
            self.steps += step;
            self.step_max = self.step_max.max(step);
        }
    }

    /// The means; there is a batch.
    pub(super) fn observed(&self) -> Observed {
        let batches = f64::from(self.batches);
        let others = (self.latency - self.latency_max) / (batches - 1.0).max(1.0);
        let has_straggler =
            self.batches >= STRAGGLER_BATCHES_MIN && self.latency_max > STRAGGLER * others;
        let (latency_ms, steps) = if has_straggler {
            (others, self.steps - self.step_max)
        } else {
            (self.latency / batches, self.steps)
        };
        // Successive differences (von Neumann 1941): a trend is no variation.
        let variance = (self.batches > 1).then(|| 0.5 * steps / (batches - 1.0));
        Observed {
            batches,
            came: self.came as f64 / batches,
            left: self.left as f64 / batches,
            latency_ms,
            variance,
            held_ms: self.held / batches,
            cycle_ms: self.cycle / batches,
        }
    }
}

impl Observed {
    /// What collapsing made of members.
    pub(super) fn keys(&self) -> Keys {
        Keys::seen(self.came, self.left)
    }
}
