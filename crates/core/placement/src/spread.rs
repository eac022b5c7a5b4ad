use crate::Group;
use alloc::vec::Vec;

/// Which group a class's file belongs to: a function of its number, without a table of files.
///
/// Numbers 0, 1, 2 … go to the groups in turn, each as often as its part of the class says: after
/// any number of files, no group is off its part by more than a few files.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    /// Where each group ends, as a part of 2⁶⁴; the last ends there.
    ends: Vec<u64>,
}

/// The golden ratio's fraction: its multiples are spread over the circle most evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Spread {
    /// Of the groups of one class. None without files.
    pub fn new(groups: &[Group]) -> Option<Self> {
        Self::of_weights(groups.iter().map(|group| group.files))
    }

    /// Of groups that have these parts of all files, beside each other. None if they have nothing.
    pub fn of_weights(weights: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let total: u128 = weights.clone().map(u128::from).sum();
        if total == 0 {
            return None;
        }
        let mut reached = 0;
        let end = |weight: u64| {
            reached += u128::from(weight);
            // In two halves, because the product has up to 128 bits.
            let whole = (reached << 63) / total;
            u64::try_from(whole << 1).unwrap_or(u64::MAX)
        };
        Some(Self { ends: weights.map(end).collect() })
    }

    /// The position of the group of a file, by its number.
    pub fn group(&self, file: u64) -> usize {
        let place = file.wrapping_mul(GOLDEN);
        let last = self.ends.len() - 1;
        self.ends[..last].partition_point(|&end| end <= place)
    }
}
