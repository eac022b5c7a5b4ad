//! What can be done with a request, and what becomes of it.

use super::delays::{Curve, Delays};
use crate::{
    Limits, Operation, RequestClass,
    backfill::{Course, Spares, rescue_ms, still_open},
};
use alloc::vec::Vec;

/// Most tasks of a request that are reckoned with.
const TASKS_MAX: usize = 24;
/// Shares of the tasks that are still there when late spare tasks may start.
const STILL_THERE: [f64; 4] = [0.5, 0.2, 0.1, 0.05];

/// What becomes of a request that nobody makes wait, with a number of tasks.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    /// Mean delay, milliseconds.
    pub delay_ms: f64,
    /// Mean lane time of the tasks, without what cancelling takes, milliseconds.
    pub lane_ms: f64,
    /// (milliseconds, share that takes longer, mean time spent beyond), ascending.
    curve: Vec<(f64, f64, f64)>,
}

impl Fate {
    fn of(course: &Course) -> Self {
        let mut curve: Vec<_> = course.curve.iter().map(|&(ms, share)| (ms, share, 0.0)).collect();
        for at in (1..curve.len()).rev() {
            let ((from, high, _), (until, low, beyond)) = (curve[at - 1], curve[at]);
            curve[at - 1].2 = beyond + (until - from) * f64::midpoint(high, low);
        }
        Self { delay_ms: course.delay_ms, lane_ms: course.lane_ms, curve }
    }

    /// The share that takes longer than a time, and how much longer on average of all.
    pub(super) fn beyond(&self, ms: f64) -> (f64, f64) {
        if ms <= 0.0 {
            return (1.0, self.delay_ms - ms);
        }
        let next = self.curve.partition_point(|point| point.0 <= ms);
        let (Some(&(from, high, _)), Some(&(until, low, beyond))) =
            (self.curve.get(next.wrapping_sub(1)), self.curve.get(next))
        else {
            return (0.0, 0.0);
        };
        let share = high + (low - high) * (ms - from) / (until - from).max(1e-9);
        (share, beyond + (until - ms) * f64::midpoint(share, low))
    }
}

/// One k: fates by the number of tasks, from k on.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    pub k: usize,
    pub fates: Vec<Fate>,
    points: Curve,
}

impl Chunks {
    /// When a late task is best joined by a fresh one, with lane time at this price.
    pub(super) fn rescue_ms(&self, price: f64, stopping_ms: f64) -> Option<f64> {
        rescue_ms(&self.points, price, stopping_ms)
    }
}

/// One way to serve a request.
#[derive(Clone, Debug)]
pub(super) struct Act {
    /// Which of the [`Chunks`].
    pub chunks: usize,
    pub k: usize,
    /// Tasks that start at once.
    pub e: usize,
    /// Spare tasks.
    pub spares: usize,
    /// When these may start, milliseconds.
    pub after_ms: f64,
    /// What becomes of it if all late spare tasks find a lane.
    pub late: Option<Fate>,
    /// The share of the requests that want late spare tasks.
    pub wanting: f64,
}

/// All ways to serve the requests of a class.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    pub chunks: Vec<Chunks>,
    pub acts: Vec<Act>,
    /// How much of a lane a spare task takes from others: it is theirs only once the task was
    /// cancelled, and a node with such a task is one that others avoid.
    pub taken: f64,
}

impl Ways {
    /// None before anything is known; `taken`: how much of a lane a spare task takes from others.
    pub(super) fn of(
        delays: &Delays,
        class: &RequestClass,
        limits: Limits,
        lanes: usize,
        taken: f64,
    ) -> Option<Self> {
        let (mut chunks, mut acts) = (Vec::new(), Vec::new());
        let least = limits.ks(class).next()?;
        for k in limits.ks(class) {
            let most = TASKS_MAX.min(lanes);
            if k > most && k > least {
                break;
            }
            let points = delays.curve(class.bytes().max(1) as f64 / k as f64)?;
            let n_max = limits.n_max(class, k).min(most).max(k);
            let fate = |e| Fate::of(&Course::of(&points, k, e, Spares::default()));
            let fates = (k..=n_max).map(fate).collect();
            let index = chunks.len();
            for e in k..=n_max {
                let mut add = |spares, after_ms, late, wanting| {
                    acts.push(Act { chunks: index, k, e, spares, after_ms, late, wanting });
                };
                add(n_max - e, 0.0, None, 1.0);
                if taken <= 0.0 || n_max == e {
                    continue;
                }
                add(0, 0.0, None, 0.0);
                if e > k + 1 || class.operation == Operation::Write {
                    continue;
                }
                for share in STILL_THERE {
                    let late = points.iter().find(|point| point.1 <= share);
                    let after_ms = late.map_or(0.0, |point| point.0);
                    let wanting = still_open(&points, k, e, after_ms);
                    let spares = Spares { count: n_max - e, after_ms, share: 1.0 };
                    let fate = Fate::of(&Course::of(&points, k, e, spares));
                    add(n_max - e, after_ms, Some(fate), wanting);
                }
            }
            chunks.push(Chunks { k, fates, points });
        }
        let mut ways = Self { chunks, acts, taken };
        ways.prune();
        Some(ways)
    }

    /// Leaves out what another is better than in every respect.
    fn prune(&mut self) {
        if self.taken > 0.0 {
            return;
        }
        let worth = |act: &Act| {
            let fates = &self.chunks[act.chunks].fates;
            let (own, all) = (&fates[act.e - act.k], &fates[fates.len() - 1]);
            [own.delay_ms, all.delay_ms, own.lane_ms, act.k as f64]
        };
        let worths: Vec<_> = self.acts.iter().map(worth).collect();
        let is_worse = |at: usize, than: usize| {
            let pairs = || worths[at].iter().zip(&worths[than]);
            pairs().all(|(a, b)| a >= b) && pairs().any(|(a, b)| a > b)
        };
        let keep: Vec<bool> = (0..worths.len())
            .map(|at| at == 0 || !(0..worths.len()).any(|than| than != at && is_worse(at, than)))
            .collect();
        let mut kept = keep.iter();
        self.acts.retain(|_| *kept.next().unwrap_or(&true));
    }

    /// The way with the largest chunks that takes the least lane time, by its place.
    pub(super) fn least(&self, stopping_ms: f64) -> usize {
        let lane_ms = |act: &Act| {
            let stopped = (act.e - act.k + act.spares.min(1)) as f64;
            self.chunks[0].fates[act.e - act.k].lane_ms + stopping_ms * stopped
        };
        let spares = |act: &Act| if self.taken > 0.0 { act.spares } else { 0 };
        let largest = self.acts.iter().enumerate().filter(|(_, act)| act.chunks == 0);
        let least = largest.min_by(|(_, a), (_, b)| {
            lane_ms(a).total_cmp(&lane_ms(b)).then(spares(a).cmp(&spares(b)))
        });
        least.map_or(0, |(at, _)| at)
    }

    /// The least lane time of a request, milliseconds.
    pub(super) fn work_ms(&self) -> f64 {
        let fates = self.chunks.iter().flat_map(|chunks| &chunks.fates);
        fates.map(|fate| fate.lane_ms).fold(f64::INFINITY, f64::min)
    }
}
