use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds of the buckets in nanoseconds, each included in its bucket: 50 µs to 1 minute.
pub(crate) const BOUNDS_NS: [u64; 19] = [
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

/// How long things took, in the buckets that scrapers are told: fixed for ever, unlike those of
/// [`ripstop_estimator::Sketch`]. Adding takes no lock: two atomic additions.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One more than there are bounds: the last has what is longer than all.
    counts: [AtomicU64; BOUNDS_NS.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    pub(crate) fn add(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts[BOUNDS_NS.partition_point(|bound| *bound < ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// What several hold together.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let all = Self::default();
        for part in parts {
            for (count, more) in all.counts.iter().zip(&part.counts) {
                count.fetch_add(more.load(Relaxed), Relaxed);
            }
            all.sum_ns.fetch_add(part.sum_ns.load(Relaxed), Relaxed);
        }
        all
    }

    /// Count of each bucket, with its bound in seconds.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_NS.iter().map(|ns| *ns as f64 / 1e9).chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().map(|count| count.load(Relaxed))).collect()
    }

    pub(crate) fn sum_seconds(&self) -> f64 {
        self.sum_ns.load(Relaxed) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_longer_to_the_last() {
        let histogram = Histogram::default();
        for ns in [0, 50_000, 50_001, 60_000_000_000, 60_000_000_001] {
            histogram.add(Duration::from_nanos(ns));
        }
        let filled: Vec<_> = histogram.buckets().into_iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(filled, [(0.00005, 2), (0.0001, 1), (60.0, 1), (f64::INFINITY, 1)]);
        assert!((histogram.sum_seconds() - 120.000_100_002).abs() < 1e-9);
    }
}
