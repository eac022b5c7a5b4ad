//! Items that are being stored or deleted. An errand ends when its server acknowledges it or is
//! lost, and not before: so no delete of an item can overtake its store.

use crate::{
    ItemLabel, ItemName, ItemSource, MemoryTier, ServerId, TIER_TRIES_MAX, TierAction, TierTask,
    task::{Deed, Errand, Held},
};
use alloc::vec::Vec;

impl MemoryTier {
    pub(crate) fn store(
        &mut self,
        server: ServerId,
        name: ItemName,
        (source, label): (ItemSource, Option<ItemLabel>),
        actions: &mut Vec<TierAction>,
    ) {
        self.put(server, name, Deed::Store { source, label }, actions);
    }

    pub(crate) fn put(
        &mut self,
        server: ServerId,
        name: ItemName,
        deed: Deed,
        actions: &mut Vec<TierAction>,
    ) {
        let bytes = self.item_bytes(name);
        if !self.down.contains(&server) {
            self.stored += bytes;
            *self.ledger.entry(server).or_default() += bytes;
        }
        self.run_errand(Errand { server, name, deed, tries: 0, bytes }, actions);
    }

    pub(crate) fn delete(
        &mut self,
        server: ServerId,
        name: ItemName,
        actions: &mut Vec<TierAction>,
    ) {
        self.discard(server, name, self.item_bytes(name), actions);
    }

    /// Deletes an item of what may be gone already.
    pub(crate) fn discard(
        &mut self,
        server: ServerId,
        name: ItemName,
        bytes: u64,
        actions: &mut Vec<TierAction>,
    ) {
        self.deleting += bytes;
        self.run_errand(Errand { server, name, deed: Deed::Delete, tries: 0, bytes }, actions);
    }

    /// Also when an earlier try failed.
    pub(crate) fn run_errand(&mut self, errand: Errand, actions: &mut Vec<TierAction>) {
        if self.down.contains(&errand.server) {
            return self.errand_ended(errand, actions);
        }
        let task = self.task();
        self.errands.insert(task, errand);
        let Errand { server, name, deed, .. } = errand;
        actions.push(match deed {
            Deed::Store { source, label } | Deed::Mend { source, label, .. } => {
                TierAction::Store { task, server, name, source, label }
            }
            Deed::Move { from } => TierAction::Copy { task, from, to: server, name },
            Deed::Delete => TierAction::Delete { task, server, name },
        });
    }

    pub(crate) fn errand_done(&mut self, task: TierTask, actions: &mut Vec<TierAction>) {
        let Some(errand) = self.errands.remove(&task) else { return };
        self.server_answered(errand.server, actions);
        self.errand_ended(errand, actions);
    }

    pub(crate) fn errand_failed(&mut self, task: TierTask, actions: &mut Vec<TierAction>) {
        let Some(mut errand) = self.errands.remove(&task) else { return };
        errand.tries += 1;
        let server = errand.server;
        // A server that answers probes and never this is of no use.
        let is_useless = errand.tries >= TIER_TRIES_MAX;
        self.hold(server, Held::Errand(errand), actions);
        if is_useless {
            self.lose(server, actions);
        }
    }

    /// The item is stored or deleted, or its server is lost.
    pub(crate) fn errand_ended(&mut self, errand: Errand, actions: &mut Vec<TierAction>) {
        match (errand.deed, errand.name) {
            (Deed::Mend { mend, .. }, _) => self.mend_ended(&errand, mend, actions),
            (Deed::Move { from }, _) => self.move_ended(&errand, from, actions),
            (Deed::Store { .. }, ItemName::Object { chunk, slot }) => {
                self.object_put_ended(chunk, slot, actions);
            }
            (Deed::Store { .. }, ItemName::Strip { value, .. }) => {
                self.object_put_ended(value, crate::chunk::BULK, actions);
            }
            (Deed::Store { .. }, ItemName::Parity { stripe, strip }) => {
                self.parity_put_ended(stripe, strip, actions);
            }
            (Deed::Delete, name) => {
                self.deleting -= errand.bytes;
                if let Some(bytes) = self.ledger.get_mut(&errand.server) {
                    *bytes -= errand.bytes;
                    self.stored -= errand.bytes;
                }
                self.item_deleted(name);
            }
        }
    }
}
