use crate::{
    FetchEnd, MemoryTier, ServerId, TierAction, TierAnswer, TierEvent, TierTask,
    task::{Deed, Fetching, Held, Reading, WaitingWrite, Wound},
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

impl MemoryTier {
    /// Takes what happened and says what is to be done. Answers of tasks that are not known any
    /// more are ignored.
    pub fn handle(&mut self, now: Timestamp, event: TierEvent, actions: &mut Vec<TierAction>) {
        self.now = self.now.max(now);
        self.expire(actions);
        match event {
            TierEvent::ReadArrived { ticket, key } => self.read_arrived(ticket, key, actions),
            TierEvent::WriteArrived { ticket, key, write, presence } => {
                self.write_arrived(key, WaitingWrite { ticket, write, presence }, actions);
            }
            TierEvent::ItemStored(task) | TierEvent::ItemDeleted(task) => {
                self.errand_done(task, actions);
            }
            TierEvent::StoreFailed(task) | TierEvent::DeleteFailed(task) => {
                self.errand_failed(task, actions);
            }
            TierEvent::FetchEnded(task, end) => self.fetch_ended(task, end, actions),
            TierEvent::ServerAnswered(server) => self.server_answered(server, actions),
            TierEvent::ServerSilent(server) => self.server_silent(server, actions),
            TierEvent::ServerLost(server) => self.lose(server, actions),
            TierEvent::ServerReturned(server) => {
                self.down.remove(&server);
                self.look_at_scars();
            }
            TierEvent::ServerAdded { ring, server } => {
                self.server_added(ring, server);
                self.look_at_scars();
            }
            TierEvent::ServerLeaves(server) => self.server_leaves(server),
            TierEvent::FlushArrived { ticket } => self.flush_arrived(ticket),
            TierEvent::RepairAsked => self.look_at_scars(),
            TierEvent::TimePassed => {}
        }
        self.settle(actions);
    }

    /// What is to be done without anything happening.
    pub(crate) fn settle(&mut self, actions: &mut Vec<TierAction>) {
        self.seal(actions);
        self.clean(actions);
        self.go_on(actions);
        self.mend(actions);
        self.shift(actions);
        self.flush(actions);
        self.probe(actions);
    }

    fn fetch_ended(&mut self, task: TierTask, end: FetchEnd, actions: &mut Vec<TierAction>) {
        let fetching = self.fetches.remove(&task);
        let moving = self.errands.get(&task).is_some_and(|it| matches!(it.deed, Deed::Move { .. }));
        if fetching.is_none() && !moving {
            return;
        }
        match end {
            FetchEnd::Missing { server, name } => {
                self.server_answered(server, actions);
                if self.expects(server, name) {
                    // It restarted.
                    self.lose(server, actions);
                }
            }
            FetchEnd::Damaged { server, name } => {
                self.server_answered(server, actions);
                self.forget_item(server, name, actions);
            }
            FetchEnd::Done | FetchEnd::Silent { .. } => {}
        }
        let Some(fetching) = fetching else {
            // Its server may be lost by now, and it with it.
            if let Some(errand) = self.errands.remove(&task) {
                self.move_failed(&errand, end, actions);
            }
            return;
        };
        match end {
            FetchEnd::Done => self.fetched(fetching, actions),
            FetchEnd::Missing { .. } | FetchEnd::Damaged { .. } => {
                self.fetch_otherwise(fetching, actions);
            }
            FetchEnd::Silent { server } => self.fetch_later(fetching, server, actions),
        }
    }

    fn fetched(&mut self, fetching: Fetching, actions: &mut Vec<TierAction>) {
        match fetching {
            Fetching::Read { reading, version, from } => {
                if let Some(server) = from {
                    self.server_answered(server, actions);
                }
                self.end_read(reading.ticket, TierAnswer::Value(version), actions);
            }
            Fetching::Seal(stripe) => self.encoded(stripe, actions),
            Fetching::Rewrite(rewrite) => self.rewrite(rewrite, actions),
            Fetching::Mend(mend) => self.store_mend(mend, actions),
            Fetching::Parity(stripe) => self.parity_again(stripe, actions),
        }
    }

    /// An item is not where it was: at once in another way.
    fn fetch_otherwise(&mut self, fetching: Fetching, actions: &mut Vec<TierAction>) {
        match fetching {
            Fetching::Read { reading, .. } => self.start_read(reading, actions),
            Fetching::Seal(stripe) => self.encode(stripe, actions),
            Fetching::Rewrite(rewrite) => self.run_line(rewrite.key, actions),
            Fetching::Mend(mend) => self.fetch_mend(mend, actions),
            Fetching::Parity(stripe) => {
                self.parity_failed(stripe, actions);
                self.wounds.insert(Wound::Stripe(stripe));
            }
        }
    }

    fn fetch_later(&mut self, fetching: Fetching, server: ServerId, actions: &mut Vec<TierAction>) {
        match fetching {
            Fetching::Read { reading, .. } => {
                let reading = Reading { tries: reading.tries + 1, ..reading };
                self.read_again(reading, server, actions);
            }
            Fetching::Seal(stripe) => self.hold(server, Held::Encode(stripe), actions),
            Fetching::Rewrite(rewrite) => self.hold(server, Held::Turn(rewrite.key), actions),
            Fetching::Mend(mend) => self.hold(server, Held::Mend(mend), actions),
            Fetching::Parity(stripe) => {
                self.parity_failed(stripe, actions);
                if self.is_gone(server) {
                    self.wounds.insert(Wound::Stripe(stripe));
                } else {
                    self.suspect(server);
                }
            }
        }
    }
}
