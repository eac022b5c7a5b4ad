use crate::{Sample, survival::Served};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

/// Chunk sizes told apart exactly. Where there are more, sizes within about 9 % of each other
/// (eight classes from one power of two to the next) count as one: their mean.
pub const SIZES_MAX: usize = 64;

/// The times of one chunk size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeTimes<'a> {
    pub(crate) bytes: u64,
    /// Each with the size; ascending.
    pub(crate) times: &'a [(u64, Served)],
}

impl<'a> SizeTimes<'a> {
    pub(crate) fn served(&self) -> impl ExactSizeIterator<Item = Served> + use<'a> {
        self.times.iter().map(|&(_, served)| served)
    }
}

/// Times by size, in a buffer that can be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimesBySize {
    /// Size and time, ascending.
    times: Vec<(u64, Served)>,
}

impl TimesBySize {
    pub(crate) fn fill(&mut self, samples: impl Iterator<Item = Sample>) {
        self.times.clear();
        self.times.extend(samples.map(|sample| (sample.bytes, Served::of(&sample))));
        self.times.sort_unstable();
        if self.groups(|bytes| bytes).count() > SIZES_MAX {
            self.merge();
        }
    }

    /// Ascending by size.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = SizeTimes<'_>> {
        self.groups(|bytes| bytes).map(|times| SizeTimes { bytes: times[0].0, times })
    }

    fn groups(&self, class: fn(u64) -> u64) -> impl Iterator<Item = &[(u64, Served)]> {
        self.times.chunk_by(move |one, next| class(one.0) == class(next.0))
    }

    fn merge(&mut self) {
        for class in self.times.chunk_by_mut(|one, next| size_class(one.0) == size_class(next.0)) {
            let sum: u128 = class.iter().map(|&(bytes, _)| u128::from(bytes)).sum();
            let mean = (sum / class.len() as u128) as u64;
            for (bytes, _) in &mut *class {
                *bytes = mean;
            }
            class.sort_unstable();
        }
    }
}

/// Which sizes count as one, the same for several sets of tasks: each its own, or, of more than
/// [`SIZES_MAX`], the least of its class.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    least: BTreeMap<u64, u64>,
    merged: bool,
}

impl Classes {
    pub(crate) fn of(sizes: impl Iterator<Item = u64>) -> Self {
        let sizes: BTreeSet<u64> = sizes.collect();
        let mut least = BTreeMap::new();
        for &bytes in &sizes {
            least.entry(size_class(bytes)).or_insert(bytes);
        }
        Self { least, merged: sizes.len() > SIZES_MAX }
    }

    pub(crate) fn size(&self, bytes: u64) -> u64 {
        let class = if self.merged { self.least.get(&size_class(bytes)) } else { None };
        class.copied().unwrap_or(bytes)
    }
}

/// The power of two and the next three bits.
const fn size_class(bytes: u64) -> u64 {
    let power = bytes.checked_ilog2();
    match power {
        Some(power @ 3..) => (power as u64) << 3 | (bytes >> (power - 3)) & 7,
        Some(_) | None => bytes,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::time::Duration;
    use ripstop_model::{NodeId, Operation};
    use std::vec::Vec;

    fn by_size(bytes: impl Iterator<Item = u64>) -> Vec<(u64, usize)> {
        let served = |at: usize| Duration::from_nanos(1000 - at as u64);
        let sample = |(at, bytes)| Sample {
            operation: Operation::Read,
            node: NodeId(0),
            bytes,
            served: served(at),
            finished: true,
        };
        let mut times = TimesBySize::default();
        times.fill(bytes.enumerate().map(sample));
        for size in times.sizes() {
            assert!(size.times.is_sorted());
        }
        times.sizes().map(|size| (size.bytes, size.times.len())).collect()
    }

    #[test]
    fn few_sizes_are_told_apart() {
        assert_eq!(by_size([5, 3, 5, 0].into_iter()), [(0, 1), (3, 1), (5, 2)]);
        assert_eq!(by_size(1_000_000..1_000_064).len(), 64);
    }

    #[test]
    fn many_sizes_become_classes() {
        assert_eq!(by_size(1024..1024 + 65), [(1056, 65)]);
        let classes = by_size((0..900).map(|at| 1000 + at * 10));
        assert!((20..=28).contains(&classes.len()), "{classes:?}");
        assert_eq!(classes.iter().map(|class| class.1).sum::<usize>(), 900);
        assert!(classes.is_sorted());
    }

    #[test]
    fn classes_ascend_with_size() {
        for bytes in 1..100_000u64 {
            assert!(size_class(bytes - 1) <= size_class(bytes), "{bytes}");
        }
        assert!(size_class(u64::MAX) < 1 << 10);
    }
}
