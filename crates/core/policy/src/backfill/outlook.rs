use super::{
    course::{Course, Curve, Spares, exceeded_by, hopeless_after, still_open},
    crowd::{Comer, Crowd, Pool},
    delays::{Delays, Shape},
};
use crate::{Class, Limits, Operation};
use alloc::vec::Vec;

/// Generations of knowledge after which an outlook that is hardly used is still good enough.
const GENERATIONS_EARLY: u64 = 10;
/// Uses after which an outlook is worth computing anew.
const USES: u64 = 100;
/// How much the own p99 counts beside the mean, where delays vary much.
const TAIL: f64 = 0.12;
/// How much longer a request takes for each share of the lanes that it lacks at once.
const LACKING: f64 = 0.7;
/// How much it counts that the next one would lack some.
const NEXT: f64 = 0.05;
/// How much dearer lane time is where delays hardly vary: redundancy gains little there, and waiting for
/// lanes makes up most of the tail.
const LIGHT: f64 = 0.3;
/// How much dearer lane time is for each share of a request's work that a cancellation costs.
const STOPPING: f64 = 2.0;
/// Cancellations that take less of a task's time than this are taken to cost nothing.
const STOPPING_FREE: f64 = 0.02;
/// Shares of the tasks that are still there when spare tasks may start, if that is not at once.
const STILL_THERE: [f64; 5] = [0.7, 0.4, 0.2, 0.1, 0.05];

/// What requests of one class may expect of each k and e: e tasks at once, any k of which suffice.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    prospects: Vec<Prospect>,
    /// By k: when a task is so late that a fresh one is likely to end sooner, milliseconds.
    rescues: Vec<(usize, f64)>,
    /// Mean lane time without redundancy, milliseconds.
    pub work_ms: f64,
    generation: u64,
    uses: u64,
}

/// A way to serve a request, and what comes of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Prospect {
    pub k: usize,
    pub e: usize,
    pub n: usize,
    /// When the n − e spare tasks may start, milliseconds.
    pub spare_after_ms: f64,
    /// Ds: mean time until k of e tasks are done, milliseconds.
    delay_ms: f64,
    /// U: mean lane time of the e tasks until then, and of cancelling those that are left.
    lane_ms: f64,
    /// The time within which 99 of 100 are done, waiting for lanes included, milliseconds.
    p99_ms: f64,
    /// Requests that arrive meanwhile, if all are like this one.
    arrivals: f64,
    /// Twice the coefficient of variation of a task's delay, at most 1.
    spread: f64,
}

/// Tasks of one size: k of them are needed.
struct Chunks<'a> {
    class: &'a Class,
    k: usize,
    n_max: usize,
    points: &'a Curve,
    mean_ms: f64,
    spread: f64,
    rescue_ms: Option<f64>,
    /// Requests that arrive in a millisecond, if all are like this one.
    rate: f64,
    pool: Pool,
    /// The cost of a cancellation as a share of the request's work.
    stopping: f64,
}

impl Outlook {
    pub(super) fn new(
        delays: &Delays,
        class: &Class,
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
        for k in limits.ks(class) {
            let points = shape.points_at(bytes / k as f64);
            let n_max = limits.n_max(class, k).min(2 * k);
            let chunks = Chunks::new(class, (k, n_max), &points, &shape, work_ms, pool);
            let e_max = libm::ceil(k as f64 * (1.0 + chunks.spread)) as usize;
            prospects.extend((k..=e_max.min(n_max)).map(|e| chunks.prospect(e)));
            rescues.extend(chunks.rescue_ms.map(|ms| (k, ms)));
        }
        Some(Self { prospects, rescues, work_ms, generation, uses: 0 })
    }

    /// Whether it need not be computed anew.
    pub(super) fn is_fresh(&self, generation: u64) -> bool {
        let early = generation < GENERATIONS_EARLY;
        self.generation == generation || (!early && self.uses < USES)
    }

    /// When a task of a request with this k is so late that a fresh one is likely to end sooner.
    pub(super) fn rescue_ms(&self, k: usize) -> Option<f64> {
        self.rescues.iter().find(|&&(known, _)| known == k).map(|&(_, ms)| ms)
    }

    /// The best way at this price of lane time, with so many lanes free at the moment.
    pub(super) fn best(&mut self, price: f64, free: f64, pool: Pool) -> Option<Prospect> {
        self.uses += 1;
        let dear = price * (1.0 + STOPPING * pool.stopping_ms / self.work_ms);
        let cost = |p: &Prospect| {
            // Tasks that find no lane wait for others to end; and so do those of the next request.
            let lacking = |tasks: usize| (tasks as f64 - free).max(0.0) / pool.lanes;
            let next = NEXT * p.arrivals.min(1.0) * lacking(2 * p.e);
            let own = p.delay_ms * (1.0 + LACKING * lacking(p.e) + next);
            own + TAIL * p.spread * p.p99_ms + dear * light(p.spread) * p.lane_ms
        };
        self.prospects.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).copied()
    }
}

/// How much dearer lane time is than where delays vary much.
fn light(spread: f64) -> f64 {
    1.0 + LIGHT * (1.0 - spread)
}

impl<'a> Chunks<'a> {
    fn new(
        class: &'a Class,
        (k, n_max): (usize, usize),
        points: &'a Curve,
        shape: &Shape,
        work_ms: f64,
        pool: Pool,
    ) -> Self {
        let bytes = class.bytes().max(1) as f64 / k as f64;
        let (mean_ms, stopping) = (shape.mean_at(bytes), pool.stopping_ms / work_ms);
        let spread = (2.0 * shape.variation_at(bytes)).min(1.0);
        let rescue_ms = hopeless_after(points, mean_ms);
        let rate = pool.offered / work_ms;
        Self { class, k, n_max, points, mean_ms, spread, rescue_ms, rate, pool, stopping }
    }

    /// With e tasks at once, and the spare tasks that are worth it.
    fn prospect(&self, e: usize) -> Prospect {
        let k = self.k;
        let alone = Course::of(self.points, k, e, Spares::default());
        let (spares, spare_after_ms) = self.spares(e, &alone);
        Prospect {
            k,
            e,
            n: e + spares,
            spare_after_ms,
            delay_ms: alone.delay_ms,
            lane_ms: alone.lane_ms + self.pool.stopping_ms * (e - k) as f64,
            p99_ms: self.p99_ms(e, spares, &alone, &alone),
            arrivals: self.rate * alone.delay_ms,
            spread: self.spread,
        }
    }

    /// How many spare tasks, and from when on.
    fn spares(&self, e: usize, alone: &Course) -> (usize, f64) {
        let all = self.n_max - e;
        if all == 0 || self.pool.stopping_ms < STOPPING_FREE * self.mean_ms {
            return (all, 0.0);
        }
        // Where there are stragglers, one is kept for the rescue in any case.
        let mut best = self.rescue_ms.map_or((0, 0.0), |ms| (1, ms));
        let mut best_cost = self.cost(e, best, alone);
        // Only reads can make them later.
        let later: &[f64] = match self.class.operation {
            Operation::Read => &STILL_THERE,
            Operation::Write => &[],
        };
        let later = later.iter().map(|&share| exceeded_by(self.points, share));
        for after_ms in core::iter::once(0.0).chain(later) {
            for count in [1, all] {
                let cost = self.cost(e, (count, after_ms), alone);
                if cost < best_cost {
                    (best, best_cost) = ((count, after_ms), cost);
                }
            }
        }
        best
    }

    /// What a request costs with so many spare tasks from this time on: as many as find a lane.
    fn cost(&self, e: usize, (count, after_ms): (usize, f64), alone: &Course) -> f64 {
        let crowd = self.crowd(alone.delay_ms, alone.lane_ms);
        let wanting = if count > 0 { still_open(self.points, self.k, e, after_ms) } else { 0.0 };
        let share = if count > 0 { crowd.spare_share(count, wanting) } else { 0.0 };
        let course = Course::of(self.points, self.k, e, Spares { count, after_ms, share });
        let lane_ms = course.lane_ms + self.pool.stopping_ms * count as f64 * wanting;
        let price = self.pool.price * (1.0 + STOPPING * self.stopping);
        let p99_ms = self.p99_ms(e, count, &course, alone);
        course.delay_ms + TAIL * self.spread * p99_ms + price * lane_ms
    }

    /// Of a request on this course, if those that it comes upon are on that one.
    fn p99_ms(&self, e: usize, spares: usize, course: &Course, others: &Course) -> f64 {
        let stopping_ms = self.pool.stopping_ms;
        let delay_ms = others.delay_ms + stopping_ms;
        let lane_ms = others.lane_ms + stopping_ms * (e - self.k) as f64;
        let comer = Comer { at_once: e as f64, spares: spares as f64, stopping_ms };
        self.crowd(delay_ms, lane_ms).p99_ms(course, comer)
    }

    fn crowd(&self, delay_ms: f64, lane_ms: f64) -> Crowd {
        let each = lane_ms / delay_ms.max(1e-9);
        Crowd { others: self.rate * delay_ms, each, lanes: self.pool.lanes }
    }
}
