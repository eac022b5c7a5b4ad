//! Gateways that share a catalog, as a drill has them.

use crate::trouble::Trouble;
use ripstop_delay::Dice;
use std::time::Duration;

/// Gateways of one drill, at least and at most.
const SEATS: (u64, u64) = (2, 3);
/// Troubles of one drill, at most.
const TROUBLES_MAX: u64 = 7;
/// The number of the first trouble: those of faults are smaller.
const FIRST: u64 = 1000;
/// For how long statements are tried again, seconds: as in what ships, or less.
const PATIENCE_S: [u64; 3] = [2, 30, 30];

/// Gateways that share a catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fleet {
    /// How many there are at a time.
    pub seats: usize,
    /// For how long statements are tried again.
    pub patience: Duration,
    /// What happens to them, with the number that it can be left out by.
    pub troubles: Vec<(u64, Trouble)>,
}

impl Fleet {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let seats = SEATS.0 + dice.below(SEATS.1 - SEATS.0 + 1);
        let patience = PATIENCE_S[dice.below(PATIENCE_S.len() as u64) as usize];
        let kinds = Trouble::kinds(dice);
        // Some have none, so that what happens to others shows.
        let count = if dice.below(5) == 0 { 0 } else { dice.below(TROUBLES_MAX + 1) };
        let trouble = |number| {
            let kind = kinds[dice.below(kinds.len() as u64) as usize];
            (number, Trouble::draw(dice, seats as usize, kind))
        };
        let troubles = (FIRST..FIRST + count).map(trouble).collect();
        Self { seats: seats as usize, patience: Duration::from_secs(patience), troubles }
    }

    /// Whether all that troubles it is kept from clients.
    pub(crate) fn is_calm(&self) -> bool {
        self.troubles.iter().all(|(_, trouble)| trouble.is_hidden())
    }

    /// Whether clocks differ.
    pub(crate) fn has_odd_clocks(&self) -> bool {
        self.troubles.iter().any(|(_, trouble)| trouble.is_of_clocks())
    }

    /// By how many seconds a gateway's clock is off from the start.
    pub(crate) fn off_s(&self, of: usize) -> i64 {
        let off = |trouble: &Trouble| {
            if let Trouble::Off(seat, by_s) = *trouble
                && seat == of
            {
                by_s
            } else {
                0
            }
        };
        self.troubles.iter().map(|(_, trouble)| off(trouble)).sum()
    }
}
