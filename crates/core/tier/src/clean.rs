//! Stripes of which much is dead: what lives is appended again, and the rest deleted.

use crate::{
    ChunkId, ItemName, KeyHash, MemoryTier, SealId, TierAction,
    chunk::{CHUNK_OBJECTS_MAX, Chunk, LOST},
    index::Location,
    task::{
        Append, Cleaning, Fetching, NONE_AVOIDED, Origin, Rewrite, SHARES, Turn, Weight, Wound,
    },
};
use alloc::vec::Vec;

/// Stripes that are cleaned at once, at most.
pub const TIER_CLEANINGS_MAX: usize = 4;
/// Beside its value, of each item, about: key, label and the server's own.
pub(crate) const ITEM_OVERHEAD: u64 = 160;
/// An object's share of a parity item's list.
const LABEL_LEN: u64 = 40;

/// What the list of a chunk costs for each of its objects: less than items, as it is in our own
/// memory, and what is nearly all gone is to go.
const LISTED: u64 = 8;
impl MemoryTier {
    /// How much of a stripe is dead has changed, or whether that counts.
    pub(crate) fn consider_cleaning(&mut self, id: SealId) {
        if self.sealing.contains_key(&id) || self.cleanings.contains_key(&id) {
            return;
        }
        let weight = self.weigh(id);
        let stripe = self.stripes.get_mut(&id).expect("it has chunks");
        let before = core::mem::replace(&mut stripe.weight, weight);
        self.weight = self.weight.without(before).with(weight);
        if before.share() != weight.share() {
            self.cleanable.remove(&(before.share(), id));
            if weight.share() > 0 {
                self.cleanable.insert((weight.share(), id));
            }
        }
    }

    /// It is cleaned, or gone: it does not count any more.
    fn forget_weight(&mut self, id: SealId) {
        let stripe = self.stripes.get_mut(&id).expect("it has chunks");
        let before = core::mem::take(&mut stripe.weight);
        self.weight = self.weight.without(before);
        self.cleanable.remove(&(before.share(), id));
    }

    fn weigh(&self, id: SealId) -> Weight {
        let chunks = self.stripes[&id].chunks.iter().map(|id| &self.chunks[id]);
        let of = |bytes: u16, count: u16| u64::from(bytes) + ITEM_OVERHEAD * u64::from(count);
        let add = |sum: Weight, chunk: &Chunk| {
            let listed = chunk.members.len() as u16;
            let all = of(chunk.used - chunk.gone, listed - chunk.gone_count);
            Weight {
                all: sum.all + all + LISTED * u64::from(listed),
                dead: sum.dead
                    + of(chunk.dead, chunk.corpses)
                    + LISTED * u64::from(chunk.gone_count),
            }
        };
        chunks.fold(Weight::default(), add)
    }

    /// While more than a quarter of all is dead: those first of which the most is, since what
    /// lives is written again. What is nearly all dead costs nothing.
    pub(crate) fn clean(&mut self, actions: &mut Vec<TierAction>) {
        self.evict(actions);
        while self.cleanings.len() < TIER_CLEANINGS_MAX && self.flushes.is_empty() {
            let Some(&(share, stripe)) = self.cleanable.last() else { return };
            if share < SHARES - 1 && self.weight.dead * 4 <= self.weight.all {
                return;
            }
            self.begin_cleaning(stripe, actions);
        }
    }

    pub(crate) fn begin_cleaning(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        self.forget_weight(stripe);
        let bytes = self.stripe_bytes(stripe);
        self.cleanings.insert(stripe, Cleaning { left: 1, is_failed: false, bytes });
        for (key, from) in self.last_items(stripe) {
            self.cleanings.get_mut(&stripe).expect("it is being cleaned").left += 1;
            let ticket = self.own_ticket();
            self.queue(key, Turn::Rewrite(Rewrite { key, from, stripe, ticket }), actions);
        }
        self.cleaned_one(stripe, false, actions);
    }

    /// The values and graves that are in the stripe.
    pub(crate) fn last_items(&self, stripe: SealId) -> Vec<(KeyHash, Location)> {
        let mut items = Vec::with_capacity(CHUNK_OBJECTS_MAX);
        for &chunk in &self.stripes[&stripe].chunks {
            for (slot, member) in (0u16..).zip(&self.chunks[&chunk].members) {
                let from = Location { version: member.version, chunk, slot };
                let key = member.key();
                let is_grave = self.graves.get(&key) == Some(&from);
                if is_grave || self.index.get(key) == Some(from) {
                    items.push((key, from));
                }
            }
        }
        items
    }

    /// Whether it waits for servers.
    pub(crate) fn begin_rewrite(
        &mut self,
        rewrite: Rewrite,
        actions: &mut Vec<TierAction>,
    ) -> bool {
        let Rewrite { key, from, stripe, ticket } = rewrite;
        if self.index.get(key) == Some(from) {
            let plan = self.plan_read(from, &self.suspects);
            let plan = plan.or_else(|| self.plan_read(from, &NONE_AVOIDED));
            if let Some(plan) = plan {
                let task = self.task();
                self.fetches.insert(task, Fetching::Rewrite(rewrite));
                actions.push(TierAction::Fetch { task, ticket, plan });
                return true;
            }
            // Too many servers are lost: it is gone for ever.
            self.bury(key, actions);
        }
        let is_grave = self.graves.get(&key) == Some(&from);
        if is_grave && self.is_haunted(key, from) {
            let tombstone = Append::tombstone(key, Origin::Rewrite(rewrite), from.version);
            if self.append(tombstone, actions) {
                return true;
            }
            self.cleaned_one(stripe, true, actions);
            return false;
        }
        if is_grave {
            self.graves.remove(&key);
            self.kill_grave(from, actions);
        }
        self.cleaned_one(stripe, false, actions);
        false
    }

    /// Its bytes are fetched.
    pub(crate) fn rewrite(&mut self, rewrite: Rewrite, actions: &mut Vec<TierAction>) {
        let Rewrite { key, from, stripe, ticket } = rewrite;
        let expires = self.expiries.get(&key).copied();
        let tombstone = Append::tombstone(key, Origin::Rewrite(rewrite), from.version);
        if self.index.get(key) != Some(from) {
            // It expired meanwhile.
            actions.push(TierAction::Release(ticket));
            return self.run_line(key, actions);
        }
        let len = self.chunks[&from.chunk].members[usize::from(from.slot)].len.into();
        let append = Append { len, expires, is_tombstone: false, ..tombstone };
        if !self.append(append, actions) {
            actions.push(TierAction::Release(ticket));
            self.cleaned_one(stripe, true, actions);
            self.run_line_on(key, actions);
        }
    }

    /// The index is switched, if it says what it said.
    pub(crate) fn rewritten(
        &mut self,
        rewrite: &Rewrite,
        to: Location,
        is_stored: bool,
        actions: &mut Vec<TierAction>,
    ) {
        let Rewrite { key, from, stripe, ticket } = *rewrite;
        let is_tombstone = self.chunks[&to.chunk].members[usize::from(to.slot)].is_tombstone;
        if is_stored && self.index.get(key) == Some(from) {
            self.index.insert(key, to);
            self.kill(from, actions);
        } else if is_stored && self.graves.get(&key) == Some(&from) {
            self.graves.insert(key, to);
            self.kill_grave(from, actions);
            if !is_tombstone {
                // It expired meanwhile.
                self.mark_dead(to);
            }
        } else {
            self.kill(to, actions);
        }
        actions.push(TierAction::Release(ticket));
        self.cleaned_one(stripe, !is_stored, actions);
    }

    fn cleaned_one(&mut self, stripe: SealId, is_failed: bool, actions: &mut Vec<TierAction>) {
        let cleaning = self.cleanings.get_mut(&stripe).expect("it is being cleaned");
        cleaning.left -= 1;
        cleaning.is_failed |= is_failed;
        if cleaning.left > 0 {
            return;
        }
        let is_failed = cleaning.is_failed;
        self.cleanings.remove(&stripe);
        if is_failed {
            // Once servers are otherwise than now.
            self.uncleaned.push(stripe);
            self.refuse_stalled(actions);
        } else {
            self.drop_stripe(stripe, actions);
        }
    }

    /// Nothing reads anything of it any more.
    pub(crate) fn drop_stripe(&mut self, id: SealId, actions: &mut Vec<TierAction>) {
        self.forget_weight(id);
        let stripe = &self.stripes[&id];
        let (chunks, parity) = (stripe.chunks.clone(), stripe.parity.clone());
        let of = |chunk: &ChunkId| (self.chunks[chunk].ring, *chunk);
        let of_rings = chunks.iter().map(of).collect();
        let there = parity.iter().filter(|server| **server != LOST).count();
        self.part(id, of_rings, there);
        for (strip, server) in (self.code.k() as u8..).zip(parity) {
            if server != LOST {
                self.delete(server, ItemName::Parity { stripe: id, strip }, actions);
            }
        }
        for &chunk in &chunks {
            let ring = self.chunks[&chunk].ring;
            for (slot, server) in self.holders(chunk) {
                self.delete_of((ring, chunk), server, ItemName::Object { chunk, slot }, actions);
            }
        }
        self.forget_wound(Wound::Stripe(id));
        for chunk in &chunks {
            self.forget_wound(Wound::Chunk(*chunk));
            let ring = self.chunks.remove(chunk).expect("chunks of stripes are kept").ring;
            if !self.leaving.contains_key(chunk) {
                self.tainted.remove(&(ring, *chunk));
            }
        }
        self.stripes.remove(&id);
    }

    pub(crate) fn stripe_bytes(&self, id: SealId) -> u64 {
        let stripe = &self.stripes[&id];
        let slots = |chunk| (0..self.chunks[chunk].members.len() as u16).map(|slot| (*chunk, slot));
        let objects = stripe.chunks.iter().flat_map(slots);
        let objects = objects.map(|(chunk, slot)| ItemName::Object { chunk, slot });
        let parities =
            (0..stripe.parity.len() as u8).map(|strip| ItemName::Parity { stripe: id, strip });
        objects.chain(parities).map(|name| self.item_bytes(name)).sum()
    }

    /// Of its server's memory, about.
    pub(crate) fn item_bytes(&self, name: ItemName) -> u64 {
        let len = match name {
            ItemName::Object { chunk, slot } => {
                u64::from(self.chunks[&chunk].members[usize::from(slot)].len)
            }
            ItemName::Strip { value, .. } => self.bulks[&value].strip_len(self.code.k()).into(),
            ItemName::Parity { stripe, .. } => {
                let counts =
                    self.stripes[&stripe].chunks.iter().map(|id| self.chunks[id].members.len());
                u64::from(crate::chunk::CHUNK_LEN) + LABEL_LEN * counts.sum::<usize>() as u64
            }
        };
        ITEM_OVERHEAD + len
    }
}
