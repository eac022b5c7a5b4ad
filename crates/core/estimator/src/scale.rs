/// Buckets of whole numbers that are told apart to one part of a power of two: the first each hold
/// one unit, those above, as many from each power of two to the next, ever wider ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The power of two that a unit is.
    pub(crate) unit_log2: u32,
    /// The power of two of buckets from one power of two to the next.
    pub(crate) detail_log2: u32,
}

impl Scale {
    /// The bucket that a number belongs to.
    #[inline]
    pub(crate) const fn bucket(self, number: u64) -> usize {
        let units = number >> self.unit_log2;
        if units >> self.detail_log2 == 0 {
            return units as usize;
        }
        let shift = units.ilog2() - self.detail_log2;
        ((shift as usize) << self.detail_log2) + (units >> shift) as usize
    }

    /// The number in the middle of a bucket.
    pub(crate) const fn middle(self, bucket: usize) -> u64 {
        let shift = (bucket >> self.detail_log2).saturating_sub(1);
        let low = (bucket - (shift << self.detail_log2)) as u64;
        (low << shift << self.unit_log2) + (1 << shift << self.unit_log2) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_within_half_a_bucket_of_its_middle(
            power in 0u32..40, low in any::<u64>(), unit_log2 in 0u32..10, detail_log2 in 0u32..8,
        ) {
            let number = 1 << power | low & ((1 << power) - 1);
            let scale = Scale { unit_log2, detail_log2 };
            let width = (1u64 << unit_log2).max(1 << power >> detail_log2);
            let middle = scale.middle(scale.bucket(number));
            prop_assert!(middle.abs_diff(number) <= width.div_ceil(2), "{} of {}", middle, number);
            prop_assert_eq!(scale.bucket(middle), scale.bucket(number));
            let next = scale.bucket(number + width);
            prop_assert!((1..=2).contains(&(next - scale.bucket(number))), "buckets ascend");
        }
    }
}
