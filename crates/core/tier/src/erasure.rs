//! What servers should have, and have no more.

use crate::{
    ItemLabel, ItemName, MemoryTier, ServerId, TierAction,
    chunk::LOST,
    ring::ring_of,
    task::{Wound, wound_of},
};
use alloc::vec::Vec;

impl MemoryTier {
    /// Everything that the server had is an erasure.
    pub(crate) fn forget_items_of(&mut self, server: ServerId) {
        for (id, chunk) in self.chunks.iter_mut() {
            let before = chunk.copies.len();
            chunk.copies.retain(|copy| copy.1 != server);
            let mut is_hurt = chunk.copies.len() < before;
            for member in chunk.members.iter_mut().filter(|member| member.server == server) {
                member.server = LOST;
                is_hurt = true;
            }
            if is_hurt {
                self.wounds.insert(Wound::Chunk(id));
            }
        }
        self.stored -= self.ledger.remove(&server).unwrap_or(0);
        for (id, stripe) in self.stripes.iter_mut() {
            for at in stripe.parity.iter_mut().filter(|at| **at == server) {
                *at = LOST;
                self.wounds.insert(Wound::Stripe(id));
            }
        }
        for (&id, bulk) in &mut self.bulks {
            for at in bulk.servers.iter_mut().filter(|at| **at == server) {
                *at = LOST;
                self.wounds.insert(Wound::Value(id));
            }
        }
    }

    /// One item is an erasure, and what there is of it goes.
    pub(crate) fn forget_item(
        &mut self,
        server: ServerId,
        name: ItemName,
        actions: &mut Vec<TierAction>,
    ) {
        if !self.expects(server, name) {
            return;
        }
        self.wounds.insert(wound_of(name));
        match name {
            ItemName::Object { chunk: id, slot } => {
                let chunk = self.chunks.get_mut(&id).expect("it has the item");
                let member = &mut chunk.members[usize::from(slot)];
                if member.server == server {
                    member.server = LOST;
                }
                chunk.copies.retain(|copy| *copy != (slot, server));
                let ring = chunk.ring;
                self.delete_of((ring, id), server, name, actions);
            }
            ItemName::Strip { value, strip } => {
                let bulk = self.bulks.get_mut(&value).expect("it has the item");
                bulk.servers[usize::from(strip)] = LOST;
                let ring = ring_of(bulk.key, self.rings.len());
                self.delete_of((ring, value), server, name, actions);
            }
            ItemName::Parity { stripe, strip } => {
                let at = usize::from(strip) - self.code.k();
                self.stripes.get_mut(&stripe).expect("it has the item").parity[at] = LOST;
                self.delete(server, name, actions);
            }
        }
    }

    /// Whether an object's item would be a copy there: on another ring than its own.
    pub fn is_copy(&self, server: ServerId, label: &ItemLabel) -> bool {
        let own = ring_of(label.key, self.rings.len());
        matches!(label.name, ItemName::Object { .. }) && self.homes.get(&server) != Some(&own)
    }

    /// Whether the item should be where a server says it is not. If not, what was asked for has
    /// moved meanwhile, and the server is innocent.
    pub fn expects(&self, server: ServerId, name: ItemName) -> bool {
        match name {
            ItemName::Object { chunk, slot } => self.chunks.get(&chunk).is_some_and(|chunk| {
                chunk.members[usize::from(slot)].server == server
                    || chunk.copies.contains(&(slot, server))
            }),
            ItemName::Parity { stripe, strip } => self.stripes.get(&stripe).is_some_and(|stripe| {
                stripe.parity.get(usize::from(strip) - self.code.k()) == Some(&server)
            }),
            ItemName::Strip { value, strip } => self
                .bulks
                .get(&value)
                .is_some_and(|bulk| bulk.servers[usize::from(strip)] == server),
        }
    }
}
