use super::{
    FlowId, Terms,
    backlog::{Backlog, Waiting},
};
use ripstop_model::Timestamp;

/// Why a request left its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    Served,
    Withdrawn,
}

/// What a discipline decides and is told. The backlog it sees is that after what happened; time
/// does not run backwards.
pub(super) trait Order {
    /// Whether this flow may queue a request of this cost beyond its queue limit's say.
    fn admits(&self, _: Timestamp, _: &Backlog, _: FlowId, _cost: u64) -> bool {
        true
    }

    /// A request has joined the end of its flow's queue.
    fn joined(&mut self, now: Timestamp, backlog: &Backlog, seat: u32);

    /// The seat to serve next: some if anything waits, and the head of its flow.
    fn choose(&mut self, now: Timestamp, backlog: &Backlog) -> Option<u32>;

    /// A request has left its seat.
    fn left(&mut self, now: Timestamp, backlog: &Backlog, seat: u32, left: &Waiting, exit: Exit);

    /// A request of this flow has left its server.
    fn ended(&mut self, _: Timestamp, _: &Backlog, _: FlowId) {}

    /// A flow is new (no `old` terms) or has other terms.
    fn terms_changed(
        &mut self,
        now: Timestamp,
        backlog: &Backlog,
        flow: FlowId,
        old: Option<&Terms>,
    );
}
