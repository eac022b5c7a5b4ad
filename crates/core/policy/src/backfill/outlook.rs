use super::{delays::Delays, power};
use crate::{Class, Limits};
use alloc::vec::Vec;

/// Generations of knowledge after which an outlook that is hardly used is still good enough.
const GENERATIONS_EARLY: u64 = 10;
/// Uses after which an outlook is worth computing anew.
const USES: u64 = 100;
/// How much the own p99 counts beside the mean, where delays vary much.
const TAIL: f64 = 0.07;
/// How much dearer lane time is where delays hardly vary: redundancy gains little there, and waiting for
/// lanes makes up most of the tail.
const LIGHT: f64 = 0.3;

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

#[derive(Clone, Copy, PartialEq, Debug)]
struct Prospect {
    k: usize,
    e: usize,
    /// Ds: mean time until k of e tasks are done, milliseconds.
    delay_ms: f64,
    /// U: mean lane time of the e tasks until then, and of cancelling those that are left.
    lane_ms: f64,
    /// The time within which k of e tasks are done in 99 of 100 cases, milliseconds.
    p99_ms: f64,
    /// Twice the coefficient of variation of a task's delay, at most 1.
    spread: f64,
}

impl Outlook {
    pub(super) fn new(
        delays: &Delays,
        class: &Class,
        limits: Limits,
        stopping_ms: f64,
        generation: u64,
    ) -> Option<Self> {
        let bytes = class.bytes().max(1) as f64;
        let (mut prospects, mut rescues) = (Vec::new(), Vec::new());
        let mut work_ms = f64::INFINITY;
        // Half of the payload is in the middle of the chunks there may be.
        let least = class.ks().next()?;
        let shape = delays.shape(bytes / (2 * least) as f64)?;
        for k in limits.ks(class) {
            let chunk = bytes / k as f64;
            let points = shape.points_at(chunk);
            let spread = (2.0 * shape.variation_at(chunk)).min(1.0);
            let e_max = libm::ceil(k as f64 * (1.0 + spread)) as usize;
            for e in k..=e_max.min(limits.n_max(class, k)).min(2 * k) {
                let (delay_ms, running_ms, p99_ms) = order_statistics(&points, k, e);
                let lane_ms = running_ms + stopping_ms * (e - k) as f64;
                prospects.push(Prospect { k, e, delay_ms, lane_ms, p99_ms, spread });
            }
            let mean_ms = shape.mean_at(chunk);
            rescues.extend(hopeless_after(&points, mean_ms).map(|ms| (k, ms)));
            work_ms = work_ms.min(k as f64 * mean_ms);
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

    /// The best k and e at this price of lane time, with so many lanes free at the moment.
    pub(super) fn best(&mut self, price: f64, free: f64, lanes: f64) -> (usize, usize) {
        self.uses += 1;
        let cost = |p: &Prospect| {
            // Tasks that find no lane wait for others to end.
            let lacking = (p.e as f64 - free).max(0.0) / lanes;
            let own = p.delay_ms * (1.0 + 0.5 * lacking) + TAIL * power(p.spread, 3) * p.p99_ms;
            own + price * (1.0 + LIGHT * (1.0 - p.spread)) * p.lane_ms
        };
        let best = self.prospects.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.map_or((1, 1), |best| (best.k, best.e))
    }
}

/// Share of the tasks that a late one is among, at most.
const LATE: f64 = 0.1;
/// Share of these that is still there a mean delay later, at least, where waiting is hopeless.
const STILL: f64 = 0.3;

/// The first time after which, of the few tasks that take longer, at least three in ten take longer than as
/// long again as a task takes in the mean. Never, where delays have no heavy tail.
fn hopeless_after(points: &[(f64, f64)], mean_ms: f64) -> Option<f64> {
    let longer_than = |ms: f64| {
        let next = points.partition_point(|&(at, _)| at <= ms);
        let (Some(&(from, high)), Some(&(until, low))) =
            (points.get(next.wrapping_sub(1)), points.get(next))
        else {
            return 0.0;
        };
        high + (low - high) * (ms - from) / (until - from).max(1e-9)
    };
    let late = points.iter().filter(|&&(_, share)| share <= LATE && share > 0.0);
    let mut hopeless = late.filter(|&&(ms, share)| longer_than(ms + mean_ms) >= STILL * share);
    hopeless.next().map(|&(ms, _)| ms)
}

/// Mean time until k of e independent tasks are done, the mean lane time of all e until then, and the
/// time within which they are in 99 of 100 cases.
fn order_statistics(points: &[(f64, f64)], k: usize, e: usize) -> (f64, f64, f64) {
    let (mut delay, mut lane, mut p99) = (0.0, 0.0, 0.0);
    for pair in points.windows(2) {
        let span = pair[1].0 - pair[0].0;
        let longer = f64::midpoint(pair[0].1, pair[1].1);
        if longer <= 0.0 {
            break;
        }
        // The chance that exactly `done` of the e are done: binomial, from done = 0 on.
        let odds = (1.0 - longer) / longer;
        let mut chance = power(longer, e);
        let (mut open, mut running) = (0.0, 0.0);
        for done in 0..k {
            if done > 0 {
                chance *= odds * (e - done + 1) as f64 / done as f64;
            }
            open += chance;
            running += chance * (e - done) as f64;
        }
        delay += open * span;
        lane += running * span;
        if open > 0.01 {
            p99 = pair[1].0;
        }
    }
    (delay, lane, p99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_hopeless_where_stragglers_are_all_that_is_left() {
        // Ends at 30 to 50, one of a hundred at 150 to 250.
        let points = [(0.0, 1.0), (30.0, 1.0), (50.0, 0.01), (150.0, 0.01), (250.0, 0.0)];
        assert_eq!(hopeless_after(&points, 42.0), Some(50.0));
        let after = |i: i32| (10.0 + f64::from(i), libm::exp(-f64::from(i) / 10.0));
        let shifted: Vec<(f64, f64)> =
            core::iter::once((0.0, 1.0)).chain((0..=100).map(after)).collect();
        assert_eq!(hopeless_after(&shifted, 20.0), None);
    }

    #[test]
    fn order_statistics_of_exponential_delays_are_harmonic_sums() {
        // Survival e^-t in steps of 0.01.
        let points: Vec<(f64, f64)> =
            (0..=2000).map(|i| (f64::from(i) / 100.0, libm::exp(-f64::from(i) / 100.0))).collect();
        for (k, e) in [(1, 1), (1, 2), (2, 3), (6, 12), (12, 24)] {
            let harmonic: f64 = (e - k + 1..=e).map(|i| 1.0 / i as f64).sum();
            let (delay, lane, _) = order_statistics(&points, k, e);
            assert!((delay / harmonic - 1.0).abs() < 1e-3, "({k},{e}): {delay} {harmonic}");
            // Each of the k that end takes its mean off the lanes' time.
            assert!((lane / k as f64 - 1.0).abs() < 1e-3, "({k},{e}): {lane}");
        }
    }
}
