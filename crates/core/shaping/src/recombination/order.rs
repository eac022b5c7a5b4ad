use super::{
    Discipline, FlowId, Terms,
    backlog::{Backlog, Waiting},
    fair::Fair,
    fifo::Fifo,
    miser::Miser,
    pclock::PClock,
    split::Split,
};
use ripstop_model::Timestamp;

/// Why a request left its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    Served,
    Withdrawn,
}

/// What a discipline decides and is told. The backlog it sees is that after what happened; time does
/// not run backwards.
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

/// The orders there are.
#[derive(Clone, Debug)]
pub(super) enum AnyOrder {
    Fifo(Fifo),
    Split(Split),
    Fair(Fair),
    PClock(PClock),
    Miser(Miser),
}

impl AnyOrder {
    /// The discipline's order, ignorant of any flow.
    pub(super) fn new(discipline: Discipline) -> Self {
        match discipline {
            Discipline::Fifo => Self::Fifo(Fifo::default()),
            Discipline::Split => Self::Split(Split::default()),
            Discipline::Fair => Self::Fair(Fair::default()),
            Discipline::PClock => Self::PClock(PClock::default()),
            Discipline::Miser { rate_min, servers } => Self::Miser(Miser::new(rate_min, servers)),
        }
    }

    pub(super) fn get(&self) -> &dyn Order {
        match self {
            Self::Fifo(order) => order,
            Self::Split(order) => order,
            Self::Fair(order) => order,
            Self::PClock(order) => order,
            Self::Miser(order) => order,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn Order {
        match self {
            Self::Fifo(order) => order,
            Self::Split(order) => order,
            Self::Fair(order) => order,
            Self::PClock(order) => order,
            Self::Miser(order) => order,
        }
    }
}
