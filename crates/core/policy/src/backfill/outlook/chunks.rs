//! Tasks of one size, and what comes of a request that they serve.

use crate::{
    RequestClass,
    backfill::{
        course::{Course, Curve, Spares},
        crowd::{Comer, Crowd, Pool, quiet},
        delays::Shape,
        rescue::rescue_ms,
    },
};

/// How much more the own p99 counts while it is quiet: that is what lanes that lie free are best
/// spent on.
const QUIET_TAIL: f64 = 0.1;

/// What counts beside the own mean delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// The own p99, where delays vary much.
    pub tail: f64,
    /// That the next request would lack lanes.
    pub next: f64,
}

impl Weights {
    pub(super) const OF_FREE: Self = Self { tail: 0.2, next: 0.05 };

    /// The own p99 counts for more while it is quiet.
    pub(super) fn tail_in(self, pool: Pool) -> f64 {
        self.tail + QUIET_TAIL * quiet(pool.rho())
    }
}

/// A way to serve a request, and what comes of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::backfill) struct Prospect {
    pub k: usize,
    pub e: usize,
    pub n: usize,
    /// When the n − e spare tasks may start, milliseconds.
    pub spare_after_ms: f64,
    /// Ds: mean time until k of e tasks are done, milliseconds.
    pub delay_ms: f64,
    /// U: mean lane time of the e tasks until then, and of cancelling those that are left.
    pub lane_ms: f64,
    /// The time within which 99 of 100 are done, waiting for lanes included, milliseconds.
    pub p99_ms: f64,
    /// Requests that arrive meanwhile, if all are like this one.
    pub arrivals: f64,
    /// Twice the coefficient of variation of a task's delay, at most 1.
    pub spread: f64,
}

/// Tasks of one size: k of them are needed.
pub(super) struct Chunks<'a> {
    pub class: &'a RequestClass,
    pub k: usize,
    pub n_max: usize,
    pub points: &'a Curve,
    pub spread: f64,
    pub rescue_ms: Option<f64>,
    /// Requests that arrive in a millisecond, if all are like this one.
    pub rate: f64,
    pub pool: Pool,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(
        class: &'a RequestClass,
        (k, n_max): (usize, usize),
        points: &'a Curve,
        shape: &Shape,
        work_ms: f64,
        pool: Pool,
    ) -> Self {
        let bytes = class.bytes().max(1) as f64 / k as f64;
        let spread = (2.0 * shape.variation_at(bytes)).min(1.0);
        let rescue_ms = rescue_ms(points, pool.price, 0.0);
        let rate = pool.offered / work_ms;
        Self { class, k, n_max, points, spread, rescue_ms, rate, pool }
    }

    /// With e tasks at once and all others spare, where cancelling costs nothing.
    pub(super) fn prospect(&self, e: usize) -> Prospect {
        let course = Course::of(self.points, self.k, e, Spares::default());
        let comer = Comer { at_once: e as f64, spares: 0.0, stopping_ms: 0.0 };
        Prospect {
            k: self.k,
            e,
            n: self.n_max,
            spare_after_ms: 0.0,
            delay_ms: course.delay_ms,
            lane_ms: course.lane_ms,
            p99_ms: self.crowd(course.delay_ms, course.lane_ms).p99_ms(&course, comer),
            arrivals: self.rate * course.delay_ms,
            spread: self.spread,
        }
    }

    /// Requests that take this long and this much lane time, as many as arrive.
    pub(super) fn crowd(&self, delay_ms: f64, lane_ms: f64) -> Crowd {
        let each = lane_ms / delay_ms.max(1e-9);
        Crowd { others: self.rate * delay_ms, each, lanes: self.pool.lanes }
    }
}
