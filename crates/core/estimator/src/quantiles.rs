use crate::scale::Scale;
use alloc::{boxed::Box, vec};
use core::{fmt, time::Duration};

/// Delays are told apart by their power of two and this many bits after it.
const DETAIL_BITS: u32 = 6;

/// Powers of two of nanoseconds, from 2^10 (about a microsecond) to 2^42 (more than an hour).
const POWERS: core::ops::Range<u32> = 10..42;

const SCALE: Scale = Scale { unit_log2: POWERS.start - DETAIL_BITS, detail_log2: DETAIL_BITS };

/// Buckets of what is shorter, which are left out.
const BELOW: usize = 1 << DETAIL_BITS;

const BUCKETS: usize = (POWERS.end - POWERS.start) as usize * (1 << DETAIL_BITS);

/// Weights are scaled down when the newest reaches this.
const WEIGHT_MAX: f64 = 1e12;

/// Percentiles of recent delays, in 16 KiB.
///
/// A histogram with 64 buckets from one power of two to the next, so that an answer is within 1/128
/// of a delay of that rank, for delays from 2 µs to 73 minutes; shorter and longer ones count as
/// those. Old delays fade: one weighs (1 + 1/memory)^−a when a others came after it, so that about
/// 1 − e^−x of the weight is of the last x · memory. Adding and asking take about as long as eleven
/// additions (a Fenwick tree).
///
/// Delays that were cut short by a cancellation can be added as they are; the answers then are too
/// low. [`crate::Distribution`] accounts for them.
#[derive(Clone)]
pub struct Quantiles {
    /// Node i, counted from 1, has the weight of the buckets from i − (lowest bit of i) to i − 1.
    tree: Box<[f64]>,
    /// Weight of the next delay.
    next: f64,
    growth: f64,
}

impl Quantiles {
    /// Remembers about the last `memory` delays, or all of them alike if that is `None`.
    pub fn new(memory: Option<u32>) -> Self {
        let growth = memory.map_or(1.0, |memory| 1.0 + 1.0 / f64::from(memory.max(1)));
        Self { tree: vec![0.0; BUCKETS + 1].into(), next: 1.0, growth }
    }

    /// Takes in a delay.
    pub fn add(&mut self, delay: Duration) {
        let mut node = bucket(delay) + 1;
        while node <= BUCKETS {
            self.tree[node] += self.next;
            node += node & node.wrapping_neg();
        }
        self.next *= self.growth;
        if self.next > WEIGHT_MAX {
            self.tree.iter_mut().for_each(|weight| *weight /= self.next);
            self.next = 1.0;
        }
    }

    /// The least delay that has at least the share `p`, 0 to 1, of the weight at or below it; none
    /// before the first.
    pub fn quantile(&self, p: f64) -> Option<Duration> {
        let total = self.tree[BUCKETS];
        if total <= 0.0 {
            return None;
        }
        // A little less than all, lest rounding lead past the last delay; more than nothing.
        let wanted = total * p.clamp(1e-12, 1.0 - 1e-12);
        let (mut place, mut below, mut step) = (0, 0.0, BUCKETS);
        while step > 0 {
            if place + step <= BUCKETS && below + self.tree[place + step] < wanted {
                place += step;
                below += self.tree[place];
            }
            step /= 2;
        }
        Some(middle(place.min(BUCKETS - 1)))
    }

    /// How many delays are remembered: their number, the old ones counted as the part they weigh.
    pub fn weight(&self) -> f64 {
        self.tree[BUCKETS] / self.next * self.growth
    }
}

impl fmt::Debug for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|p| self.quantile(p));
        let mut shown = f.debug_struct("Quantiles");
        shown.field("weight", &self.weight()).field("p50", &p50).field("p95", &p95);
        shown.field("p99", &p99).finish()
    }
}

fn bucket(delay: Duration) -> usize {
    let ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    SCALE.bucket(ns.clamp(1 << POWERS.start, (1 << POWERS.end) - 1)) - BELOW
}

const fn middle(bucket: usize) -> Duration {
    Duration::from_nanos(SCALE.middle(bucket + BELOW))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const ERROR: f64 = 1.0 / 128.0 + 1e-12;

    /// The least of `delays` that has the share `p` of the weights at or below it.
    fn exact(delays: &[u64], memory: f64, p: f64) -> u64 {
        let weight = |age: usize| (1.0 + 1.0 / memory).powf(-(age as f64));
        let last = delays.len() - 1;
        let mut weighed: Vec<(u64, f64)> =
            delays.iter().enumerate().map(|(at, &ns)| (ns, weight(last - at))).collect();
        weighed.sort_by_key(|&(ns, _)| ns);
        let total: f64 = weighed.iter().map(|&(_, weight)| weight).sum();
        let mut below = 0.0;
        for (ns, weight) in &weighed {
            below += weight;
            if below >= total * p * (1.0 - 1e-9) {
                return *ns;
            }
        }
        weighed.last().unwrap().0
    }

    proptest! {
        #[test]
        fn answers_are_within_the_error(
            logs in proptest::collection::vec(11.1f64..41.9, 1..400),
            p in 0.0f64..=1.0, memory in 1u32..200,
        ) {
            let delays: Vec<u64> = logs.iter().map(|log| log.exp2() as u64).collect();
            for memory in [None, Some(memory)] {
                let mut sketch = Quantiles::new(memory);
                for &ns in &delays {
                    sketch.add(Duration::from_nanos(ns));
                }
                let got = sketch.quantile(p).unwrap().as_nanos() as f64;
                let memory = memory.map_or(1e18, f64::from);
                // Where the share falls on the edge between two delays, rounding may pick either.
                let near = [p - 1e-9, p, p + 1e-9].map(|p| exact(&delays, memory, p) as f64);
                let off = near.map(|near| (got / near - 1.0).abs()).into_iter().fold(1.0, f64::min);
                prop_assert!(off <= ERROR, "{} instead of {:?}", got, near);
            }
        }

        #[test]
        fn a_bucket_holds_its_middle(bucket in 0..BUCKETS) {
            prop_assert_eq!(super::bucket(middle(bucket)), bucket);
        }
    }

    #[test]
    fn nothing_seen_is_nothing_known() {
        assert_eq!(Quantiles::new(None).quantile(0.5), None);
        assert!(Quantiles::new(Some(5)).weight() <= 0.0);
    }

    #[test]
    fn what_is_out_of_range_counts_as_its_end() {
        let mut sketch = Quantiles::new(None);
        sketch.add(Duration::ZERO);
        assert_eq!(sketch.quantile(1.0).unwrap().as_micros(), 1);
        sketch.add(Duration::MAX);
        assert_eq!(sketch.quantile(1.0).unwrap().as_secs() / 60, 73);
    }

    #[test]
    fn the_old_fades_and_weights_stay_finite() {
        let mut sketch = Quantiles::new(Some(100));
        let add = |sketch: &mut Quantiles, count, ms| {
            (0..count).for_each(|_| sketch.add(Duration::from_millis(ms)));
        };
        add(&mut sketch, 10_000, 1000);
        assert!((sketch.weight() / 101.0 - 1.0).abs() < 1e-9, "{}", sketch.weight());
        add(&mut sketch, 60, 10);
        assert!(sketch.quantile(0.5).unwrap().as_millis() > 900, "45 % of the weight are new");
        add(&mut sketch, 20, 10);
        assert!(sketch.quantile(0.5).unwrap().as_millis() < 11, "55 % of the weight are new");
    }
}
