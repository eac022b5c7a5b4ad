use std::{iter::zip, time::Duration};

/// Buckets that each doubling of the time is cut into, all of one width.
const STEPS: u32 = 16;
const STEPS_LOG2: u32 = STEPS.ilog2();
/// Times are counted in units of 256 ns; below [`STEPS`] of them, 4 µs, each unit is a bucket.
const UNIT_LOG2: u32 = 8;
/// Up to 2³² units, 18 minutes; what is longer is in the last bucket.
const BUCKETS: usize = ((u32::BITS - STEPS_LOG2 + 1) * STEPS) as usize;

/// How long things took, so that quantiles are right to one part of 32 between 4 µs and 18 minutes.
/// Sketches add up, and are taken from each other again, without loss.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sketch {
    /// Empty until something is added; [`BUCKETS`] from then on.
    counts: Vec<u32>,
}

impl Sketch {
    pub(super) fn add(&mut self, took: Duration) {
        self.counts_mut()[bucket(took)] += 1;
    }

    fn counts_mut(&mut self) -> &mut [u32] {
        self.counts.resize(BUCKETS, 0);
        &mut self.counts
    }

    /// Puts in what another holds.
    pub(super) fn merge(&mut self, other: &Self) {
        if !other.counts.is_empty() {
            zip(self.counts_mut(), &other.counts).for_each(|(count, more)| *count += more);
        }
    }

    /// Takes out what another holds, all of which was put in before.
    pub(super) fn subtract(&mut self, other: &Self) {
        zip(&mut self.counts, &other.counts).for_each(|(count, less)| *count -= less);
    }

    /// Empty again; its memory stays.
    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The least time that at least the share `p` of what was added did not exceed; none without any.
    pub(crate) fn quantile(&self, p: f64) -> Option<Duration> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let rank = ((p * total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map(middle)
    }
}

fn bucket(took: Duration) -> usize {
    let units = u32::try_from(took.as_nanos() >> UNIT_LOG2).unwrap_or(u32::MAX);
    let Some(shift) = units.max(1).ilog2().checked_sub(STEPS_LOG2) else {
        return units as usize;
    };
    (shift * STEPS + (units >> shift)) as usize
}

/// The time in the middle of a bucket.
fn middle(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let steps = u64::from(STEPS);
    let shift = (bucket / steps).saturating_sub(1);
    let low = (bucket - shift * steps) << shift;
    Duration::from_nanos((low << UNIT_LOG2) + (1 << shift << UNIT_LOG2) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_within_a_part_of_32_of_the_middle_of_its_bucket() {
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
