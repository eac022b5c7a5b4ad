use crate::{
    FetchEnd, ItemName, MemoryTier, ServerId, TIER_TRIES_MAX, TierAction, TierAnswer, TierEvent,
    TierTask,
    chunk::LOST,
    state::{Fetching, Put, WaitingWrite},
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

impl MemoryTier {
    /// Takes what happened and says what is to be done. Answers of tasks that are not known any
    /// more are ignored.
    pub fn handle(&mut self, _now: Timestamp, event: TierEvent, actions: &mut Vec<TierAction>) {
        match event {
            TierEvent::ReadArrived { ticket, key } => self.read_arrived(ticket, key, actions),
            TierEvent::WriteArrived { ticket, key, write, presence } => {
                self.write_arrived(key, WaitingWrite { ticket, write, presence }, actions);
            }
            TierEvent::ItemStored(task) => {
                if let Some(put) = self.puts.remove(&task) {
                    self.silences.remove(&put.server);
                    self.put_ended(put, actions);
                }
            }
            TierEvent::StoreFailed(task) => self.store_failed(task, actions),
            TierEvent::FetchEnded(task, end) => self.fetch_ended(task, end, actions),
            TierEvent::ServerLost(server) => self.lose(server, actions),
            TierEvent::ServerReturned(server) => {
                self.down.remove(&server);
            }
        }
        self.seal(actions);
    }

    fn put_ended(&mut self, put: Put, actions: &mut Vec<TierAction>) {
        match put.name {
            ItemName::Object { chunk, slot } => self.object_put_ended(chunk, slot, actions),
            ItemName::Parity { stripe, strip } => self.parity_put_ended(stripe, strip, actions),
        }
    }

    fn store_failed(&mut self, task: TierTask, actions: &mut Vec<TierAction>) {
        let Some(put) = self.puts.get(&task).copied() else { return };
        if put.tries + 1 >= TIER_TRIES_MAX {
            // Ends this put with the others at that server.
            return self.lose(put.server, actions);
        }
        self.puts.remove(&task);
        self.store(Put { tries: put.tries + 1, ..put }, actions);
    }

    fn fetch_ended(&mut self, task: TierTask, end: FetchEnd, actions: &mut Vec<TierAction>) {
        let Some(fetching) = self.fetches.remove(&task) else { return };
        if let Some(server) = self.blamed(end) {
            self.lose(server, actions);
        }
        match (fetching, end) {
            (Fetching::Read { ticket, version, from, .. }, FetchEnd::Done) => {
                if let Some(server) = from {
                    self.silences.remove(&server);
                }
                self.end_read(ticket, TierAnswer::Value(version), actions);
            }
            (Fetching::Seal(stripe), FetchEnd::Done) => self.encoded(stripe, actions),
            (
                Fetching::Read { ticket, key, .. },
                FetchEnd::Missing { .. } | FetchEnd::Silent { .. },
            ) => self.start_read(ticket, key, actions),
            (Fetching::Seal(stripe), FetchEnd::Missing { .. } | FetchEnd::Silent { .. }) => {
                self.encode(stripe, actions);
            }
        }
    }

    /// What the server had is an erasure from now on, and what is on its way there is lost.
    fn lose(&mut self, server: ServerId, actions: &mut Vec<TierAction>) {
        if !self.down.insert(server) {
            return;
        }
        self.silences.remove(&server);
        for chunk in self.chunks.values_mut() {
            let lost = chunk.members.iter_mut().filter(|member| member.server == server);
            lost.for_each(|member| member.server = LOST);
            chunk.copies.retain(|copy| copy.1 != server);
        }
        for stripe in self.stripes.values_mut() {
            let lost = stripe.parity.iter_mut().filter(|parity| **parity == server);
            lost.for_each(|parity| *parity = LOST);
        }
        actions.push(TierAction::Expel(server));
        let there = self.puts.iter().filter(|(_, put)| put.server == server);
        let there: Vec<TierTask> = there.map(|(task, _)| *task).collect();
        for put in there.into_iter().filter_map(|task| self.puts.remove(&task)).collect::<Vec<_>>()
        {
            self.put_ended(put, actions);
        }
    }
}
