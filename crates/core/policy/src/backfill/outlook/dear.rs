//! Where a cancellation takes lane time: which spare tasks are worth theirs, and what becomes of a
//! request with them.

use super::chunks::{Chunks, Prospect, Weights};
use crate::{
    Operation,
    backfill::{
        course::{Course, Spares, exceeded_by, still_open},
        crowd::{Comer, Crowd},
    },
};

/// The next request counts for more here: it has to wait for cancellations too.
pub(super) const WEIGHTS: Weights = Weights { tail: 0.16, next: 0.3 };
/// Shares of the tasks that are still there when spare tasks may start, if that is not at once.
const STILL_THERE: [f64; 5] = [0.7, 0.4, 0.2, 0.1, 0.05];
/// Rounds in which the spare tasks that find a lane, and the crowd among which they do, settle.
const ROUNDS: usize = 3;
/// How much of what spare tasks gain is relied on: they give way to others half way.
const COUNTED_ON: f64 = 0.4;
/// How much a wait for lanes counts, of what it is if all who come upon a crowd wait for it.
const WAITING: f64 = 0.6;
/// How dear lane time is, for each unit of the spread of the largest chunks' delays, and at most.
const DEARNESS: (f64, f64) = (1.6, 1.0);

/// What becomes of a request, milliseconds.
struct Account {
    /// Mean delay, waiting included.
    delay: f64,
    /// Mean lane time of the tasks that start at once, and of all cancellations.
    lane: f64,
    course: Course,
    crowd: Crowd,
    comer: Comer,
}

impl Account {
    /// The time within which 99 of 100 are done, waiting included.
    fn p99(&self) -> f64 {
        self.crowd.p99_ms(&self.course, self.comer)
    }
}

/// How dear lane time is, as a share of its price: less where delays hardly vary, as spare tasks
/// start late there, and lanes are free.
pub(super) fn dearness(prospects: &[Prospect]) -> f64 {
    let least = prospects.iter().map(|prospect| prospect.spread).fold(1.0, f64::min);
    (DEARNESS.0 * least).min(DEARNESS.1)
}

impl Chunks<'_> {
    /// With e tasks at once and the spare tasks that are worth it.
    pub(super) fn dear_prospect(&self, e: usize) -> Prospect {
        let (k, alone) = (self.k, Course::of(self.points, self.k, e, Spares::default()));
        let ((count, after_ms), with) = self.spares(e, &alone);
        let counted_on = |alone: f64, with: f64| alone + COUNTED_ON * (with - alone);
        let lane_ms = alone.lane_ms + self.pool.stopping_ms * (e - k) as f64;
        Prospect {
            k,
            e,
            n: e + count,
            spare_after_ms: after_ms,
            delay_ms: counted_on(alone.delay_ms, with.delay),
            lane_ms: counted_on(lane_ms, with.lane),
            p99_ms: with.p99(),
            arrivals: self.rate * alone.delay_ms,
            spread: self.spread,
        }
    }

    /// How many spare tasks are worth it, and from when on; and what becomes of the request with
    /// them.
    fn spares(&self, e: usize, alone: &Course) -> ((usize, f64), Account) {
        let all = self.n_max - e;
        // One is kept for the rescue in any case.
        let kept = self.rescue_ms.filter(|_| all > 0).map_or((0, 0.0), |ms| (1, ms));
        let mut best = (kept, self.account(e, kept, alone));
        if all == 0 {
            return best;
        }
        let mut best_cost = self.cost(&best.1, f64::INFINITY);
        // Only reads can make them later.
        let later: &[f64] = match self.class.operation {
            Operation::Read => &STILL_THERE,
            Operation::Write => &[],
        };
        let later = later.iter().map(|&share| exceeded_by(self.points, share));
        for after_ms in core::iter::once(0.0).chain(later) {
            let counts = if all > 1 { &[1, all][..] } else { &[1] };
            for &count in counts {
                let spares = (count, after_ms);
                let account = self.account(e, spares, alone);
                let cost = self.cost(&account, best_cost);
                if cost < best_cost {
                    (best, best_cost) = ((spares, account), cost);
                }
            }
        }
        best
    }

    /// What it costs; without the tail's part if it is more than `most` already.
    fn cost(&self, account: &Account, most: f64) -> f64 {
        let cost = account.delay + self.pool.price * account.lane;
        if cost >= most {
            cost
        } else {
            cost + WEIGHTS.tail_in(self.pool) * self.spread * account.p99()
        }
    }

    /// What becomes of a request with this many spare tasks from a time on, of which as many start
    /// as find a lane, in a crowd of its like.
    fn account(&self, e: usize, (count, after_ms): (usize, f64), alone: &Course) -> Account {
        let stopping_ms = self.pool.stopping_ms;
        let wanting = match count {
            0 => 0.0,
            _ => still_open(self.points, self.k, e, after_ms),
        };
        let stopped_ms =
            |share: f64| stopping_ms * ((e - self.k) as f64 + count as f64 * wanting * share);
        let (mut share, mut course) = (1.0, alone.clone());
        let rounds = if count > 0 { ROUNDS } else { 0 };
        for _ in 0..rounds {
            let crowd = self.crowd(course.delay_ms, course.lane_ms + stopped_ms(share));
            share = crowd.spare_share(count, wanting);
            course = Course::of(self.points, self.k, e, Spares { count, after_ms, share });
        }
        let crowd = self.crowd(course.delay_ms, course.lane_ms + stopped_ms(share));
        let held = course.open_after_ms(after_ms) / course.delay_ms.max(1e-9);
        let comer = Comer { at_once: e as f64, spares: count as f64 * held, stopping_ms };
        let for_lanes_ms = WAITING * crowd.wait_ms(comer.at_once, course.delay_ms);
        Account {
            delay: course.delay_ms + crowd.stopping_wait_ms(comer) + for_lanes_ms,
            // Each that finds a lane is cancelled, some of them more than once.
            lane: course.lane_ms + stopped_ms(1.0),
            course,
            crowd,
            comer,
        }
    }
}
