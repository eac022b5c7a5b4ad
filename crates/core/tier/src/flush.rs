//! How everything goes at once. Writes wait until those that are under way are over; then all
//! items are deleted, and when the last one is gone it is answered: nothing of before comes back,
//! not even to an index that is made again from the servers.

use crate::{
    ItemName, MemoryTier, ServerId, TierAction, TierAnswer, TierTicket,
    chunk::{HOLE, LOST},
    index::KeyIndex,
    state::Filling,
};
use alloc::vec::Vec;

impl MemoryTier {
    pub(crate) fn flush_arrived(&mut self, ticket: TierTicket) {
        self.flushes.push(ticket);
    }

    /// Whether somebody waits until everything is gone.
    pub const fn is_flushing(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// Begins when nothing is being written, and ends when all is deleted.
    pub(crate) fn flush(&mut self, actions: &mut Vec<TierAction>) {
        let is_quiet = self.appending.is_empty()
            && self.sealing.is_empty()
            && self.cleanings.is_empty()
            && self.mends.is_empty()
            && self.reparities.is_empty();
        if self.flushes.is_empty() || !is_quiet {
            return;
        }
        self.drop_everything(actions);
        if self.deleting > 0 {
            return;
        }
        for ticket in core::mem::take(&mut self.flushes) {
            actions.push(TierAction::Answer(ticket, TierAnswer::Flushed));
        }
        self.go_on(actions);
    }

    fn drop_everything(&mut self, actions: &mut Vec<TierAction>) {
        self.index = KeyIndex::new();
        self.graves.clear();
        self.expiries.clear();
        self.due.clear();
        self.wounds.clear();
        self.scars.clear();
        for stripe in self.stripes.keys().collect::<Vec<_>>() {
            self.drop_stripe(stripe, actions);
        }
        for filling in &mut self.fillings {
            let parities = filling.parities;
            *filling = Filling { parities, ..Filling::default() };
        }
        for id in self.chunks.keys().collect::<Vec<_>>() {
            let ring = self.chunks[&id].ring;
            for (slot, server) in self.holders(id) {
                self.delete_of((ring, id), server, ItemName::Object { chunk: id, slot }, actions);
            }
            self.chunks.remove(&id);
            if !self.leaving.contains_key(&id) {
                self.tainted.remove(&(ring, id));
            }
        }
        for value in self.bulks.keys().copied().collect::<Vec<_>>() {
            self.drop_bulk(value, actions);
        }
    }

    /// Which servers have items of the chunk.
    pub(crate) fn holders(&self, id: crate::ChunkId) -> Vec<(u16, ServerId)> {
        let chunk = &self.chunks[&id];
        let own = (0u16..).zip(chunk.members.iter().map(|member| member.server));
        let own = own.filter(|(_, server)| *server != LOST && *server != HOLE);
        own.chain(chunk.copies.iter().copied()).collect()
    }
}
