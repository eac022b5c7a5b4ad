use crate::Unknown;
use ripstop_model::StripeId;

/// Bits of a clock's reading that count within its millisecond.
const COUNTER_BITS: u32 = 16;
/// The highest of them says that what is told was decided by what was there: a stamp with it may
/// not be preceded by a write that comes later. One without a condition may have it, too.
const DECIDED: u64 = 1 << (COUNTER_BITS - 1);

/// When something was first told, and where: of two versions of a key, the one with the later stamp
/// is what the key stands for.
///
/// A copy of a version elsewhere in the store keeps its stamp; a new version gets a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp {
    /// The reading of a hybrid clock: milliseconds since 1970, shifted left by 16 bits, and a
    /// counter.
    pub when: u64,
    /// The stripe in which it was first told.
    pub stripe: StripeId,
}

impl Stamp {
    /// Of what was told by a stripe before there were stamps: when that was named.
    pub const fn of(told_by: StripeId) -> Self {
        Self { when: Self::at(told_by.unix_ms()), stripe: told_by }
    }

    /// The clock's first reading in a millisecond since 1970.
    pub const fn at(unix_ms: u64) -> u64 {
        unix_ms << COUNTER_BITS
    }

    /// The first reading, from this one on, of what was decided by what was there.
    pub const fn decided(when: u64) -> u64 {
        if when & DECIDED == 0 { (when & !(DECIDED - 1)) | DECIDED } else { when }
    }

    /// Whether what is told may have been decided by what was there.
    pub const fn is_decided(self) -> bool {
        self.when & DECIDED != 0
    }

    /// Its time, in milliseconds since 1970.
    pub const fn unix_ms(self) -> u64 {
        self.when >> COUNTER_BITS
    }
}

/// That a key's object was deleted, or a bucket.
///
/// It is kept for as long as a stripe may tell of the key what is no longer so: a catalog that is
/// made again from what stripes tell would bring that back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tombstone {
    /// When the deletion was first told.
    pub stamp: Stamp,
    /// The stripe whose fragments' headers tell of it.
    pub told_by: StripeId,
    /// What a newer program wrote of it.
    pub unknown: Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decided_reading_is_not_before_the_one_that_was_asked_for() {
        for when in [0, 1, DECIDED - 1, DECIDED, DECIDED + 9, 7 << 16, (7 << 16) | 0xffff] {
            let decided = Stamp { when: Stamp::decided(when), stripe: StripeId(1) };
            assert!(decided.when >= when && decided.is_decided());
            assert_eq!(decided.unix_ms(), when >> COUNTER_BITS);
        }
        assert!(!Stamp { when: Stamp::at(1000), stripe: StripeId(1) }.is_decided());
    }

    #[test]
    fn what_has_no_stamp_was_told_when_its_stripe_was_named() {
        let (early, late) = (StripeId::new(1000, 9), StripeId::new(1001, 3));
        assert_eq!(Stamp::of(early), Stamp { when: 1000 << 16, stripe: early });
        assert_eq!(Stamp::of(early).unix_ms(), 1000);
        let counted = Stamp { when: 1000 << 16 | 1, stripe: StripeId(0) };
        assert!(Stamp::of(early) < counted && counted < Stamp::of(late), "time, then the counter");
        assert!(Stamp::of(early) < Stamp::of(StripeId::new(1000, 10)), "then the stripe");
    }
}
