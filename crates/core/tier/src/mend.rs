//! How what is lost is had again. Every item is made again where its ring has it now, from a copy
//! or by decoding just its bytes; parity is encoded again. Dead items too: their bytes are needed
//! to decode their neighbours'.

use crate::{
    ChunkId, Fragment, ItemLabel, ItemName, ItemSource, KeyHash, MemoryTier, ReadPlan, SealId,
    ServerId, TierAction, TierTicket, Version,
    chunk::{BULK, CHUNK_LEN, HOLE, LOST},
    index::Location,
    ring::ring_of,
    task::{Deed, Errand, Fetching, Mend, NONE_AVOIDED, Suspects, Wound, wound_of},
};
use alloc::vec::Vec;

/// Items that are made again or moved at once, at most.
pub const TIER_MENDS_MAX: usize = 64;
/// The same while clients' requests are under way: these come first.
pub const TIER_MENDS_BUSY_MAX: usize = 8;
/// As many of them are many.
const BUSY_AT: usize = 32;
/// First of the tier's own tickets.
const OWN_TICKETS: u64 = 1 << 63;

impl MemoryTier {
    pub(crate) fn own_ticket(&mut self) -> TierTicket {
        self.next_task += 1;
        TierTicket(OWN_TICKETS + self.next_task)
    }

    /// Items that may be made again or moved at once, just now.
    pub(crate) const fn mends_max(&self) -> usize {
        let is_busy = self.reads + self.writes >= BUSY_AT;
        if is_busy { TIER_MENDS_BUSY_MAX } else { TIER_MENDS_MAX }
    }

    /// Mends what can be.
    pub(crate) fn mend(&mut self, actions: &mut Vec<TierAction>) {
        while self.mends.len() < self.mends_max() && self.flushes.is_empty() {
            let Some(wound) = self.wounds.pop_first() else { return };
            let is_left = match wound {
                Wound::Chunk(id) => self.mend_chunk(id, actions),
                Wound::Value(id) => self.mend_value(id, actions),
                Wound::Stripe(id) => self.mend_stripe(id, actions),
            };
            if is_left {
                self.scars.insert(wound);
            }
        }
    }

    /// Chunks, long values and stripes that may lack an item, and are mended or cannot be yet.
    pub fn wounds(&self) -> usize {
        self.wounds.len() + self.scars.len()
    }

    /// Whether something is, or is to be, mended of what can be.
    pub fn is_mending(&self) -> bool {
        !self.wounds.is_empty() || !self.mends.is_empty() || !self.reparities.is_empty()
    }

    /// Something is otherwise than when they could not be mended.
    pub(crate) fn look_at_scars(&mut self) {
        self.wounds.append(&mut self.scars);
        for stripe in core::mem::take(&mut self.uncleaned) {
            if self.stripes.contains_key(&stripe) {
                self.consider_cleaning(stripe);
            }
        }
    }

    /// Whether something is left that cannot be mended now.
    fn mend_chunk(&mut self, id: ChunkId, actions: &mut Vec<TierAction>) -> bool {
        let Some(chunk) = self.chunks.get(&id) else { return false };
        let count = chunk.members.len();
        // What is being written is looked at when that is over.
        let mut is_left = chunk.pending > 0;
        for slot in 0..count as u16 {
            while self.lacks(id, slot) {
                if self.mends.len() >= self.mends_max() {
                    self.wounds.insert(Wound::Chunk(id));
                    return false;
                }
                let name = ItemName::Object { chunk: id, slot };
                let Some(to) = self.new_home(id, slot) else {
                    is_left = true;
                    break;
                };
                if !self.begin_mend(name, to, actions) {
                    is_left = true;
                    break;
                }
            }
        }
        is_left
    }

    fn mends_of(&self, name: ItemName) -> impl Iterator<Item = ServerId> {
        let range = (name, ServerId(0))..=(name, ServerId(u16::MAX));
        self.mends.range(range).map(|mend| mend.1)
    }

    /// Whether the object has fewer items than it should have, those that are on their way
    /// included.
    fn lacks(&self, id: ChunkId, slot: u16) -> bool {
        let chunk = &self.chunks[&id];
        let server = chunk.members[usize::from(slot)].server;
        let is_pending = self.appending.contains_key(&(id, slot));
        if is_pending || server == HOLE {
            return false;
        }
        let coming = self.mends_of(ItemName::Object { chunk: id, slot });
        let has_own = server != LOST;
        if chunk.sealed.is_some() {
            return !has_own && coming.count() == 0;
        }
        let copies = chunk.copies.iter().filter(|copy| copy.0 == slot).count();
        usize::from(has_own) + copies + coming.count() < 1 + self.code.parity()
    }

    /// On its own ring, or on one that has no copy of it.
    fn new_home(&self, id: ChunkId, slot: u16) -> Option<ServerId> {
        let chunk = &self.chunks[&id];
        let member = &chunk.members[usize::from(slot)];
        let key = member.key();
        let coming: Vec<ServerId> = self.mends_of(ItemName::Object { chunk: id, slot }).collect();
        let own = self.rings[chunk.ring].server(key, &self.down);
        if let Some(own) = own.filter(|own| member.server == LOST && !coming.contains(own)) {
            return Some(own);
        }
        if chunk.sealed.is_some() {
            return None;
        }
        let copies = chunk.copies.iter().filter(|copy| copy.0 == slot).map(|copy| copy.1);
        let taken: Vec<usize> = copies.chain(coming).map(|server| self.homes[&server]).collect();
        let count = self.rings.len();
        let others = (1..count).map(|at| (chunk.ring + at) % count);
        let mut others = others.filter(|ring| !taken.contains(ring));
        others.find_map(|ring| self.rings[ring].server(key, &self.down))
    }

    fn mend_value(&mut self, id: ChunkId, actions: &mut Vec<TierAction>) -> bool {
        let Some(bulk) = self.bulks.get(&id) else { return false };
        if self.appending.contains_key(&(id, BULK)) {
            return true;
        }
        let (key, servers) = (bulk.key, bulk.servers.clone());
        let ring = ring_of(key, self.rings.len());
        let mut is_left = false;
        for (strip, _) in (0u8..).zip(servers).filter(|(_, server)| *server == LOST) {
            let name = ItemName::Strip { value: id, strip };
            if self.mends_of(name).next().is_some() {
                continue;
            }
            let at = (ring + usize::from(strip)) % self.rings.len();
            let to = self.rings[at].server(key, &self.down);
            is_left |= to.is_none_or(|to| !self.begin_mend(name, to, actions));
        }
        is_left
    }

    /// Whether its bytes can be had.
    fn begin_mend(&mut self, name: ItemName, to: ServerId, actions: &mut Vec<TierAction>) -> bool {
        let is_possible = self.is_bare(name) || self.plan_mend(name, &NONE_AVOIDED).is_some();
        if is_possible {
            let ticket = self.own_ticket();
            self.mends.insert((name, to));
            self.keep(name);
            self.fetch_mend(Mend { name, to, ticket }, actions);
        }
        is_possible
    }

    /// Nothing is to be fetched for it.
    fn is_bare(&self, name: ItemName) -> bool {
        let ItemName::Object { chunk, slot } = name else { return false };
        self.chunks.get(&chunk).is_some_and(|it| it.members[usize::from(slot)].len == 0)
    }

    fn plan_mend(&self, name: ItemName, avoided: &Suspects) -> Option<ReadPlan> {
        let (chunk, slot) = match name {
            ItemName::Object { chunk, slot } if self.chunks.contains_key(&chunk) => (chunk, slot),
            ItemName::Strip { value, .. } if self.bulks.contains_key(&value) => (value, BULK),
            ItemName::Object { .. } | ItemName::Strip { .. } | ItemName::Parity { .. } => {
                return None;
            }
        };
        // Which version is the same to whoever makes a plan.
        self.plan_read(Location { version: Version(0), chunk, slot }, avoided)
    }

    /// Also when an earlier try failed.
    pub(crate) fn fetch_mend(&mut self, mend: Mend, actions: &mut Vec<TierAction>) {
        if self.is_bare(mend.name) {
            return self.store_mend(mend, actions);
        }
        let plan = self.plan_mend(mend.name, &self.suspects);
        let Some(plan) = plan.or_else(|| self.plan_mend(mend.name, &NONE_AVOIDED)) else {
            return self.give_up(mend, actions);
        };
        let task = self.task();
        self.fetches.insert(task, Fetching::Mend(mend));
        actions.push(TierAction::Fetch { task, ticket: mend.ticket, plan });
    }

    /// Whether there is what the item belongs to.
    fn is_there(&self, name: ItemName) -> bool {
        match name {
            ItemName::Object { chunk, .. } => self.chunks.contains_key(&chunk),
            ItemName::Strip { value, .. } => self.bulks.contains_key(&value),
            ItemName::Parity { stripe, .. } => self.stripes.contains_key(&stripe),
        }
    }

    /// Something of it is gone: it may lack nothing any more.
    pub(crate) fn look_at_scar(&mut self, wound: Wound) {
        if self.scars.remove(&wound) {
            self.wounds.insert(wound);
        }
    }

    /// It is gone, so it lacks nothing.
    pub(crate) fn forget_wound(&mut self, wound: Wound) {
        self.wounds.remove(&wound);
        self.scars.remove(&wound);
    }

    fn give_up(&mut self, mend: Mend, actions: &mut Vec<TierAction>) {
        self.mends.remove(&(mend.name, mend.to));
        self.item_deleted(mend.name);
        self.wounds.insert(wound_of(mend.name));
        actions.push(TierAction::Release(mend.ticket));
    }

    /// Its bytes are there.
    pub(crate) fn store_mend(&mut self, mend: Mend, actions: &mut Vec<TierAction>) {
        let Mend { name, ticket, .. } = mend;
        if !self.is_there(name) {
            return self.give_up(mend, actions);
        }
        let source = match name {
            ItemName::Object { .. } if self.is_bare(name) => ItemSource::Tombstone,
            ItemName::Object { .. } => ItemSource::Write(ticket),
            ItemName::Strip { strip, .. } => ItemSource::Strip { ticket, strip },
            ItemName::Parity { stripe, .. } => ItemSource::Parity(stripe),
        };
        let deed = Deed::Mend { mend, source, label: self.label(name) };
        self.put(mend.to, name, deed, actions);
    }

    /// What an item says of itself.
    fn label(&self, name: ItemName) -> Option<ItemLabel> {
        match name {
            ItemName::Object { chunk, slot } => Some(self.object_label(chunk, slot)),
            ItemName::Strip { value, .. } => {
                let Bulked { key, version, len } = self.bulked(value);
                let expires = self.expiries.get(&key).copied();
                let (offset, is_tombstone) = (0, false);
                Some(ItemLabel { name, key, version, offset, len, expires, is_tombstone })
            }
            ItemName::Parity { .. } => None,
        }
    }

    fn bulked(&self, value: ChunkId) -> Bulked {
        let bulk = &self.bulks[&value];
        Bulked { key: bulk.key, version: bulk.version, len: bulk.len }
    }

    /// It is stored, or its server is lost.
    pub(crate) fn mend_ended(
        &mut self,
        errand: &Errand,
        mend: Mend,
        actions: &mut Vec<TierAction>,
    ) {
        let Mend { name, to, ticket } = mend;
        self.mends.remove(&(name, to));
        if let ItemName::Parity { stripe, .. } = name {
            self.parity_mended(stripe, actions);
        } else {
            actions.push(TierAction::Release(ticket));
        }
        let is_up = !self.down.contains(&to);
        if is_up && !self.take_in(name, to) {
            // It goes with what it belongs to, or is had from elsewhere again.
            return self.discard(to, name, errand.bytes, actions);
        }
        self.item_deleted(name);
        if !is_up {
            self.wounds.insert(wound_of(name));
        } else if let ItemName::Object { chunk, .. } = name {
            self.delete_spare_copies(chunk, actions);
        }
    }

    fn delete_spare_copies(&mut self, id: ChunkId, actions: &mut Vec<TierAction>) {
        let Some(chunk) = self.chunks.get_mut(&id).filter(|chunk| chunk.sealed.is_some()) else {
            return;
        };
        let ring = chunk.ring;
        for (slot, server) in chunk.spare_copies() {
            self.delete_of((ring, id), server, ItemName::Object { chunk: id, slot }, actions);
        }
    }

    /// Whether the item is needed there; it counts from now on.
    fn take_in(&mut self, name: ItemName, server: ServerId) -> bool {
        let ring = self.homes.get(&server).copied();
        let place = match name {
            ItemName::Object { chunk: id, slot } => {
                let Some(chunk) = self.chunks.get_mut(&id) else { return false };
                let is_copy = ring != Some(chunk.ring);
                if is_copy {
                    let is_wanted = chunk.sealed.is_none()
                        && chunk.members[usize::from(slot)].server != HOLE
                        && !chunk.copies.contains(&(slot, server));
                    chunk.copies.extend(is_wanted.then_some((slot, server)));
                    return is_wanted;
                }
                if let Some((stripe, _)) = chunk.sealed {
                    self.wounds.insert(Wound::Stripe(stripe));
                }
                Some(&mut chunk.members[usize::from(slot)].server)
            }
            ItemName::Strip { value, strip } => {
                let bulk = self.bulks.get_mut(&value);
                bulk.map(|bulk| &mut bulk.servers[usize::from(strip)])
            }
            ItemName::Parity { stripe, strip } => {
                let at = usize::from(strip) - self.code.k();
                self.stripes.get_mut(&stripe).and_then(|stripe| stripe.parity.get_mut(at))
            }
        };
        let lost = place.filter(|at| **at == LOST);
        lost.map(|at| *at = server).is_some()
    }

    fn mend_stripe(&mut self, id: SealId, actions: &mut Vec<TierAction>) -> bool {
        let is_busy = self.sealing.contains_key(&id) || self.reparities.contains_key(&id);
        let lost = self.lost_parity(id);
        if is_busy || lost.is_empty() {
            return false;
        }
        let all = self.whole_stripe(id, &self.suspects);
        let all = all.or_else(|| self.whole_stripe(id, &NONE_AVOIDED));
        let Some(fragments) = all.filter(|_| lost.iter().any(|lost| lost.1.is_some())) else {
            return true;
        };
        self.reparities.insert(id, 0);
        let task = self.task();
        self.fetches.insert(task, Fetching::Parity(id));
        actions.push(self.encode_action(task, id, fragments));
        false
    }

    /// Strips of parity that are lost, and where they go.
    fn lost_parity(&self, id: SealId) -> Vec<(u8, Option<ServerId>)> {
        let Some(stripe) = self.stripes.get(&id) else { return Vec::new() };
        let rings = self.parity_rings(id);
        let strips = (self.code.k() as u8..).zip(&stripe.parity).zip(rings);
        let lost = strips.filter(|((_, server), _)| **server == LOST);
        lost.map(|((strip, _), ring)| (strip, self.parity_server(id, ring))).collect()
    }

    /// Rings that none of its chunks is of.
    fn parity_rings(&self, id: SealId) -> Vec<usize> {
        let of_data = self.stripes[&id].chunks.iter().map(|chunk| self.chunks[chunk].ring);
        let of_data: Vec<usize> = of_data.collect();
        (0..self.rings.len()).filter(|ring| !of_data.contains(ring)).collect()
    }

    /// All that its chunks consist of; none if some of it is lost.
    fn whole_stripe(&self, id: SealId, avoided: &Suspects) -> Option<Vec<Fragment>> {
        let mut fragments = Vec::new();
        for (strip, &chunk) in (0u8..).zip(&self.stripes[&id].chunks) {
            let all = (0, CHUNK_LEN);
            fragments.extend(self.chunks[&chunk].overlapping((chunk, strip), all, avoided)?);
        }
        Some(fragments)
    }

    /// It is encoded again.
    pub(crate) fn parity_again(&mut self, id: SealId, actions: &mut Vec<TierAction>) {
        // One more than there are, so that it does not end before all are asked for.
        self.reparities.insert(id, 1);
        for (strip, to) in self.lost_parity(id) {
            let Some(to) = to else {
                self.scars.insert(Wound::Stripe(id));
                continue;
            };
            let (name, ticket) = (ItemName::Parity { stripe: id, strip }, self.own_ticket());
            *self.reparities.get_mut(&id).expect("it was just put there") += 1;
            self.mends.insert((name, to));
            self.store_mend(Mend { name, to, ticket }, actions);
        }
        self.parity_mended(id, actions);
    }

    fn parity_mended(&mut self, id: SealId, actions: &mut Vec<TierAction>) {
        let count = self.reparities.get_mut(&id).expect("its parity is being stored");
        *count -= 1;
        if *count == 0 {
            self.reparities.remove(&id);
            actions.push(TierAction::Forget(id));
        }
    }

    /// It could not be encoded.
    pub(crate) fn parity_failed(&mut self, id: SealId, actions: &mut Vec<TierAction>) {
        self.reparities.remove(&id);
        if self.stripes.contains_key(&id) {
            self.scars.insert(Wound::Stripe(id));
        }
        actions.push(TierAction::Forget(id));
    }
}

struct Bulked {
    key: KeyHash,
    version: Version,
    len: u32,
}
