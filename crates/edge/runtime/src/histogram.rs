use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds of buckets, each included in its bucket.
type Bounds = [u64; 19];

/// In nanoseconds: 50 µs to 1 minute.
const TIMES_NS: Bounds = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];
/// Of numbers of things.
const NUMBERS: Bounds =
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096];

/// How often values were in which bucket. Scrapers are told buckets by their bounds, so these are
/// fixed for ever. Adding takes no lock: two atomic additions.
#[derive(Default, Debug)]
struct Tally {
    /// One more than there are bounds: the last has what is more than all.
    counts: [AtomicU64; NUMBERS.len() + 1],
    sum: AtomicU64,
}

impl Tally {
    fn add(&self, bounds: &Bounds, value: u64) {
        self.counts[bounds.partition_point(|bound| *bound < value)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    fn show(&self, bounds: &Bounds, unit: f64) -> Buckets {
        let bounds = bounds.iter().map(|bound| *bound as f64 / unit).chain([f64::INFINITY]);
        let counts = bounds.zip(self.counts.iter().map(|count| count.load(Relaxed))).collect();
        Buckets { counts, sum: self.sum.load(Relaxed) as f64 / unit }
    }
}

/// What a histogram has counted.
#[derive(Clone, PartialEq, Debug)]
pub struct Buckets {
    /// Count of each bucket, with its upper bound.
    pub counts: Vec<(f64, u64)>,
    /// All values together.
    pub sum: f64,
}

/// How long things took.
#[derive(Default, Debug)]
pub struct TimeHistogram(Tally);

impl TimeHistogram {
    /// Counts one.
    pub fn add(&self, took: Duration) {
        self.0.add(&TIMES_NS, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// What several hold together.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let all = Self::default();
        for Self(part) in parts {
            for (count, more) in all.0.counts.iter().zip(&part.counts) {
                count.fetch_add(more.load(Relaxed), Relaxed);
            }
            all.0.sum.fetch_add(part.sum.load(Relaxed), Relaxed);
        }
        all
    }

    /// What is in it, in seconds.
    pub fn buckets(&self) -> Buckets {
        self.0.show(&TIMES_NS, 1e9)
    }
}

/// How many there were of something each time.
#[derive(Default, Debug)]
pub struct NumberHistogram(Tally);

impl NumberHistogram {
    /// Counts one.
    pub fn add(&self, number: usize) {
        self.0.add(&NUMBERS, number as u64);
    }

    /// What is in it.
    pub fn buckets(&self) -> Buckets {
        self.0.show(&NUMBERS, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(buckets: &Buckets) -> Vec<(f64, u64)> {
        buckets.counts.iter().copied().filter(|(_, n)| *n > 0).collect()
    }

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_longer_to_the_last() {
        let histogram = TimeHistogram::default();
        for ns in [0, 50_000, 50_001, 60_000_000_000, 60_000_000_001] {
            histogram.add(Duration::from_nanos(ns));
        }
        let buckets = histogram.buckets();
        assert_eq!(filled(&buckets), [(0.00005, 2), (0.0001, 1), (60.0, 1), (f64::INFINITY, 1)]);
        assert!((buckets.sum - 120.000_100_002).abs() < 1e-9);
    }

    #[test]
    fn numbers_are_counted_as_they_are() {
        let histogram = NumberHistogram::default();
        for number in [1, 1, 5, 6, 4096, 5000] {
            histogram.add(number);
        }
        let buckets = histogram.buckets();
        assert_eq!(filled(&buckets), [(1.0, 2), (6.0, 2), (4096.0, 1), (f64::INFINITY, 1)]);
        assert!((buckets.sum - 9109.0).abs() < 1e-9);
    }
}
