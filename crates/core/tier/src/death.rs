//! How a key loses its value without a new one.
//!
//! Items of older values stay on the servers until their stripe is cleaned. So that none of them
//! is taken for the key's value when the index is made again from the servers, the last item of a
//! key without a value, its *grave*, says that it has none: it is a tombstone, or has expired. A
//! grave may go when no chunk older than it has anything dead any more.

use crate::{
    ChunkId, ItemName, KeyHash, MemoryTier, SealId, ServerId, TierAction,
    chunk::{BULK, HOLE, LOST},
    index::Location,
    ring::ring_of,
    task::{Append, Origin, Turn, Wound},
};
use alloc::vec::Vec;

impl MemoryTier {
    /// What the key had is dead from now on.
    pub(crate) fn unindex(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        let value = self.index.get(key);
        self.index.remove(key);
        if let Some(expires) = self.expiries.remove(&key) {
            self.due.remove(&(expires, key));
        }
        if let Some(location) = value {
            self.kill(location, actions);
        }
        if let Some(location) = self.graves.remove(&key) {
            self.kill_grave(location, actions);
        }
    }

    pub(crate) fn kill(&mut self, location: Location, actions: &mut Vec<TierAction>) {
        if location.slot == BULK {
            return self.drop_bulk(location.chunk, actions);
        }
        self.mark_dead(location);
        if self.is_uncoded(location.chunk) {
            self.drop_object(location.chunk, location.slot, actions);
        }
    }

    /// Its bytes are of no use, but its items stay where they are.
    pub(crate) fn mark_dead(&mut self, location: Location) {
        let Location { chunk: id, slot, .. } = location;
        let chunk = self.chunks.get_mut(&id).expect("the index names chunks that are there");
        chunk.dead += chunk.members[usize::from(slot)].len;
        chunk.corpses += 1;
        let (ring, sealed) = (chunk.ring, chunk.sealed);
        if chunk.corpses == 1 {
            self.tainted.insert((ring, id));
        }
        if let Some((stripe, _)) = sealed {
            self.consider_cleaning(stripe);
        }
    }

    /// Whether no parity covers the chunk, nor will cover what it has now.
    fn is_uncoded(&self, id: ChunkId) -> bool {
        let chunk = &self.chunks[&id];
        self.code.parity() == 0 || chunk.sealed.is_none() && !chunk.is_sealing
    }

    /// Nothing needs the object: zeros take its place.
    fn drop_object(&mut self, id: ChunkId, slot: u16, actions: &mut Vec<TierAction>) {
        let chunk = self.chunks.get_mut(&id).expect("it has the object");
        let ring = chunk.ring;
        let member = &mut chunk.members[usize::from(slot)];
        let own = core::mem::replace(&mut member.server, HOLE);
        chunk.dead -= member.len;
        chunk.corpses -= 1;
        chunk.gone += member.len;
        chunk.gone_count += 1;
        let (sealed, is_clean) = (chunk.sealed, chunk.corpses == 0);
        let own = Some(own).filter(|own| *own != LOST && *own != HOLE);
        let copies = chunk.copies.extract_if(.., |copy| copy.0 == slot);
        let servers: Vec<ServerId> = own.into_iter().chain(copies.map(|copy| copy.1)).collect();
        for server in servers {
            self.delete_of((ring, id), server, ItemName::Object { chunk: id, slot }, actions);
        }
        self.look_at_scar(Wound::Chunk(id));
        if is_clean && !self.leaving.contains_key(&id) {
            self.tainted.remove(&(ring, id));
        }
        if let Some((stripe, _)) = sealed {
            self.consider_cleaning(stripe);
        }
    }

    /// What expired was dead already when it became a grave.
    pub(crate) fn kill_grave(&mut self, location: Location, actions: &mut Vec<TierAction>) {
        let Location { chunk: id, slot, .. } = location;
        let Some(chunk) = self.chunks.get(&id).filter(|_| slot != BULK) else {
            return self.drop_bulk(id, actions);
        };
        if chunk.members[usize::from(slot)].is_tombstone {
            self.kill(location, actions);
        } else if self.is_uncoded(id) {
            self.drop_object(id, slot, actions);
        }
    }

    /// Values whose time is over.
    pub(crate) fn expire(&mut self, actions: &mut Vec<TierAction>) {
        while let Some(&(expires, key)) = self.due.first() {
            if expires > self.now {
                return;
            }
            self.due.pop_first();
            self.expiries.remove(&key);
            self.bury(key, actions);
        }
    }

    /// The key has no value any more, and its last item says so.
    pub(crate) fn bury(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        let Some(location) = self.index.get(key) else { return };
        self.index.remove(key);
        let is_coded = location.slot == BULK || !self.is_uncoded(location.chunk);
        if !is_coded && !self.is_haunted(key, location) {
            return self.kill(location, actions);
        }
        if location.slot != BULK {
            // It is a grave as it is.
            self.mark_dead(location);
        }
        self.graves.insert(key, location);
        if location.slot == BULK {
            self.queue(key, Turn::Bury(location), actions);
        }
    }

    /// Whether a grave there is needed: something older may have dead items of its key.
    pub(crate) fn is_haunted(&self, key: KeyHash, grave: Location) -> bool {
        let ring = ring_of(key, self.rings.len());
        let older = (ring, ChunkId(0))..(ring, grave.chunk);
        let beside = self.chunks.get(&grave.chunk).is_some_and(|chunk| {
            let before = &chunk.members[..usize::from(grave.slot)];
            before.iter().any(|member| member.key() == key)
        });
        // All of a batch that is evicted goes: of a key that it has once nothing is older.
        let counts = |it: &&(usize, ChunkId)| {
            self.evicted.binary_search(&it.1).is_err()
                || self.evicted.binary_search(&grave.chunk).is_err()
                || self.evicted_twice.contains(&key)
        };
        beside || self.tainted.range(older).any(|it| counts(&it))
    }

    /// A long value is not kept as a grave: a tombstone takes its place, if one is needed.
    pub(crate) fn begin_burial(
        &mut self,
        key: KeyHash,
        from: Location,
        actions: &mut Vec<TierAction>,
    ) -> bool {
        if self.graves.get(&key) != Some(&from) {
            return false;
        }
        let (origin, version) = (Origin::Burial, self.version());
        let append = Append::tombstone(key, origin, version);
        if self.is_haunted(key, from) && self.append(append, actions) {
            return true;
        }
        self.graves.remove(&key);
        self.kill(from, actions);
        false
    }

    /// Deletes an item of a chunk or a long value, which taints what is newer until it is gone.
    pub(crate) fn delete_of(
        &mut self,
        (ring, id): (usize, ChunkId),
        server: ServerId,
        name: ItemName,
        actions: &mut Vec<TierAction>,
    ) {
        self.keep_of((ring, id));
        self.delete(server, name, actions);
    }

    pub(crate) fn keep_of(&mut self, (ring, id): (usize, ChunkId)) {
        self.leaving.entry(id).or_insert((ring, 0)).1 += 1;
        self.tainted.insert((ring, id));
    }

    /// An item is on its way to a server: nothing of its chunk counts as gone until it is over.
    pub(crate) fn keep(&mut self, name: ItemName) {
        match name {
            ItemName::Object { chunk, .. } => self.keep_of((self.chunks[&chunk].ring, chunk)),
            ItemName::Strip { value, .. } => {
                self.keep_of((ring_of(self.bulks[&value].key, self.rings.len()), value));
            }
            ItemName::Parity { .. } => {}
        }
    }

    pub(crate) fn item_deleted(&mut self, name: ItemName) {
        match name {
            ItemName::Object { chunk: id, .. } | ItemName::Strip { value: id, .. } => {
                self.left_one(id);
            }
            ItemName::Parity { stripe, .. } => self.parity_left(stripe),
        }
    }

    /// A stripe's parity is being deleted, which says what the stripe had: until it is gone, so
    /// do its chunks count as not gone.
    pub(crate) fn part(&mut self, stripe: SealId, chunks: Vec<(usize, ChunkId)>, parities: usize) {
        if parities > 0 {
            for chunk in &chunks {
                self.keep_of(*chunk);
            }
            self.parting.insert(stripe, (chunks, parities));
        }
    }

    fn parity_left(&mut self, stripe: SealId) {
        let Some((_, count)) = self.parting.get_mut(&stripe) else { return };
        *count -= 1;
        if *count == 0
            && let Some((chunks, _)) = self.parting.remove(&stripe)
        {
            for (_, chunk) in chunks {
                self.left_one(chunk);
            }
        }
    }

    fn left_one(&mut self, id: ChunkId) {
        let Some((ring, count)) = self.leaving.get_mut(&id) else { return };
        let ring = *ring;
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.leaving.remove(&id);
        if self.chunks.get(&id).is_none_or(|chunk| chunk.corpses == 0) {
            self.tainted.remove(&(ring, id));
        }
    }
}
