use core::{fmt, ops::Range};
use serde::{Deserialize, Serialize};

/// A set of strips (or fragments) of one stripe, by index 0..=255.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct StripSet([u64; 4]);

impl StripSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 4]);

    /// The set of the strips whose bits are set, the first strip's the lowest of the first word.
    pub const fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    /// A bit for each strip; see [`Self::from_words`].
    pub const fn words(&self) -> [u64; 4] {
        self.0
    }

    /// The strips `0..count`.
    pub fn first(count: usize) -> Self {
        let mut set = Self::EMPTY;
        set.insert_range(0..count);
        set
    }

    /// Adds a strip; false if it was there.
    pub fn insert(&mut self, index: usize) -> bool {
        let added = !self.contains(index);
        self.0[index / 64] |= 1 << (index % 64);
        added
    }

    /// Adds the strips of a range, which ends at 256 at most.
    pub fn insert_range(&mut self, range: Range<usize>) {
        for (at, word) in self.0.iter_mut().enumerate() {
            let clip = |strip: usize| strip.saturating_sub(at * 64).min(64) as u32;
            let (from, until) = (clip(range.start), clip(range.end));
            if from < until {
                let ones = u64::MAX >> (64 - (until - from));
                *word |= ones << from;
            }
        }
    }

    /// Takes a strip out; false if it was not there.
    pub fn remove(&mut self, index: usize) -> bool {
        let removed = self.contains(index);
        self.0[index / 64] &= !(1 << (index % 64));
        removed
    }

    /// Whether the strip is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    /// How many strips are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Whether every strip of `other` is in this set.
    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| theirs & !mine == 0)
    }

    /// The strips in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            core::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
}

impl FromIterator<usize> for StripSet {
    fn from_iter<I: IntoIterator<Item = usize>>(strips: I) -> Self {
        let mut set = Self::EMPTY;
        for strip in strips {
            set.insert(strip);
        }
        set
    }
}

impl fmt::Debug for StripSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::{collections::BTreeSet, vec::Vec};

    proptest! {
        #[test]
        fn a_range_is_each_of_its_strips(start in 0..=256usize, len in 0..=256usize, more: Vec<u8>) {
            let end = (start + len).min(256);
            let mut set: StripSet = more.iter().map(|&strip| usize::from(strip)).collect();
            let mut model = set;
            set.insert_range(start..end);
            (start..end).for_each(|strip| { model.insert(strip); });
            prop_assert_eq!(set, model);
        }

        #[test]
        fn behaves_like_a_tree_set(steps: Vec<(u8, bool)>) {
            let (mut set, mut model) = (StripSet::EMPTY, BTreeSet::new());
            for (index, add) in steps {
                let index = usize::from(index);
                if add {
                    prop_assert_eq!(set.insert(index), model.insert(index));
                } else {
                    prop_assert_eq!(set.remove(index), model.remove(&index));
                }
                prop_assert_eq!(set.len(), model.len());
                prop_assert!(set.iter().eq(model.iter().copied()));
            }
            prop_assert!(set.contains_all(&set) && set.contains_all(&StripSet::EMPTY));
        }
    }
}
