//! Foresight: what a lane taken now costs those to come. `docs/backfill.md` says what it does and
//! why it works.

mod act;
mod chain;
mod delays;
mod pace;
#[cfg(test)]
mod tests;

use crate::{
    Choice, Chunking, Limits, Load, Operation, Policy, PolicySettings, Redundancy, RequestClass,
    Sample,
};
use act::Ways;
use alloc::{collections::BTreeMap, vec::Vec};
use chain::{Chain, Kind, LOAD_MAX, Pool};
use core::time::Duration;
use delays::Delays;
use pace::Pace;
use ripstop_estimator::MovingAverage;
use ripstop_model::Timestamp;

/// A code (n,k) of which e tasks start at once and the others only on lanes that nobody else wants,
/// giving way at once when somebody does; chosen so that what it costs this request, and those to
/// come, is least.
///
/// What a lane costs those to come is the solution of a small Markov decision problem, of which all
/// that it needs is learned: how long tasks take, how fast requests arrive, what cancelling takes.
/// A queue that becomes long is worked off with the largest chunks and nothing else, whatever was
/// learned.
#[derive(Debug)]
pub struct Foresight {
    limits: Limits,
    delays: [Delays; 2],
    kinds: BTreeMap<Key, Known>,
    /// By load: what lanes are worth there.
    chains: BTreeMap<Step, Chain>,
    pace: Pace,
    /// Requests that arrived.
    arrivals: u64,
    /// At which arrival the delays are learned again.
    learn_at: u64,
    /// How often that happened.
    generation: u64,
    /// Lanes of the pool.
    lanes: usize,
    /// Smoothed lane time that a cancellation costs, milliseconds.
    stopping_ms: MovingAverage,
    /// Least lane time of a request, mean over the classes, milliseconds.
    work_ms: f64,
    /// Lanes in use when requests came, and those that the model has for the same: smoothed.
    found: MovingAverage,
    expected: MovingAverage,
    /// e of the last request: what those in the queue are taken to want.
    last_at_once: usize,
}

/// A load, and how uneven arrivals are: both in steps.
type Step = (i8, i8);

type Key = (Operation, Chunking, u64, usize, usize);

/// What is known of a class.
#[derive(Debug)]
struct Known {
    /// Requests, those of the past counted for less.
    count: f64,
    /// Requests since its ways were looked at.
    uses: u64,
    generation: u64,
    ways: Option<Ways>,
    /// By load.
    tables: BTreeMap<Step, Table>,
}

/// What is best for a class at a load.
#[derive(Debug)]
struct Table {
    /// The best way for each number of lanes held.
    best: Vec<u8>,
    /// By its chunks: when a late task is joined by a fresh one, milliseconds.
    rescues: Vec<Option<f64>>,
}

/// Most classes that are told apart.
const KINDS_MAX: usize = 64;
/// Those of them, the most frequent, that lanes' worth is reckoned from.
const WEIGHED: usize = 4;
/// Arrivals after which delays are learned for the first time, and at most between two times.
const LEARN: (u64, u64) = (16, 1000);
/// Generations of knowledge after which ways that are hardly used are still good enough, and uses
/// after which they are looked at again all the same.
const EARLY: u64 = 10;
const USES: u64 = 100;
/// One request in this many explores another chunk size.
const EXPLORE: u64 = 400;
/// A size is known once it has this many tasks.
const KNOWN: f64 = 200.0;
/// The longest that spare tasks and rescues wait, milliseconds.
const SPAN_MAX_MS: f64 = 60_000.0;
/// Before that, a task is late that takes this many times the mean.
const ROUGH: f64 = 4.0;
/// Load above which nothing is explored that costs lanes.
const EXPLORE_LOAD_MAX: f64 = 0.7;
/// How much a request counts for what was found and expected.
const SURPRISE_WEIGHT: f64 = 1.0 / 256.0;
/// How many times as high as measured the load is taken to be, at most, where more is found than
/// expected.
const SURPRISE: f64 = 2.0;
/// How much a cancellation counts for their smoothed cost.
const STOPPING_WEIGHT: f64 = 0.01;
/// Cancellations that take less of a request's work than this count as free.
const STOPPING_FREE: f64 = 0.02;
/// Steps of the load that chains are solved for, in the logarithm of ρ/(1 − ρ).
const LOAD_STEP: f64 = 0.2;

impl Foresight {
    /// Within `settings.limits`.
    pub fn new(settings: &PolicySettings) -> Self {
        Self {
            limits: settings.limits,
            delays: [Delays::default(), Delays::default()],
            kinds: BTreeMap::new(),
            chains: BTreeMap::new(),
            pace: Pace::default(),
            arrivals: 0,
            learn_at: LEARN.0,
            generation: 0,
            lanes: 0,
            stopping_ms: MovingAverage::default(),
            work_ms: 0.0,
            found: MovingAverage::new(1.0),
            expected: MovingAverage::new(1.0),
            last_at_once: 1,
        }
    }

    /// Takes in a request of a class, and looks at its ways if there is news of them.
    fn count(&mut self, key: Key, class: &RequestClass) {
        if !self.kinds.contains_key(&key) && self.kinds.len() >= KINDS_MAX {
            self.kinds.clear();
        }
        let taken = self.taken(class);
        let known = self.kinds.entry(key).or_insert_with(|| Known {
            count: 0.0,
            uses: 0,
            generation: 0,
            ways: None,
            tables: BTreeMap::new(),
        });
        known.count += 1.0;
        known.uses += 1;
        let is_old =
            known.generation != self.generation && (self.generation < EARLY || known.uses >= USES);
        if known.ways.is_some() && !is_old {
            return;
        }
        let own = &self.delays[class.operation as usize];
        let other = &self.delays[1 - class.operation as usize];
        let delays = if own.is_known() { own } else { other };
        known.ways = Ways::of(delays, class, self.limits, self.lanes, taken);
        (known.generation, known.uses) = (self.generation, 0);
        if let Some(ways) = known.ways.as_ref().filter(|_| self.work_ms <= 0.0) {
            self.work_ms = ways.work_ms();
        }
        known.tables.clear();
    }

    fn is_dear(&self) -> bool {
        self.stopping_ms.get() > STOPPING_FREE * self.work_ms
    }

    /// How much of a lane a spare task takes from others: as much as cancelling it takes of a task;
    /// where strips are spread, all, since a node with a spare task looks busy to those that could
    /// use it.
    fn taken(&self, class: &RequestClass) -> f64 {
        match class.chunking {
            Chunking::Strip => 1.0,
            Chunking::Run if self.is_dear() => (self.stopping_ms.get() / self.work_ms).min(1.0),
            Chunking::Run => 0.0,
        }
    }

    /// Learns again.
    fn learn_all(&mut self) {
        let step = (self.arrivals / 2).min(LEARN.1);
        self.learn_at = self.arrivals + step.max(LEARN.0 / 2);
        self.generation += 1;
        self.delays.iter_mut().for_each(Delays::renew);
        let (mut work, mut all) = (0.0, 0.0);
        for known in self.kinds.values_mut() {
            if let Some(ways) = &known.ways {
                work += known.count * ways.work_ms();
                all += known.count;
            }
            known.count *= 0.5;
        }
        self.work_ms = if all > 0.0 { work / all } else { 0.0 };
        // What lanes were worth is where the next solutions begin.
        self.chains.values_mut().for_each(Chain::outdate);
    }

    /// The step of the load that is nearest, and its rate.
    fn step(&self, rate_per_ms: f64) -> (Step, f64) {
        let lanes = self.lanes.max(1) as f64;
        let rho = (rate_per_ms * self.work_ms / lanes).clamp(1.0 - LOAD_MAX, LOAD_MAX);
        let step = libm::round(libm::log(rho / (1.0 - rho)) / LOAD_STEP);
        let rho = 1.0 / (1.0 + libm::exp(-step * LOAD_STEP));
        ((step as i8, self.pace.batch()), rho * lanes / self.work_ms.max(1e-9))
    }

    /// What lanes are worth at a load.
    fn chain(&mut self, step: Step, rate: f64) -> Option<&Chain> {
        let fresh = self.chains.get(&step).is_some_and(Chain::is_fresh);
        if !fresh {
            let mut kinds: Vec<_> = self
                .kinds
                .values()
                .filter_map(|known| Some(Kind { share: known.count, ways: known.ways.as_ref()? }))
                .collect();
            kinds.sort_by(|a, b| b.share.total_cmp(&a.share));
            kinds.truncate(WEIGHED);
            let all: f64 = kinds.iter().map(|kind| kind.share).sum();
            if kinds.is_empty() || all <= 0.0 {
                return None;
            }
            for kind in &mut kinds {
                kind.share /= all;
            }
            let stopping_ms = if self.is_dear() { self.stopping_ms.get() } else { 0.0 };
            let batch = libm::exp2(f64::from(step.1));
            let pool = Pool { lanes: self.lanes, rate, stopping_ms, batch };
            let near = |at: &Step| (at.1.abs_diff(step.1), at.0.abs_diff(step.0));
            let last = self.chains.keys().copied().min_by_key(near);
            let last = last.and_then(|at| self.chains.get(&at));
            match Chain::solve(&kinds, pool, last) {
                Some(chain) => self.chains.insert(step, chain),
                None => self.chains.remove(&step),
            };
        }
        self.chains.get(&step)
    }

    /// What is best for a class at a load.
    fn table(&mut self, key: Key, step: Step) -> Option<(&Table, &Ways)> {
        let chain = self.chains.get(&step)?;
        let known = self.kinds.get_mut(&key)?;
        let ways = known.ways.as_ref()?;
        let table = known.tables.entry(step).or_insert_with(|| Table {
            best: chain.choices(ways),
            rescues: ways
                .chunks
                .iter()
                .map(|chunks| chunks.rescue_ms(chain.price, chain.stopping_ms()))
                .collect(),
        });
        Some((table, ways))
    }

    /// Another chunk size now and then, so that its delays are known when they are wanted.
    fn explored(&self, class: &RequestClass, k: usize, crowded: bool) -> Option<(usize, usize)> {
        let smaller = class.k_below(k.div_ceil(2));
        let (k, e) = if k > 1 && smaller < k && self.arrivals.is_multiple_of(2) {
            (smaller, smaller)
        } else if !crowded {
            let larger = self.limits.ks(class).find(|&larger| larger > k)?;
            (larger, larger + 1)
        } else {
            return None;
        };
        (self.arrivals / 2).is_multiple_of(EXPLORE / 2).then_some((k, e))
    }

    /// With nothing known: two chunks, and redundancy on lanes that nobody wants.
    fn modest(&self, class: &RequestClass) -> Choice {
        let k = class.k_below(2.min(usize::from(self.limits.k_max)));
        spare(self.limits.nearest(class, 2 * k, k), k, 0.0, None)
    }
}

fn spare(
    code: ripstop_model::Code,
    at_once: usize,
    after_ms: f64,
    rescue_ms: Option<f64>,
) -> Choice {
    let span = |ms: f64| Duration::from_secs_f64(ms.clamp(0.0, SPAN_MAX_MS) / 1000.0);
    let redundancy = Redundancy::Spare {
        at_once: at_once.min(255) as u8,
        keep_idle: 0,
        spare_after: span(after_ms),
        rescue_after: rescue_ms.map(span),
        preemptible: true,
    };
    Choice { code, redundancy }
}

impl Policy for Foresight {
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        self.arrivals += 1;
        self.pace.arrive(now);
        let key =
            (class.operation, class.chunking, class.size_kind(), class.code.n(), class.code.k());
        let changed = self.lanes != load.lanes;
        if changed {
            self.lanes = load.lanes;
            self.chains.clear();
        }
        if changed || self.arrivals >= self.learn_at {
            self.learn_all();
        }
        self.count(key, class);
        let taken = load.lanes_redundant as f64 * self.taken(class);
        let free = (load.lanes_idle + load.lanes_redundant).saturating_sub(taken as usize);
        let waiting = load.tasks_waiting + load.backlog * self.last_at_once;
        let held = load.lanes.saturating_sub(free) + waiting;
        let rate = self.pace.rate_per_ms();
        let surprise = (self.found.get() / self.expected.get()).clamp(1.0, SURPRISE);
        let (step, at_rate) = self.step(rate * surprise);
        let Some((lane_ms, hold_ms)) = self.chain(step, at_rate).map(Chain::mean_ms) else {
            return self.modest(class);
        };
        // What waits says more of how unevenly requests arrive than of what they take.
        self.found.add(SURPRISE_WEIGHT, load.lanes.saturating_sub(free) as f64);
        self.expected.add(SURPRISE_WEIGHT, rate * lane_ms);
        let lanes = load.lanes.max(1) as f64;
        let crowded = held >= load.lanes || rate * self.work_ms > EXPLORE_LOAD_MAX * lanes;
        let Some((table, ways)) = self.table(key, step) else { return self.modest(class) };
        let act = table.best.get(held).or(table.best.last()).copied().unwrap_or(0);
        let act = &ways.acts[usize::from(act)];
        let (k, e, n, after_ms) = (act.k, act.e, act.e + act.spares, act.after_ms);
        let rescue_ms = table.rescues[act.chunks];
        let known = self.delays[class.operation as usize].ended(class.chunk_bytes(k)) >= KNOWN;
        let rescue_ms = if known { rescue_ms } else { Some(ROUGH * hold_ms) };
        // A task that waits for a lane is not late; and where strips are spread, it may wait for
        // its node while others idle.
        let wait_ms = match class.chunking {
            Chunking::Strip if load.tasks_waiting > 0 => hold_ms,
            Chunking::Strip | Chunking::Run => 0.0,
        };
        let wait_ms = wait_ms + load.tasks_waiting as f64 * hold_ms / lanes;
        let after_ms = if after_ms > 0.0 { after_ms + wait_ms } else { 0.0 };
        let rescue_ms = rescue_ms.map(|ms| ms + wait_ms);
        let (k, e, n, after_ms, rescue_ms) = match self.explored(class, k, crowded) {
            Some((k, e)) => (k, e, 2 * k, 0.0, Some(ROUGH * hold_ms)),
            None => (k, e, n, after_ms, rescue_ms),
        };
        // One is kept for the rescue.
        let n = if rescue_ms.is_some() { n.max(e + 1) } else { n };
        let code = self.limits.nearest(class, n, k);
        let choice = spare(code, e.min(code.n()), after_ms, rescue_ms);
        self.last_at_once = e.clamp(code.k(), code.n());
        choice
    }

    fn learn(&mut self, _now: Timestamp, sample: &Sample) {
        let ms = sample.served.as_secs_f64() * 1000.0;
        self.delays[sample.operation as usize].add(sample.bytes, ms, sample.finished);
    }

    fn learn_stopping(&mut self, took: Duration) {
        self.stopping_ms.add(STOPPING_WEIGHT, took.as_secs_f64() * 1000.0);
    }
}
