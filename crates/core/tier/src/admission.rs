//! What is worth a place in memory: what was asked for before, not long ago. How often is counted
//! by the sketch of `TinyLFU` (Einziger, Friedman, Manes, TOS 2017): counters of four bits, four
//! for each name, the least of which is believed, all halved from time to time.

use alloc::{vec, vec::Vec};

/// Counters that a name has.
const ROWS: u32 = 4;
/// Counters in a word.
const COUNTERS: u32 = 16;
/// The most that a counter counts.
const COUNT_MAX: u8 = 15;
/// All counters are halved once names were asked for as many times as there are words, times this.
const PERIOD: u32 = 10;
/// Words of a sketch, at least and at most: 8 KiB to 8 MiB.
const WORDS_MIN: usize = 1 << 10;
const WORDS_MAX: usize = 1 << 20;
/// A name that was asked for this often within a period is let in.
pub const TIER_ADMIT_AT: u8 = 2;

/// Counts how often names were asked for, and says which are worth keeping. It takes the same
/// memory whatever it is told.
#[derive(Clone, Debug)]
pub struct TierAdmission {
    words: Vec<u64>,
    /// Times that a name was asked for since counters were halved.
    asked: u32,
    period: u32,
}

impl TierAdmission {
    /// Of a memory that holds about this many names.
    pub fn new(names: usize) -> Self {
        let words = names.clamp(WORDS_MIN, WORDS_MAX).next_power_of_two();
        Self { words: vec![0; words], asked: 0, period: words as u32 * PERIOD }
    }

    /// A name was asked for, which has this hash; whether it is worth keeping.
    pub fn asked(&mut self, hash: u64) -> bool {
        self.asked += 1;
        if self.asked >= self.period {
            self.halve();
        }
        let before = self.count(hash);
        for row in 0..ROWS {
            let (word, shift) = self.place(hash, row);
            let count = (self.words[word] >> shift) as u8 & COUNT_MAX;
            // Counters that others raised higher say nothing of this name.
            if count == before && count < COUNT_MAX {
                self.words[word] += 1 << shift;
            }
        }
        before + 1 >= TIER_ADMIT_AT
    }

    /// How often it was asked for, about: never less than it was since counters were halved, up to
    /// fifteen.
    pub fn count(&self, hash: u64) -> u8 {
        let counts = (0..ROWS).map(|row| {
            let (word, shift) = self.place(hash, row);
            (self.words[word] >> shift) as u8 & COUNT_MAX
        });
        counts.min().unwrap_or(0)
    }

    /// A word and a counter in it for each row.
    fn place(&self, hash: u64, row: u32) -> (usize, u32) {
        /// The whole numbers nearest to 2^64 divided by the golden ratio, and others with no
        /// pattern.
        const SEEDS: [u64; ROWS as usize] = [
            0x9e37_79b9_7f4a_7c15,
            0xc2b2_ae3d_27d4_eb4f,
            0x1656_67b1_9e37_79f9,
            0xd6e8_feb8_6659_fd93,
        ];
        let mixed = (hash ^ SEEDS[row as usize]).wrapping_mul(SEEDS[(row as usize + 1) % 4]);
        let mixed = mixed ^ mixed >> 32;
        let word = mixed as usize & (self.words.len() - 1);
        let counter = (mixed >> 40) as u32 % (COUNTERS / ROWS) + row * (COUNTERS / ROWS);
        (word, counter * (u64::BITS / COUNTERS))
    }

    fn halve(&mut self) {
        /// All bits of counters but the highest.
        const LOW: u64 = 0x7777_7777_7777_7777;
        for word in &mut self.words {
            *word = *word >> 1 & LOW;
        }
        self.asked /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spreads numbers over hashes (Steele, Lea, Flood, 2014).
    fn hash(number: u64) -> u64 {
        let mut at = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        at = (at ^ at >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        at = (at ^ at >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        at ^ at >> 31
    }

    #[test]
    fn what_is_asked_for_once_is_hardly_ever_let_in() {
        let mut admission = TierAdmission::new(1 << 12);
        let let_in = (0..4 << 12).filter(|&number| admission.asked(hash(number))).count();
        assert!(let_in < 4 * 41, "{let_in} of {} once-asked names", 4 << 12);
    }

    #[test]
    fn what_was_often_asked_for_is_forgotten_when_it_is_not_any_more() {
        let mut admission = TierAdmission::new(1 << 10);
        for _ in 0..15 {
            admission.asked(hash(7));
        }
        assert_eq!(admission.count(hash(7)), 15);
        // Others of a few names, period after period.
        for at in 0..5 * (10 << 10) {
            admission.asked(hash(1000 + at % 50));
        }
        assert!(admission.count(hash(7)) < TIER_ADMIT_AT);
    }

    proptest! {
        #[test]
        fn nothing_is_counted_as_less_than_it_was(
            names in prop::collection::vec(0u64..300, 1..2000),
        ) {
            let mut admission = TierAdmission::new(1);
            let mut exact = alloc::collections::BTreeMap::<u64, u8>::new();
            for name in names {
                let before = exact.get(&name).copied().unwrap_or(0);
                let is_in = admission.asked(hash(name));
                exact.insert(name, (before + 1).min(COUNT_MAX));
                prop_assert!(is_in || before + 1 < TIER_ADMIT_AT);
            }
            for (name, count) in exact {
                prop_assert!(admission.count(hash(name)) >= count);
            }
        }
    }
}
