//! What goes when the servers' memory is full: the oldest stripe, except what was read of it, as
//! the CLOCK algorithm has it (Corbato, 1968); long values likewise.

use crate::{ChunkId, ItemName, MemoryTier, SealId, TIER_SEALS_MAX, TierAction, chunk::Member};
use alloc::{collections::BTreeSet, vec::Vec};
use core::ops::Bound::{Excluded, Unbounded};

/// Stripes and long values that are evicted together, at most.
pub const TIER_EVICTIONS_MAX: usize = 16;
/// Long values that the clock's hand passes at once, at most.
const HAND_STEPS_MAX: usize = 16;

impl MemoryTier {
    /// Limits the memory of all servers together, items' overhead included. Above it the tier
    /// evicts, above nine eighths of it values wait.
    pub const fn limit_memory(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    /// Bytes of servers' memory that items take, about.
    pub const fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// Batch after batch, so that nothing older is left of what goes, and few keys need graves.
    pub(crate) fn evict(&mut self, actions: &mut Vec<TierAction>) {
        let cleaned: u64 = self.cleanings.values().map(|cleaning| cleaning.bytes).sum();
        let going = self.deleting + cleaned;
        let mut excess = self.stored.saturating_sub(going.saturating_add(self.bytes_max));
        if excess == 0 || self.is_evicting() || !self.flushes.is_empty() {
            return;
        }
        let (bulks, stripes) = self.choose_victims(&mut excess);
        self.evicted.clear();
        self.evicted.extend(&bulks);
        for stripe in &stripes {
            self.evicted.extend(&self.stripes[stripe].chunks);
        }
        self.evicted.sort_unstable();
        self.count_keys();
        for bulk in bulks {
            let key = self.bulks[&bulk].key;
            if self.index.get(key).is_some_and(|it| it.chunk == bulk) {
                self.bury(key, actions);
            }
        }
        self.evicting.clone_from(&stripes);
        for stripe in stripes {
            self.evict_stripe(stripe, actions);
        }
    }

    fn is_evicting(&self) -> bool {
        self.evicted.iter().any(|id| self.leaving.contains_key(id))
            || self.evicting.iter().any(|id| self.cleanings.contains_key(id))
    }

    /// The oldest, as much as is too much.
    fn choose_victims(&mut self, excess: &mut u64) -> (Vec<ChunkId>, Vec<SealId>) {
        let (mut bulks, mut stripes) = (Vec::new(), Vec::new());
        let is_idle =
            |id: &SealId| !self.sealing.contains_key(id) && !self.cleanings.contains_key(id);
        let looked_at = self.stripes.keys().take(2 * TIER_SEALS_MAX);
        let idle: Vec<SealId> = looked_at.filter(is_idle).take(TIER_EVICTIONS_MAX).collect();
        let mut oldest = idle.into_iter().peekable();
        while *excess > 0 && bulks.len() + stripes.len() < TIER_EVICTIONS_MAX {
            let age = oldest.peek().and_then(|id| self.stripes[id].chunks.iter().min().copied());
            let bytes = if let Some(bulk) = self.pass_hand(age).filter(|it| !bulks.contains(it)) {
                bulks.push(bulk);
                self.item_bytes(ItemName::Strip { value: bulk, strip: 0 }) * self.rings.len() as u64
            } else if let Some(stripe) = oldest.next() {
                stripes.push(stripe);
                self.stripe_bytes(stripe)
            } else {
                break;
            };
            *excess = excess.saturating_sub(bytes);
        }
        (bulks, stripes)
    }

    /// Which keys the batch has more than one item of.
    fn count_keys(&mut self) {
        let mut keys = BTreeSet::new();
        self.evicted_twice.clear();
        for id in &self.evicted {
            let of_bulk = self.bulks.get(id).map(|bulk| bulk.key);
            let members = self.chunks.get(id).map_or(&[][..], |chunk| &chunk.members);
            for key in members.iter().map(Member::key).chain(of_bulk) {
                if !keys.insert(key) {
                    self.evicted_twice.insert(key);
                }
            }
        }
    }

    /// Whether the tier has room for a value. If not it waits.
    pub(crate) fn has_room(&self) -> bool {
        self.flushes.is_empty() && self.stored <= self.bytes_max.saturating_add(self.bytes_max / 8)
    }

    /// Writes that waited for room go on; if there will be none they are refused.
    pub(crate) fn go_on(&mut self, actions: &mut Vec<TierAction>) {
        while self.has_room() {
            let Some(key) = self.stalled.pop_front() else { return };
            if let Some(line) = self.lines.get_mut(&key).filter(|line| line.is_stalled) {
                line.is_stalled = false;
                self.run_line(key, actions);
            }
        }
        let is_hopeless =
            self.stripes.is_empty() && self.bulks.is_empty() && self.leaving.is_empty();
        if is_hopeless && self.flushes.is_empty() {
            self.refuse_stalled(actions);
        }
    }

    pub(crate) fn refuse_stalled(&mut self, actions: &mut Vec<TierAction>) {
        for key in core::mem::take(&mut self.stalled) {
            self.refuse_turn(key, actions);
        }
    }

    /// The next long value older than that which was not read since the hand passed it; any, if
    /// there is nothing else.
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
        age.is_none().then_some(self.hand)
    }

    /// What was read of it stays, up to half of it: else nothing would be gained.
    fn evict_stripe(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        let chunks = self.stripes[&stripe].chunks.iter();
        let mut room = chunks.map(|id| u64::from(self.chunks[id].used)).sum::<u64>() / 2;
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
