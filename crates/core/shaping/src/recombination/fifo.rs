//! First come, first served: one queue as far as anybody can tell.

use super::{
    FlowId, Terms,
    backlog::{Backlog, Waiting},
    heap::Heap,
    order::{Exit, Order},
};
use ripstop_model::Timestamp;

#[derive(Clone, Default, Debug)]
pub(super) struct Fifo {
    /// Flows by the arrival of their heads.
    heads: Heap<u64>,
}

impl Fifo {
    fn place(&mut self, backlog: &Backlog, flow: FlowId) {
        match backlog.head(flow) {
            Some(seat) => self.heads.set(flow, backlog.waiting(seat).sequence),
            None => _ = self.heads.remove(flow),
        }
    }
}

impl Order for Fifo {
    fn joined(&mut self, _: Timestamp, backlog: &Backlog, seat: u32) {
        self.place(backlog, backlog.waiting(seat).flow);
    }

    fn choose(&mut self, _: Timestamp, backlog: &Backlog) -> Option<u32> {
        self.heads.first().and_then(|(_, flow)| backlog.head(flow))
    }

    fn left(&mut self, _: Timestamp, backlog: &Backlog, _: u32, left: &Waiting, _: Exit) {
        self.place(backlog, left.flow);
    }

    fn terms_changed(&mut self, _: Timestamp, _: &Backlog, _: FlowId, _: Option<&Terms>) {}
}
