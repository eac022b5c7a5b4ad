//! What goes when the servers' memory is full: the oldest stripe, except what was read of it, as
//! the CLOCK algorithm has it (Corbato, 1968); long values likewise.

use crate::{ChunkId, MemoryTier, SealId, TIER_CLEANINGS_MAX, TIER_SEALS_MAX, TierAction};
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};

/// Long values that the clock's hand passes at once, at most.
const HAND_STEPS_MAX: usize = 16;

impl MemoryTier {
    /// Limits the memory of all servers together, items' overhead included. Above it the tier
    /// evicts, above nine eighths of it refuses values as busy.
    pub const fn limit_memory(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    /// Bytes of servers' memory that items take, about.
    pub const fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// One thing after another, so that nothing older is left of what goes, and it needs no graves.
    pub(crate) fn evict(&mut self, actions: &mut Vec<TierAction>) {
        let cleaned: u64 = self.cleanings.values().map(|cleaning| cleaning.bytes).sum();
        if self.stored.saturating_sub(self.deleting + cleaned) <= self.bytes_max {
            return;
        }
        let is_leaving = self.evicted.iter().any(|id| self.leaving.contains_key(id));
        let is_evicting = self.evicting.is_some_and(|id| self.cleanings.contains_key(&id));
        if is_leaving || is_evicting || self.cleanings.len() >= TIER_CLEANINGS_MAX {
            return;
        }
        let is_idle =
            |id: &&SealId| !self.sealing.contains_key(id) && !self.cleanings.contains_key(id);
        let oldest = self.stripes.keys().take(2 * TIER_SEALS_MAX).find(is_idle).copied();
        let age = oldest.and_then(|id| self.stripes[&id].chunks.iter().min().copied());
        if let Some(bulk) = self.pass_hand(age) {
            self.evicted = alloc::vec![bulk];
            let key = self.bulks[&bulk].key;
            if self.index.get(key).is_some_and(|it| it.chunk == bulk) {
                self.bury(key, actions);
            }
        } else if let Some(stripe) = oldest {
            self.evict_stripe(stripe, actions);
        }
    }

    /// The next long value older than that which was not read since the hand passed it.
    fn pass_hand(&mut self, age: Option<ChunkId>) -> Option<ChunkId> {
        for _ in 0..HAND_STEPS_MAX {
            let after = (Excluded(self.hand), Unbounded);
            let (&id, bulk) = match self.bulks.range_mut(after).next() {
                Some(next) => next,
                None => self.bulks.iter_mut().next()?,
            };
            if age.is_some_and(|age| id > age) {
                self.hand = ChunkId(0);
                return None;
            }
            self.hand = id;
            if !core::mem::take(&mut bulk.is_wanted) {
                return Some(id);
            }
        }
        None
    }

    /// What was read of it stays, up to half of it: else nothing would be gained.
    fn evict_stripe(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        self.evicting = Some(stripe);
        self.evicted.clone_from(&self.stripes[&stripe].chunks);
        let mut room =
            self.evicted.iter().map(|id| u64::from(self.chunks[id].used)).sum::<u64>() / 2;
        for (key, from) in self.last_items(stripe) {
            let member = self.chunks[&from.chunk].members[usize::from(from.slot)];
            let len = u64::from(member.len);
            if member.is_wanted && len <= room {
                room -= len;
            } else {
                self.bury(key, actions);
            }
        }
        self.begin_cleaning(stripe, actions);
    }
}
