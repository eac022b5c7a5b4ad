//! Backfill: redundancy that the backlog never has to wait for. `docs/backfill.md` says what it
//! does and why it works.

mod course;
mod crowd;
mod delays;
mod line;
mod outlook;
mod rescue;
#[cfg(test)]
mod tests;

use crate::{
    Choice, Chunking, Limits, Load, Operation, Policy, PolicySettings, Redundancy, RequestClass,
    Sample,
};
use alloc::collections::BTreeMap;
use core::time::Duration;
use course::power;
pub(crate) use course::{Course, Spares, still_open};
use crowd::{Pool, quiet};
use delays::Delays;
pub(crate) use line::{Line, Point};
use outlook::{Outlook, Prospect};
pub(crate) use rescue::rescue_ms;
use ripstop_estimator::MovingAverage;
use ripstop_model::Timestamp;

/// A code (n,k) of which e tasks start at once and the others only on lanes that nobody else wants,
/// giving way at once when somebody does.
///
/// k and e minimise the request's own delay, its mean and some of its p99, plus the price of the
/// lane time that it takes from others, by delay distributions learned from the tasks themselves.
/// The price rises with the load that *arrives* (rate times the lane time of a request without
/// redundancy), which does not depend on what is chosen: so nothing feeds back. Before anything is
/// learned it serves with k = 2 and no redundancy but on spare lanes.
#[derive(Debug)]
pub struct Backfill {
    limits: Limits,
    delays: [Delays; 2],
    outlooks: BTreeMap<Key, Outlook>,
    /// Requests that arrived.
    arrivals: u64,
    /// At which arrival the delays are learned again.
    learn_at: u64,
    /// How often that happened.
    generation: u64,
    last_arrival: Timestamp,
    /// Smoothed time between arrivals, milliseconds.
    gap_ms: MovingAverage,
    /// Smoothed lane time of a request without redundancy, milliseconds.
    work_ms: MovingAverage,
    /// Smoothed lanes that no task which starts at once holds or waits for; none before a request.
    free: Option<MovingAverage>,
    /// Smoothed lane time that a cancellation costs, milliseconds.
    stopping_ms: MovingAverage,
    /// The load that outlooks were based on at the last request.
    pool: Pool,
    /// e of the last request: what those in the queue are taken to want.
    last_at_once: usize,
}

type Key = (Operation, Chunking, u64, usize, usize);

/// Most outlooks that are kept: as many kinds of request.
const OUTLOOKS_MAX: usize = 256;
/// How much a request counts for the smoothed free lanes.
const FREE_WEIGHT: f64 = 0.02;
/// How much an arrival counts for the smoothed rate and work, once there were enough.
const RATE_WEIGHT: f64 = 0.005;
/// How much a cancellation counts for their smoothed cost.
const STOPPING_WEIGHT: f64 = 0.01;
/// Arrivals after which delays are learned for the first time, and at most between two times.
const LEARN: (u64, u64) = (16, 500);
/// One request in this many explores another chunk size; more often while that is unknown.
const EXPLORE: (u64, u64) = (400, 25);
/// And one in this many explores the largest chunks while the lanes are crowded.
const EXPLORE_CROWDED: u64 = 10;
/// The lanes are crowded from this smoothed share of busy ones on.
const CROWDED: f64 = 0.9;
/// A size is known once it has this many tasks.
const KNOWN: f64 = 200.0;
/// Load above which nothing is explored that costs lanes.
const EXPLORE_LOAD_MAX: f64 = 0.7;

impl Backfill {
    /// Within `settings.limits`.
    pub fn new(settings: &PolicySettings) -> Self {
        Self {
            limits: settings.limits,
            delays: [Delays::default(), Delays::default()],
            outlooks: BTreeMap::new(),
            arrivals: 0,
            learn_at: LEARN.0,
            generation: 0,
            last_arrival: Timestamp::ZERO,
            gap_ms: MovingAverage::default(),
            work_ms: MovingAverage::default(),
            free: None,
            stopping_ms: MovingAverage::default(),
            pool: Pool { lanes: 1.0, free: 1.0, offered: 0.0, stopping_ms: 0.0, price: 0.0 },
            last_at_once: 1,
        }
    }

    /// Learns again when that is due.
    fn learn_delays(&mut self) {
        if self.arrivals < self.learn_at {
            return;
        }
        let step = (self.learn_at / 2).min(LEARN.1);
        self.learn_at = self.arrivals + step.max(1);
        self.generation += 1;
        self.delays.iter_mut().for_each(Delays::renew);
    }

    /// What is known of requests of this class; nothing before anything is.
    fn outlook(&mut self, key: Key, class: &RequestClass) -> Option<&Outlook> {
        let generation = self.generation;
        let known = self.outlooks.get_mut(&key);
        let fresh = known.is_some_and(|outlook| outlook.is_fresh(generation));
        if !fresh {
            let own = &self.delays[class.operation as usize];
            let other = &self.delays[1 - class.operation as usize];
            let delays = if own.is_known() { own } else { other };
            let outlook = Outlook::new(delays, class, self.limits, self.pool, generation)?;
            if self.outlooks.len() >= OUTLOOKS_MAX {
                self.outlooks.clear();
            }
            self.outlooks.insert(key, outlook);
        }
        self.outlooks.get(&key)
    }

    /// Takes in an arrival; returns lanes that are free now, and the load that arrives, per lane.
    fn arrive(&mut self, now: Timestamp, load: Load, work_ms: Option<f64>) -> (f64, f64) {
        let lanes = load.lanes.max(1) as f64;
        let held = load.tasks_waiting + load.backlog * self.last_at_once;
        let free = (load.lanes_idle + load.lanes_redundant) as f64 - held as f64;
        let free = free.clamp(0.0, lanes);
        let smoothed = self.free.get_or_insert(MovingAverage::new(lanes));
        smoothed.add(FREE_WEIGHT, free);
        let smoothed = smoothed.get();
        let weight = RATE_WEIGHT.max(1.0 / self.arrivals as f64);
        let gap_ms = now.since(self.last_arrival).as_secs_f64() * 1000.0;
        self.last_arrival = now;
        self.gap_ms.add(weight, gap_ms);
        if let Some(work_ms) = work_ms {
            self.work_ms.add(weight, work_ms);
        }
        let (gap_ms, work_ms) = (self.gap_ms.get(), self.work_ms.get());
        let offered = if gap_ms > 0.0 { work_ms / gap_ms } else { 0.0 };
        let rho = (offered / lanes).min(0.98);
        let (stopping_ms, price) = (self.stopping_ms.get(), self.price(rho, lanes));
        self.pool = Pool { lanes, free: smoothed, offered: rho * lanes, stopping_ms, price };
        (free, rho)
    }

    /// The cost of a cancellation as a share of a request's work.
    fn stopping_share(&self) -> f64 {
        let (stopping_ms, work_ms) = (self.stopping_ms.get(), self.work_ms.get());
        if work_ms > 0.0 { stopping_ms / work_ms } else { 0.0 }
    }

    /// v: the share of the lanes that is not free, smoothed.
    fn held(&self, lanes: f64) -> f64 {
        let free = self.free.map_or(f64::NAN, MovingAverage::get);
        (1.0 - free / lanes).clamp(0.0, 0.98)
    }

    /// p: own delay that a unit of lane time is worth.
    fn price(&self, rho: f64, lanes: f64) -> f64 {
        let v = self.held(lanes);
        let linear = 0.34 * rho * (1.0 - quiet(rho));
        linear + 3.2 * power(rho, 6) / (1.0 - rho) + 0.1 * power(v, 5) / (1.0 - v)
    }

    /// Another chunk size now and then, so that its delays are known when they are wanted.
    fn explored(&self, class: &RequestClass, k: usize, rho: f64) -> Option<(usize, usize)> {
        if self.held(self.pool.lanes) > CROWDED {
            // Nothing takes less lane time as a rule. Where something else seems to, what was
            // learned may be wrong, and with it the load: then the crowd is there because of it,
            // and would stay.
            let largest = class.k_below(1);
            return self.arrivals.is_multiple_of(EXPLORE_CROWDED).then_some((largest, largest));
        }
        let smaller = class.k_below(k.div_ceil(2));
        let (k, e) = if k > 1 && smaller < k {
            (smaller, 2 * smaller)
        } else if rho < EXPLORE_LOAD_MAX {
            let larger = self.limits.ks(class).find(|&larger| larger > k)?;
            (larger, larger + 1)
        } else {
            return None;
        };
        let known = self.delays[class.operation as usize].count(class.chunk_bytes(k)) >= KNOWN;
        let every = if known { EXPLORE.0 } else { EXPLORE.1 };
        self.arrivals.is_multiple_of(every).then_some((k, e))
    }
}

impl Policy for Backfill {
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        self.arrivals += 1;
        self.learn_delays();
        let (size, code) = (class.size_kind(), class.code);
        let key = (class.operation, class.chunking, size, code.n(), code.k());
        let work_ms = self.outlook(key, class).map(|outlook| outlook.work_ms);
        let (free, rho) = self.arrive(now, load, work_ms);
        let pool = self.pool;
        let best = self.outlooks.get_mut(&key).and_then(|o| o.best(free, pool));
        let modest = class.k_below(2.min(usize::from(self.limits.k_max)));
        let explored = self.explored(class, best.map_or(modest, |best| best.k), rho);
        let (code, at_once, spare_after_ms) = match (explored, best) {
            (Some((k, e)), _) => (self.limits.nearest(class, 2 * k, k), e, 0.0),
            (None, Some(Prospect { k, e, n, spare_after_ms, .. })) => {
                (self.limits.nearest(class, n, k), e, spare_after_ms)
            }
            (None, None) => (self.limits.nearest(class, 2 * modest, modest), modest, 0.0),
        };
        self.last_at_once = at_once.clamp(code.k(), code.n());
        let rescue = self.outlooks.get(&key).and_then(|outlook| outlook.rescue_ms(code.k()));
        let rescue_after = rescue.map(|ms| Duration::from_secs_f64(ms / 1000.0));
        let keep = pool.lanes * self.stopping_share() * power(self.held(pool.lanes), 4);
        let redundancy = Redundancy::Spare {
            at_once: self.last_at_once as u8,
            keep_idle: libm::floor(keep).min(f64::from(u16::MAX)) as u16,
            spare_after: Duration::from_secs_f64(spare_after_ms / 1000.0),
            rescue_after,
            preemptible: true,
        };
        Choice { code, redundancy }
    }

    fn learn(&mut self, _now: Timestamp, sample: &Sample) {
        let ms = sample.served.as_secs_f64() * 1000.0;
        self.delays[sample.operation as usize].add(sample.bytes, ms, sample.finished);
    }

    fn learn_stopping(&mut self, took: Duration) {
        self.stopping_ms.add(STOPPING_WEIGHT, took.as_secs_f64() * 1000.0);
    }
}
