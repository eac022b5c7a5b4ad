use crate::scale::Scale;
use alloc::vec::Vec;
use core::{iter::zip, time::Duration};

/// 16 buckets to each doubling of the time; below 16 units of 256 ns, 4 µs, each unit is a bucket.
const SCALE: Scale = Scale { unit_log2: 8, detail_log2: 4 };
/// 2³² units, 18 minutes; what is longer is in the last bucket.
const LONGEST_NS: u64 = (1 << (u32::BITS + SCALE.unit_log2)) - 1;
const BUCKETS: usize = SCALE.bucket(LONGEST_NS) + 1;

/// How long things took, so that quantiles are right to one part of 32 between 4 µs and 18 minutes.
/// Sketches add up, and are taken from each other again, without loss.
#[derive(Clone, Default, Debug)]
pub struct Sketch {
    /// Empty until something is added; [`BUCKETS`] from then on.
    counts: Vec<u32>,
}

impl Sketch {
    /// Takes in a time.
    pub fn add(&mut self, took: Duration) {
        self.counts_mut()[bucket(took)] += 1;
    }

    fn counts_mut(&mut self) -> &mut [u32] {
        self.counts.resize(BUCKETS, 0);
        &mut self.counts
    }

    /// Puts in what another holds.
    pub fn merge(&mut self, other: &Self) {
        if !other.counts.is_empty() {
            zip(self.counts_mut(), &other.counts).for_each(|(count, more)| *count += more);
        }
    }

    /// Takes out what another holds, all of which was put in before.
    pub fn subtract(&mut self, other: &Self) {
        zip(&mut self.counts, &other.counts).for_each(|(count, less)| *count -= less);
    }

    /// Empty again; its memory stays.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The least time that at least the share `p` of what was added did not exceed; none without
    /// any.
    pub fn quantile(&self, p: f64) -> Option<Duration> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let rank = (libm::ceil(p * total as f64) as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map(middle)
    }
}

fn bucket(took: Duration) -> usize {
    let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    SCALE.bucket(ns.min(LONGEST_NS))
}

/// The time in the middle of a bucket.
const fn middle(bucket: usize) -> Duration {
    Duration::from_nanos(SCALE.middle(bucket))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_time_is_within_a_part_of_32_of_the_middle_of_its_bucket() {
        assert_eq!(BUCKETS, 464);
        let mut former = 0;
        let mut ns = 4096u64;
        while ns < 1 << 40 {
            let at = bucket(Duration::from_nanos(ns));
            assert!(at == former || at == former + 1 || former == 0, "{ns}: {former} to {at}");
            former = at;
            let off = middle(at).as_nanos() as f64 / ns as f64 - 1.0;
            assert!(off.abs() <= 1.0 / 32.0, "{ns}: {off}");
            ns += ns / 100;
        }
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::from_nanos(4095)), 15);
        assert_eq!(bucket(Duration::from_nanos(4096)), 16);
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        assert!(middle(BUCKETS - 1) > Duration::from_secs(1000));
    }

    fn sketch_of(times: impl IntoIterator<Item = Duration>) -> Sketch {
        let mut sketch = Sketch::default();
        for took in times {
            sketch.add(took);
        }
        sketch
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let times: Vec<Duration> =
            (1..=1000u64).map(|at| Duration::from_micros(at * at % 7919 + 50)).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let sketch = sketch_of(times);
        for (p, rank) in [(0.0, 1), (0.5, 500), (0.99, 990), (0.9995, 1000), (1.0, 1000)] {
            let off = sketch.quantile(p).unwrap().as_secs_f64() / sorted[rank - 1].as_secs_f64();
            assert!((off - 1.0).abs() < 0.05, "{p}: {off}");
        }
    }

    #[test]
    fn what_is_taken_out_again_leaves_what_was_there() {
        let of = |ms: &[u64]| sketch_of(ms.iter().map(|ms| Duration::from_millis(*ms)));
        let (mut sum, more) = (of(&[10]), of(&[500, 700]));
        let before = sum.quantile(1.0);
        sum.merge(&more);
        sum.merge(&Sketch::default());
        assert!(sum.quantile(1.0).unwrap() > Duration::from_millis(600));
        sum.subtract(&more);
        sum.subtract(&Sketch::default());
        assert_eq!(sum.quantile(1.0), before);
        sum.clear();
        assert_eq!((sum.quantile(0.5), Sketch::default().quantile(0.5)), (None, None));
    }
}
