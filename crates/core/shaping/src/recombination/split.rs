//! Separate servers for each class, the division of the decomposition paper's Fig. 12, except that
//! a server whose owner has nothing to do is lent.
//!
//! A server that falls free goes to the flow with the oldest head among those that use fewer
//! servers than their share; only if none of these waits, to the oldest head of all. So when the
//! shares sum to no more than the servers, a flow below its share waits for at most one service by
//! a borrower per server that it is owed.

use super::{
    FlowId, Terms,
    backlog::{Backlog, Waiting},
    heap::Heap,
    order::{Exit, Order},
};
use ripstop_model::Timestamp;

#[derive(Clone, Default, Debug)]
pub(super) struct Split {
    /// Flows by whether they would borrow, then by the arrival of their heads.
    heads: Heap<(bool, u64)>,
}

impl Split {
    fn place(&mut self, backlog: &Backlog, flow: FlowId) {
        let head = backlog.head(flow).zip(backlog.flow(flow));
        let Some((seat, state)) = head else {
            self.heads.remove(flow);
            return;
        };
        let borrows = state.serving >= state.terms.share;
        self.heads.set(flow, (borrows, backlog.waiting(seat).sequence));
    }
}

impl Order for Split {
    fn joined(&mut self, _: Timestamp, backlog: &Backlog, seat: u32) {
        self.place(backlog, backlog.waiting(seat).flow);
    }

    fn choose(&mut self, _: Timestamp, backlog: &Backlog) -> Option<u32> {
        self.heads.first().and_then(|(_, flow)| backlog.head(flow))
    }

    fn left(&mut self, _: Timestamp, backlog: &Backlog, _: u32, left: &Waiting, _: Exit) {
        self.place(backlog, left.flow);
    }

    fn ended(&mut self, _: Timestamp, backlog: &Backlog, flow: FlowId) {
        self.place(backlog, flow);
    }

    fn terms_changed(&mut self, _: Timestamp, backlog: &Backlog, flow: FlowId, _: Option<&Terms>) {
        self.place(backlog, flow);
    }
}
