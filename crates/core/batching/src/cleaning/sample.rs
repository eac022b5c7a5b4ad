//! Whether more of a pool's packs dies from one look through them to the next.

use alloc::collections::BTreeMap;
use ripstop_model::StripeId;

/// Packs of a sample, at most.
const PACKS_MAX: usize = 4096;
/// Of this many bytes one may have died: that is nothing much.
const SHARE_OF_SETTLED: u64 = 65_536;

/// How much of some packs is of use: of all, or of those that a hash picks, whatever their age.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WearSample {
    /// Bytes of use, by the hash of the pack's name.
    useful: BTreeMap<u64, u32>,
}

impl WearSample {
    /// Before anything is seen.
    pub const fn new() -> Self {
        Self { useful: BTreeMap::new() }
    }

    pub(super) fn see(&mut self, id: StripeId, useful: u32) {
        self.useful.insert(hash(id), useful);
        if self.useful.len() > PACKS_MAX {
            self.useful.pop_last();
        }
    }

    /// Whether this much died of the packs that are in an earlier sample, too. What was written
    /// again or went meanwhile says nothing.
    pub fn has_died_since(&self, before: &Self) -> bool {
        let (mut was, mut died) = (0, 0);
        for (pack, useful) in &self.useful {
            if let Some(earlier) = before.useful.get(pack) {
                was += u64::from(*earlier);
                died += u64::from(earlier.saturating_sub(*useful));
            }
        }
        died * SHARE_OF_SETTLED > was
    }
}

/// Two rounds of multiplication and folding: names of one session differ in few bits.
const fn hash(id: StripeId) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (id.0 as u64 ^ (id.0 >> 64) as u64).wrapping_mul(ODD);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(ODD);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(packs: impl IntoIterator<Item = (u128, u32)>) -> WearSample {
        let mut sample = WearSample::new();
        packs.into_iter().for_each(|(id, useful)| sample.see(StripeId(id), useful));
        sample
    }

    #[test]
    fn what_died_is_told_from_what_was_written_again_or_came() {
        let before = sample([(1, 1000), (2, 1000)]);
        assert!(!sample([(1, 1000), (3, 10)]).has_died_since(&before), "one went, one came");
        assert!(sample([(1, 1000), (2, 999)]).has_died_since(&before));
        assert!(!sample([(1, 1000), (2, 1000)]).has_died_since(&before));
        assert!(!WearSample::new().has_died_since(&before));
        let large = |useful| sample([(1, 1 << 20), (2, useful)]);
        assert!(!large((1 << 20) - 32).has_died_since(&large(1 << 20)), "that is next to nothing");
        assert!(large((1 << 20) - 33).has_died_since(&large(1 << 20)));
    }

    #[test]
    fn of_very_many_packs_the_same_are_in_each_sample() {
        let of = |useful| sample((1..=20_000).map(|id| (id, useful)));
        assert_eq!(of(5).useful.len(), PACKS_MAX);
        assert!(of(5).useful.keys().eq(of(9).useful.keys()));
        assert!(of(5).has_died_since(&of(9)));
        // Whatever their age: a tenth of all that are the oldest is about a tenth of the sample.
        let oldest = (1..=2000).filter(|id| of(5).useful.contains_key(&hash(StripeId(*id))));
        assert!((300..520).contains(&oldest.count()));
    }
}
