use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Four buckets to each power of two of microseconds, up to 268 s; the last takes all that is longer.
const BUCKETS: usize = 108;

/// How long things took: counts per range of times, each a quarter of a power of two wide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    sum_us: u64,
}

impl Histogram {
    /// For each bucket the time that all of its samples are below, and how many it has. The last
    /// bucket has everything else, and `Duration::MAX` as its bound.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.counts.iter().enumerate().map(|(at, &count)| (bound(at), count))
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All samples together.
    pub const fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us)
    }

    /// The bound of the bucket that has the `q`-quantile, at most a quarter above it; zero without
    /// samples.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (self.count() as f64 * q).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.buckets().find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.map_or(Duration::ZERO, |(bound, _)| bound)
    }
}

/// A histogram that many may add to at once.
pub(super) struct Buckets {
    counts: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU64::new(0)), sum_us: AtomicU64::new(0) }
    }
}

impl Buckets {
    pub(super) fn add(&self, time: Duration) {
        let us = time.as_micros() as u64;
        self.counts[bucket(us)].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    pub(super) fn histogram(&self) -> Histogram {
        Histogram {
            counts: std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed)),
            sum_us: self.sum_us.load(Ordering::Relaxed),
        }
    }
}

fn bucket(us: u64) -> usize {
    if us < 4 {
        return us as usize;
    }
    let power = us.ilog2() as usize;
    let quarter = (us >> (power - 2)) as usize & 3;
    (4 * (power - 1) + quarter).min(BUCKETS - 1)
}

fn bound(bucket: usize) -> Duration {
    let us = match bucket {
        0..4 => bucket as u64 + 1,
        4.. if bucket < BUCKETS - 1 => (bucket as u64 % 4 + 5) << (bucket / 4 - 1),
        _ => return Duration::MAX,
    };
    Duration::from_micros(us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_is_below_its_bound_and_at_most_a_quarter(us in 0..268_000_000u64) {
            let bound = bound(bucket(us)).as_micros() as u64;
            prop_assume!(bucket(us) < BUCKETS - 1);
            prop_assert!(us < bound && bound <= us + us / 4 + 1, "{us} in a bucket up to {bound}");
        }
    }

    #[test]
    fn bounds_ascend_and_each_begins_the_next_bucket() {
        for at in 0..BUCKETS - 1 {
            assert_eq!(bucket(bound(at).as_micros() as u64), at + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_near_the_samples() {
        let buckets = Buckets::default();
        assert_eq!(buckets.histogram().quantile(0.5), Duration::ZERO);
        for ms in 1..=1000 {
            buckets.add(Duration::from_millis(ms));
        }
        let histogram = buckets.histogram();
        assert_eq!((histogram.count(), histogram.sum()), (1000, Duration::from_millis(500_500)));
        for (q, ms) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            let got = histogram.quantile(q).as_micros() as u64;
            assert!((ms * 1000..=ms * 1250 + 1).contains(&got), "{q}: {got}");
        }
    }
}
