mod chunks;
mod dear;

pub(super) use chunks::Prospect;

use super::{crowd::Pool, delays::Delays};
use crate::{Limits, RequestClass};
use alloc::vec::Vec;
use chunks::{Chunks, Weights};

/// Generations of knowledge after which an outlook that is hardly used is still good enough.
const GENERATIONS_EARLY: u64 = 10;
/// Uses after which an outlook is worth computing again.
const USES: u64 = 100;
/// How much longer a request takes for each share of the lanes that it lacks at once.
const LACKING: f64 = 0.7;
/// How much dearer lane time is where delays hardly vary: redundancy gains little there, and
/// waiting for lanes makes up most of the tail.
const LIGHT: f64 = 0.3;
/// Cancellations that take less of a request's work than this count as free.
const STOPPING_FREE: f64 = 0.02;

/// What requests of one class may expect of each k and e: e tasks at once, any k of which suffice.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    prospects: Vec<Prospect>,
    /// By k: when a late task is best joined by a fresh one, milliseconds.
    rescues: Vec<(usize, f64)>,
    /// Mean lane time without redundancy, milliseconds.
    pub work_ms: f64,
    /// How dear lane time is, as a share of its price, where cancellations cost something.
    dearness: Option<f64>,
    generation: u64,
    uses: u64,
}

impl Outlook {
    pub(super) fn new(
        delays: &Delays,
        class: &RequestClass,
        limits: Limits,
        pool: Pool,
        generation: u64,
    ) -> Option<Self> {
        let bytes = class.bytes().max(1) as f64;
        let (mut prospects, mut rescues) = (Vec::new(), Vec::new());
        // Half of the payload is in the middle of the chunks there may be.
        let least = class.ks().next()?;
        let shape = delays.shape(bytes / (2 * least) as f64)?;
        let work = |k: usize| k as f64 * shape.mean_at(bytes / k as f64);
        let work_ms = limits.ks(class).map(work).fold(f64::INFINITY, f64::min);
        let is_dear = pool.stopping_ms >= STOPPING_FREE * work_ms;
        for k in limits.ks(class) {
            let points = shape.points_at(bytes / k as f64);
            let n_max = limits.n_max(class, k).min(2 * k);
            let chunks = Chunks::new(class, (k, n_max), &points, &shape, work_ms, pool);
            let e_max = libm::ceil(k as f64 * (1.0 + chunks.spread)) as usize;
            prospects.extend(
                (k..=e_max.min(n_max))
                    .map(|e| if is_dear { chunks.dear_prospect(e) } else { chunks.prospect(e) }),
            );
            rescues.extend(chunks.rescue_ms.map(|ms| (k, ms)));
        }
        let dearness = is_dear.then(|| dear::dearness(&prospects));
        Some(Self { prospects, rescues, work_ms, dearness, generation, uses: 0 })
    }

    /// Whether it need not be computed again.
    pub(super) fn is_fresh(&self, generation: u64) -> bool {
        let early = generation < GENERATIONS_EARLY;
        self.generation == generation || (!early && self.uses < USES)
    }

    /// When a late task of a request with this k is best joined by a fresh one.
    pub(super) fn rescue_ms(&self, k: usize) -> Option<f64> {
        self.rescues.iter().find(|&&(known, _)| known == k).map(|&(_, ms)| ms)
    }

    /// The best way, with this many lanes free at the moment.
    pub(super) fn best(&mut self, free: f64, pool: Pool) -> Option<Prospect> {
        self.uses += 1;
        let (weights, price) = match self.dearness {
            Some(_) => (dear::WEIGHTS, pool.price),
            None => (Weights::OF_FREE, pool.price_now(free)),
        };
        let tail = weights.tail_in(pool);
        let cost = |p: &Prospect| {
            // Tasks that find no lane wait for others to end; and so do those of the next request.
            let lacking = |tasks: usize| (tasks as f64 - free).max(0.0) / pool.lanes;
            let next = weights.next * p.arrivals.min(1.0) * lacking(2 * p.e);
            let own = p.delay_ms * (1.0 + LACKING * lacking(p.e) + next);
            let dear = price * self.dearness.unwrap_or_else(|| light(p.spread));
            own + tail * p.spread * p.p99_ms + dear * p.lane_ms
        };
        self.prospects.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).copied()
    }
}

/// How much dearer lane time is than where delays vary much.
fn light(spread: f64) -> f64 {
    1.0 + LIGHT * (1.0 - spread)
}
