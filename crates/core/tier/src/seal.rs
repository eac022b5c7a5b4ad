use crate::{
    ChunkId, Fragment, ItemLabel, ItemName, ItemSource, KeyHash, MemoryTier, SealId, ServerId,
    TIER_SEALS_MAX, TierAction, TierTask,
    chunk::{CHUNK_LEN, HOLE, LOST},
    index::Location,
    state::{Filling, Sealing, Stripe},
    task::{Fetching, NONE_AVOIDED, Weight, Wound},
};
use alloc::vec::Vec;
use core::cmp::Reverse;

impl MemoryTier {
    /// Makes stripes of full chunks, as many as there are.
    pub(crate) fn seal(&mut self, actions: &mut Vec<TierAction>) {
        let has_full = |filling: &&Filling| !filling.full.is_empty();
        while self.sealing.len() < TIER_SEALS_MAX
            && self.fillings.iter().filter(has_full).count() >= self.code.k()
        {
            let is_ready = |ring: &usize| {
                let first = self.fillings[*ring].full.front();
                first.is_some_and(|id| self.chunks[id].pending == 0)
            };
            let mut ready: Vec<usize> = (0..self.rings.len()).filter(is_ready).collect();
            if ready.len() < self.code.k() {
                return;
            }
            // Those that wait longest, then those that have the most parity.
            ready.sort_by_key(|&ring| {
                let filling = &self.fillings[ring];
                Reverse((filling.full.len(), filling.parities))
            });
            ready.truncate(self.code.k());
            ready.sort_unstable();
            self.begin_seal(&ready, actions);
        }
    }

    fn begin_seal(&mut self, data: &[usize], actions: &mut Vec<TierAction>) {
        let id = SealId(self.next_stripe);
        self.next_stripe += 1;
        let parity_rings: Vec<usize> =
            (0..self.rings.len()).filter(|ring| !data.contains(ring)).collect();
        let mut take = |&ring: &usize| self.fillings[ring].full.pop_front().expect("it is ready");
        let chunks: Vec<ChunkId> = data.iter().map(&mut take).collect();
        for chunk in &chunks {
            self.chunks.get_mut(chunk).expect("it is full").is_sealing = true;
        }
        for &ring in &parity_rings {
            let filling = &mut self.fillings[ring];
            filling.parities += 1;
        }
        self.stripes.insert(id, Stripe { chunks, parity: Vec::new(), weight: Weight::default() });
        self.sealing.insert(id, Sealing { parity_rings, waiting: 0 });
        self.encode(id, actions);
    }

    /// Also when an earlier try failed.
    pub(crate) fn encode(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        let chunks = self.stripes[&stripe].chunks.clone();
        let mut fragments: Vec<Fragment> = Vec::new();
        for (strip, id) in (0u8..).zip(chunks) {
            self.dig_holes(id, actions);
            let all = (0, CHUNK_LEN);
            let all = self.chunks[&id].overlapping((id, strip), all, &NONE_AVOIDED);
            fragments.extend(all.expect("what has no source is a hole"));
        }
        let task = self.task();
        self.fetches.insert(task, Fetching::Seal(stripe));
        actions.push(self.encode_action(task, stripe, fragments));
    }

    pub(crate) fn encode_action(
        &self,
        task: TierTask,
        stripe: SealId,
        fragments: Vec<Fragment>,
    ) -> TierAction {
        let chunks = self.stripes[&stripe].chunks.clone();
        let labels = chunks.iter().flat_map(|id| self.labels(*id)).collect();
        TierAction::Encode { task, stripe, chunks, fragments, labels }
    }

    /// What a chunk's objects say of themselves.
    fn labels(&self, id: ChunkId) -> impl Iterator<Item = ItemLabel> {
        let chunk = &self.chunks[&id];
        let is_there = |slot: &u16| chunk.members[usize::from(*slot)].server != HOLE;
        let slots = (0..chunk.members.len() as u16).filter(is_there);
        slots.map(move |slot| self.object_label(id, slot))
    }

    /// What an object says of itself. Of a key that has no value any more the last one is a
    /// tombstone.
    pub(crate) fn object_label(&self, id: ChunkId, slot: u16) -> ItemLabel {
        let chunk = &self.chunks[&id];
        let key = chunk.members[usize::from(slot)].key();
        let is_here = |it: &Location| it.chunk == id && it.slot == slot;
        let is_value = self.index.get(key).is_some_and(|it| is_here(&it));
        let expires = self.expiries.get(&key).copied().filter(|_| is_value);
        let label = chunk.label(id, slot, expires);
        let is_grave = self.graves.get(&key).is_some_and(is_here);
        ItemLabel { is_tombstone: label.is_tombstone || is_grave, ..label }
    }

    /// What is lost before it is encoded is gone: zeros take its place, so that its neighbours are
    /// protected.
    fn dig_holes(&mut self, id: ChunkId, actions: &mut Vec<TierAction>) {
        for slot in 0..self.chunks[&id].members.len() as u16 {
            let chunk = self.chunks.get_mut(&id).expect("it is being sealed");
            let is_hole = chunk.members[usize::from(slot)].server == HOLE;
            if !is_hole && chunk.source(slot, &NONE_AVOIDED).is_none() {
                let member = &mut chunk.members[usize::from(slot)];
                member.server = HOLE;
                let key = member.key();
                let lost = self.index.get(key).filter(|it| it.chunk == id && it.slot == slot);
                if lost.is_some() {
                    self.unindex(key, actions);
                }
            }
        }
    }

    pub(crate) fn encoded(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        let rings = self.sealing[&stripe].parity_rings.clone();
        let place = |ring: &usize| self.parity_server(stripe, *ring);
        let servers: Vec<Option<ServerId>> = rings.iter().map(place).collect();
        let parity = servers.iter().map(|server| server.unwrap_or(LOST)).collect();
        self.stripes.get_mut(&stripe).expect("it is being sealed").parity = parity;
        let waiting = servers.iter().flatten().count() as u16;
        self.sealing.get_mut(&stripe).expect("it is being sealed").waiting = waiting;
        for (strip, server) in (self.code.k() as u8..).zip(servers) {
            if let Some(server) = server {
                self.store_parity(stripe, strip, server, actions);
            }
        }
        self.end_seal(stripe, actions);
    }

    pub(crate) fn parity_server(&self, stripe: SealId, ring: usize) -> Option<ServerId> {
        self.rings[ring].server(parity_place(stripe), &self.down)
    }

    fn store_parity(
        &mut self,
        stripe: SealId,
        strip: u8,
        server: ServerId,
        actions: &mut Vec<TierAction>,
    ) {
        let name = ItemName::Parity { stripe, strip };
        self.store(server, name, (ItemSource::Parity(stripe), None), actions);
    }

    pub(crate) fn parity_put_ended(
        &mut self,
        stripe: SealId,
        strip: u8,
        actions: &mut Vec<TierAction>,
    ) {
        let at = usize::from(strip) - self.code.k();
        let is_lost = self.stripes[&stripe].parity[at] == LOST;
        let sealing = &self.sealing[&stripe];
        let again = self.parity_server(stripe, sealing.parity_rings[at]).filter(|_| is_lost);
        if let Some(server) = again {
            self.stripes.get_mut(&stripe).expect("it is being sealed").parity[at] = server;
            return self.store_parity(stripe, strip, server, actions);
        }
        self.sealing.get_mut(&stripe).expect("it is being sealed").waiting -= 1;
        self.end_seal(stripe, actions);
    }

    /// Once all parity is acknowledged the copies go, except those of which there is nothing else:
    /// parity makes good for lost servers, not for what was lost before.
    fn end_seal(&mut self, stripe: SealId, actions: &mut Vec<TierAction>) {
        if self.sealing[&stripe].waiting > 0 {
            return;
        }
        self.sealing.remove(&stripe);
        let Stripe { chunks, parity, .. } = self.stripes[&stripe].clone();
        if parity.contains(&LOST) {
            self.wounds.insert(Wound::Stripe(stripe));
        }
        let mut leaving = Vec::new();
        for (strip, id) in (0u8..).zip(chunks) {
            let chunk = self.chunks.get_mut(&id).expect("chunks of stripes are kept");
            (chunk.sealed, chunk.is_sealing) = (Some((stripe, strip)), false);
            chunk.members.shrink_to_fit();
            let is_hurt = chunk.members.iter().any(|member| member.server == LOST);
            if is_hurt || self.scars.remove(&Wound::Chunk(id)) {
                self.wounds.insert(Wound::Chunk(id));
            }
            for (slot, server) in chunk.spare_copies() {
                let name = ItemName::Object { chunk: id, slot };
                leaving.push(((chunk.ring, id), server, name));
            }
        }
        self.consider_cleaning(stripe);
        for (of, server, name) in leaving {
            self.delete_of(of, server, name, actions);
        }
        actions.push(TierAction::Forget(stripe));
    }
}

/// Where on each ring a stripe's parity belongs.
pub(crate) const fn parity_place(stripe: SealId) -> KeyHash {
    // Odd, so that stripes one after another are spread over all of the ring.
    KeyHash(stripe.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) as u128)
}
