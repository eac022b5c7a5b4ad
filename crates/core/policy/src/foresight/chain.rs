//! A Markov decision problem: how many lanes are held, and what a request that comes now does.
//!
//! Lanes that are held, and tasks and requests that wait for one, are the state x. Requests arrive
//! at random at a rate λ and add to it; lanes are given back one by one, each held for h on
//! average. So the state goes down in single steps, and what it costs to be at x rather than at
//! x − 1 depends on the states above alone: for costs of g a unit of time,
//!
//!   min(x, L)/h · d(x) = λ · min over a of (C(a, x) + d(x + 1) + … + d(x + w(a))) − g
//!
//! is solved from the top down, where nobody has a choice and d is a straight line. g is the mean
//! cost under the choices of the round before. C is the own cost of a request, w its lane time over
//! h.

use super::act::{Act, Fate, Ways};
use alloc::vec::Vec;

/// How much the mean of the slowest requests counts beside the mean of all.
const TAIL: f64 = 0.15;
/// The share of them that are the slowest.
const SLOWEST: f64 = 0.04;
/// The share of the spare lanes that are not taken away before they are of use.
const KEPT: f64 = 0.7;
/// The queue's part of the states: as many times the lanes.
const QUEUE: usize = 2;
/// With as many times the lanes held or waited for, a request is served with the least work.
const DEEP: usize = 2;
/// Rounds in which choices, and what they are weighed by, settle; half of them from what another
/// load has come to.
const ROUNDS: usize = 4;
/// A state is left out of the tail if it is met more seldom.
const SELDOM: f64 = 1e-6;
/// The longest that all but the slowest may take, milliseconds.
const LONGEST_MS: f64 = 60_000.0;
/// Load, of what can be carried, that is the most that is reckoned with.
pub(super) const LOAD_MAX: f64 = 0.98;

/// Own costs of a class's requests that need not wait, by chunks and tasks.
type Costs = Vec<Vec<f64>>;

/// What requests are: a class's ways, and its share of the arrivals.
#[derive(Debug)]
pub(super) struct Kind<'a> {
    pub share: f64,
    pub ways: &'a Ways,
}

/// A pool's load, as far as it decides what a lane is worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    pub lanes: usize,
    /// Requests per millisecond.
    pub rate: f64,
    /// Lane time that a cancellation takes, milliseconds; 0 if it does not matter.
    pub stopping_ms: f64,
    /// How many come at once: 1 at random, more in bursts.
    pub batch: f64,
}

/// The means that the choices lead to, and which they depend on.
#[derive(Clone, Copy, Debug)]
struct Means {
    /// Lanes held.
    held: f64,
    /// Tasks of a request that start at once.
    at_once: f64,
    /// How long a lane is held, milliseconds.
    hold_ms: f64,
    /// What all but the slowest requests do not exceed, milliseconds.
    late_ms: f64,
}

/// What lanes are worth at one load.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pool: Pool,
    means: Means,
    /// V(x), from x = 0 to the top, where it is 0.
    values: Vec<f64>,
    /// g: what all requests of a millisecond cost.
    gain: f64,
    /// d above the top: slope and height there.
    beyond: (f64, f64),
    /// Mean lane time of a request, milliseconds.
    lane_ms: f64,
    /// Mean price of a lane: own milliseconds for each of its.
    pub price: f64,
    fresh: bool,
}

impl Chain {
    /// The solution for a pool; `last` is that of another load, to begin with. None if numbers do
    /// not hold it.
    pub(super) fn solve(kinds: &[Kind<'_>], pool: Pool, last: Option<&Self>) -> Option<Self> {
        let (gain, lane_ms, price, fresh) = (0.0, 0.0, 0.0, true);
        let (means, values, beyond) = if let Some(last) = last {
            (last.means, last.values.clone(), last.beyond)
        } else {
            let states = pool.lanes * (1 + QUEUE) + 1;
            (Means::guess(kinds), (0..states).map(|_| 0.0).collect(), (0.0, 0.0))
        };
        let mut chain = Self { pool, means, values, gain, beyond, lane_ms, price, fresh };
        let rounds = if last.is_some() { ROUNDS / 2 } else { ROUNDS };
        for _ in 0..rounds {
            let choices = chain.all_choices(kinds);
            chain.settle(kinds, &choices);
            chain.improve(kinds);
        }
        let Means { held, at_once, hold_ms, late_ms } = chain.means;
        let numbers = [held, at_once, hold_ms, late_ms, chain.gain, chain.price, chain.values[0]];
        (numbers.iter().all(|number| number.is_finite()) && hold_ms > 0.0).then_some(chain)
    }

    /// What is chosen, by kind and state.
    fn all_choices(&self, kinds: &[Kind<'_>]) -> Vec<Vec<u8>> {
        kinds.iter().map(|kind| self.choices(kind.ways)).collect()
    }

    /// Mean lane time of a request, and how long a lane is held, milliseconds.
    pub(super) fn mean_ms(&self) -> (f64, f64) {
        (self.lane_ms, self.means.hold_ms)
    }

    /// What a cancellation takes, milliseconds.
    pub(super) fn stopping_ms(&self) -> f64 {
        self.pool.stopping_ms
    }

    /// Whether it is of what is known now.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Something else is known.
    pub(super) fn outdate(&mut self) {
        self.fresh = false;
    }

    /// The highest number of lanes held that is told apart.
    pub(super) fn top(&self) -> usize {
        self.values.len() - 1
    }

    /// The way that costs least at each state, by its place.
    pub(super) fn choices(&self, ways: &Ways) -> Vec<u8> {
        let costs = self.costs(ways);
        (0..=self.top()).map(|held| self.best(ways, &costs, held).0.min(255) as u8).collect()
    }

    fn costs(&self, ways: &Ways) -> Costs {
        let of = |fate: &Fate| self.cost(fate, 0.0);
        ways.chunks.iter().map(|chunks| chunks.fates.iter().map(of).collect()).collect()
    }

    /// What a request costs itself that waits and then has this fate.
    fn cost(&self, fate: &Fate, wait: f64) -> f64 {
        wait + fate.delay_ms + TAIL / SLOWEST * fate.beyond(self.means.late_ms - wait).1
    }

    /// The way that costs least at a state, by its place, what it costs, and its lanes.
    fn best(&self, ways: &Ways, costs: &Costs, held: usize) -> (usize, f64, f64) {
        let held = held.min(self.top());
        if held >= DEEP * self.pool.lanes {
            // Nothing that is believed of other codes may keep a queue from being worked off.
            let at = ways.least(self.pool.stopping_ms);
            let (own, lanes) = self.own(ways, costs, &ways.acts[at], held);
            return (at, own + self.others(held, lanes), lanes);
        }
        let mut best = (0, f64::INFINITY, 0.0);
        for (at, act) in ways.acts.iter().enumerate() {
            let (own, lanes) = self.own(ways, costs, act, held);
            let cost = own + self.others(held, lanes);
            if cost < best.1 {
                best = (at, cost, lanes);
            }
        }
        best
    }

    /// What becomes of a request: (wait, tasks that it has on average, lanes found by spare ones).
    fn course(&self, act: &Act, held: usize) -> (f64, f64, f64) {
        let lanes = self.pool.lanes;
        let Means { held: usual, at_once, hold_ms, .. } = self.means;
        let free = lanes as f64 - held as f64;
        let k = act.k as f64;
        if free < k {
            let wait = (k - free) * hold_ms / lanes as f64;
            return (wait, k, 0.0);
        }
        let begun = free.min(act.e as f64);
        // Halfway between now and what is usual.
        let idle = f64::midpoint(free - begun, (lanes as f64 - usual).max(0.0));
        let others = f64::midpoint(held as f64, usual) / at_once.max(1.0);
        let found =
            (KEPT * idle.max(0.0) / (1.0 + others)).min((act.e + act.spares) as f64 - begun);
        (0.0, begun, found)
    }

    /// C and w of a way.
    fn own(&self, ways: &Ways, costs: &Costs, act: &Act, held: usize) -> (f64, f64) {
        let hold_ms = self.means.hold_ms;
        let fates = &ways.chunks[act.chunks].fates;
        let (wait, begun, found) = self.course(act, held);
        let place = |tasks: f64| {
            let low = (tasks as usize - act.k).min(fates.len() - 1);
            (low, (low + 1).min(fates.len() - 1), tasks - (act.k + low) as f64)
        };
        let between = |tasks: f64| {
            if wait > 0.0 {
                return self.cost(&fates[0], wait);
            }
            let costs = &costs[act.chunks];
            let (low, high, part) = place(tasks);
            costs[low] + part * (costs[high] - costs[low])
        };
        let at_once = fates[act.e - act.k].lane_ms;
        let (own, started, spare_ms) = match &act.late {
            None => {
                let (low, high, part) = place((begun + found).max(act.e as f64));
                let (low, high) = (fates[low].lane_ms, fates[high].lane_ms);
                (between(begun + found), found, low + part * (high - low) - at_once)
            }
            Some(late) => {
                let share = (found / act.spares as f64 / act.wanting.max(0.01)).min(1.0);
                let (with, without) = (self.cost(late, wait), between(begun));
                let each_ms = late.beyond(act.after_ms).1;
                let spares = share * act.spares as f64;
                (without + share * (with - without), spares * act.wanting, spares * each_ms)
            }
        };
        let stopped = (act.e - act.k) as f64 + started;
        (own, (at_once + ways.taken * spare_ms + self.pool.stopping_ms * stopped) / hold_ms)
    }

    /// What taking lanes costs those to come, if all that come at once do.
    fn others(&self, held: usize, lanes: f64) -> f64 {
        let batch = self.pool.batch;
        (self.value(held as f64 + batch * lanes) - self.values[held]) / batch
    }

    /// V at a state that need not be whole.
    fn value(&self, held: f64) -> f64 {
        let top = self.top();
        if held >= top as f64 {
            return Self::above(self.beyond, top as f64, held - top as f64);
        }
        let low = held as usize;
        let (here, next) = (self.values[low], self.values[low + 1]);
        here + (held - low as f64) * (next - here)
    }

    fn above((slope, height): (f64, f64), top: f64, steps: f64) -> f64 {
        slope * (steps * top + steps * (steps + 1.0) / 2.0) + height * steps
    }

    /// V by g, from the top down.
    fn improve(&mut self, kinds: &[Kind<'_>]) {
        let costs: Vec<Costs> = kinds.iter().map(|kind| self.costs(kind.ways)).collect();
        let (top, rate) = (self.top(), self.pool.rate);
        self.go_beyond(kinds, &costs);
        let mut above = self.value(top as f64 + 1.0);
        for held in (1..=top).rev() {
            let least = |(kind, costs): (&Kind<'_>, &Costs)| {
                kind.share * self.best(kind.ways, costs, held).1
            };
            let cost: f64 = kinds.iter().zip(&costs).map(least).sum();
            let given_back = held.min(self.pool.lanes) as f64 / self.means.hold_ms;
            // Far below what is usual the differences are small and their errors are not.
            let step = ((rate * cost - self.gain) / given_back).clamp(0.0, above.max(0.0));
            self.values[held - 1] = self.values[held] - step;
            above = step;
        }
    }

    /// The straight line that d is above the top, where nobody has a choice.
    fn go_beyond(&mut self, kinds: &[Kind<'_>], costs: &[Costs]) {
        let (top, lanes, hold_ms) = (self.top(), self.pool.lanes as f64, self.means.hold_ms);
        self.beyond = (0.0, 0.0);
        self.values[top] = 0.0;
        let (mut own, mut work) = (0.0, 0.0);
        for (kind, costs) in kinds.iter().zip(costs) {
            // V is level for now, so that it is the own cost that is least.
            let (_, cost, lanes) = self.best(kind.ways, costs, top);
            own += kind.share * cost;
            work += kind.share * lanes;
        }
        let (rate, drain) = (self.pool.rate, lanes / hold_ms);
        let left = (drain - rate * work).max((1.0 - LOAD_MAX) * drain);
        let slow = (1.0 + TAIL / SLOWEST) * hold_ms / lanes;
        let slope = rate * slow / left;
        let own_at_zero = own - slow * top as f64;
        let steps = f64::midpoint(self.pool.batch * work, 1.0);
        let height = (rate * (own_at_zero + slope * work * steps) - self.gain) / left;
        self.beyond = (slope, height);
    }

    /// How often each state is met.
    fn chances(&self, kinds: &[Kind<'_>], costs: &[Costs], choices: &[Vec<u8>]) -> Vec<f64> {
        let (states, batch) = (self.values.len(), self.pool.batch);
        let mut chances = (0..states).map(|_| 0.0).collect::<Vec<f64>>();
        // How often a state is reached from below it, or passed.
        let mut crossing = chances.clone();
        for held in 0..states {
            chances[held] = if held == 0 {
                1.0
            } else {
                let given_back = held.min(self.pool.lanes) as f64 / self.means.hold_ms;
                self.pool.rate / batch * crossing[held] / given_back
            };
            for (at, kind) in kinds.iter().enumerate() {
                let act = &kind.ways.acts[usize::from(choices[at][held])];
                let mut lanes = batch * self.own(kind.ways, &costs[at], act, held).1;
                for next in &mut crossing[held + 1..] {
                    *next += chances[held] * kind.share * lanes.min(1.0);
                    lanes -= 1.0;
                    if lanes <= 0.0 {
                        break;
                    }
                }
            }
        }
        let all: f64 = chances.iter().sum();
        for chance in &mut chances {
            *chance /= all;
        }
        chances
    }

    /// What follows from how often each state is met.
    fn settle(&mut self, kinds: &[Kind<'_>], choices: &[Vec<u8>]) {
        let hold_ms = self.means.hold_ms;
        let costs: Vec<Costs> = kinds.iter().map(|kind| self.costs(kind.ways)).collect();
        let chances = self.chances(kinds, &costs, choices);
        let (mut held_mean, mut at_once, mut work, mut worth) = (0.0, 0.0, 0.0, 0.0);
        let mut met = Vec::with_capacity(chances.len());
        for (held, &chance) in chances.iter().enumerate() {
            held_mean += chance * held as f64;
            worth += chance * (self.value(held as f64 + 1.0) - self.values[held]);
            for (at, kind) in kinds.iter().enumerate() {
                let act = &kind.ways.acts[usize::from(choices[at][held])];
                let chance = chance * kind.share;
                work += chance * self.own(kind.ways, &costs[at], act, held).1 * hold_ms;
                let (wait, begun, found) = self.course(act, held);
                let spares = (begun + found - act.e as f64).max(0.0);
                at_once += chance * (act.e as f64 + kind.ways.taken * spares);
                let fates = &kind.ways.chunks[act.chunks].fates;
                let tasks = libm::round(begun + found) as usize;
                let fate = &fates[(tasks - act.k).min(fates.len() - 1)];
                if chance > SELDOM {
                    met.push((chance, wait, act.late.as_ref().unwrap_or(fate)));
                }
            }
        }
        let longer = |ms: f64| -> f64 {
            met.iter().map(|&(chance, wait, fate)| chance * fate.beyond(ms - wait).0).sum()
        };
        let (mut low, mut high) = (0.0, LONGEST_MS);
        for _ in 0..24 {
            let middle = f64::midpoint(low, high);
            if longer(middle) > SLOWEST { low = middle } else { high = middle }
        }
        (self.lane_ms, self.price) = (work, (worth / hold_ms).max(0.0));
        let hold_ms = work / at_once;
        self.means = Means { held: held_mean, at_once, hold_ms, late_ms: high };
        let costs: Vec<Costs> = kinds.iter().map(|kind| self.costs(kind.ways)).collect();
        let mut own = 0.0;
        for (held, &chance) in chances.iter().enumerate() {
            for (at, kind) in kinds.iter().enumerate() {
                let act = &kind.ways.acts[usize::from(choices[at][held])];
                own += chance * kind.share * self.own(kind.ways, &costs[at], act, held).0;
            }
        }
        self.gain = self.pool.rate * own;
    }
}

impl Means {
    /// As if all were served with the largest chunks alone.
    fn guess(kinds: &[Kind<'_>]) -> Self {
        let (mut hold_ms, mut late_ms, mut at_once) = (0.0, 0.0, 0.0);
        for kind in kinds {
            let chunks = &kind.ways.chunks[0];
            let fate = &chunks.fates[0];
            hold_ms += kind.share * fate.lane_ms / chunks.k as f64;
            late_ms += kind.share * 2.0 * fate.delay_ms;
            at_once += kind.share * chunks.k as f64;
        }
        Self { held: 0.0, at_once, hold_ms, late_ms }
    }
}
