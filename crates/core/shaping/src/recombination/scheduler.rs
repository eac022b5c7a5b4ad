use super::{Discipline, FlowId, Terms, any_order::AnyOrder, backlog::Backlog, order::Exit};
use alloc::vec::Vec;
use core::{error::Error, fmt};
use ripstop_model::Timestamp;

/// The request queues of all flows and the discipline that serves them.
///
/// A flow is a class of requests kept apart from the others: a tenant's tier. The scheduler knows
/// neither servers nor their speed: its driver calls [`Scheduler::pop`] when one is free and
/// [`Scheduler::ended`] when it is free again. What holds for every discipline:
/// * work conserving: `pop` answers as long as anything waits;
/// * first in, first out within a flow;
/// * the same calls give the same order: ties go to the first to come;
/// * flows, terms and the discipline change at run time and no queued request is lost;
/// * an operation takes O(log flows) amortised, with [`Discipline::Miser`] O(log requests)
///   expected, and allocates nothing once the queues have been as long as they get. Only a change
///   of the discipline or of a flow's class goes through the queue.
///
/// `now` is the driver's clock; an earlier `now` than before counts as that. Costs are work units
/// of the driver's choice (requests, bytes, lane-nanoseconds), the same everywhere; 0 counts as 1.
/// `T` is whatever the driver knows a request by.
///
/// ```
/// use ripstop_model::Timestamp;
/// use ripstop_shaping::{Discipline, FlowId, Scheduler, Terms};
///
/// let (big, small) = (FlowId(0), FlowId(1));
/// let mut scheduler = Scheduler::new(Discipline::Fair);
/// let now = Timestamp::ZERO;
/// scheduler.set_flow(now, big, Terms { share: 2, ..Terms::new(100) });
/// scheduler.set_flow(now, small, Terms::new(100));
/// for token in ["a", "b", "c", "d"] {
///     scheduler.push(now, big, 1, token).expect("below its limit");
/// }
/// let gone = scheduler.push(now, small, 1, "x").expect("below its limit");
/// scheduler.push(now, small, 1, "y").expect("below its limit");
/// assert_eq!(scheduler.remove(now, gone), Some("x"));
///
/// let mut order = vec![];
/// while let Some(served) = scheduler.pop(now) {
///     order.push(served.token);
///     scheduler.ended(now, served.service);
/// }
/// assert_eq!(order, ["a", "y", "b", "c", "d"]);
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler<T> {
    discipline: Discipline,
    order: AnyOrder,
    backlog: Backlog,
    /// By seat.
    tokens: Vec<(u32, Option<T>)>,
    now: Timestamp,
}

/// A queued request, to withdraw it by. It names no other request later on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket {
    seat: u32,
    generation: u32,
}

/// A request whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served<T> {
    /// What it was pushed with.
    pub token: T,
    /// When it was pushed.
    pub arrived: Timestamp,
    /// What [`Scheduler::ended`] wants back.
    pub service: ServedRequest,
}

/// A server's work on one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServedRequest {
    /// The flow of the request.
    pub flow: FlowId,
    /// Its cost in work units.
    pub cost: u64,
}

/// A request that was not queued, handed back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declined<T> {
    /// What it was pushed with.
    pub token: T,
    /// Why it was not queued.
    pub reason: DeclineReason,
}

/// Why a request was not queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeclineReason {
    /// No such flow, or it has been retired.
    UnknownFlow(FlowId),
    /// As many requests of the flow wait as may.
    QueueFull {
        /// The flow's limit.
        waiting_max: u32,
    },
    /// It, or an accepted request due later, could be late: a case for a flow without a bound.
    NoSlack,
}

impl fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFlow(flow) => write!(f, "there is no flow {}", flow.0),
            Self::QueueFull { waiting_max } => write!(f, "{waiting_max} requests of the flow wait"),
            Self::NoSlack => f.write_str("a primary request could be late"),
        }
    }
}

impl<T> fmt::Display for Declined<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T: fmt::Debug> Error for Declined<T> {}

impl<T> Scheduler<T> {
    /// A scheduler without flows.
    pub fn new(discipline: Discipline) -> Self {
        Self {
            discipline,
            order: AnyOrder::new(discipline),
            backlog: Backlog::default(),
            tokens: Vec::new(),
            now: Timestamp::ZERO,
        }
    }

    /// How flows share the servers.
    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// Changes the discipline. Queues and tickets stay; what the old discipline remembered of past
    /// service is forgotten, and nothing happens if it is the same. O(requests · log requests).
    pub fn set_discipline(&mut self, now: Timestamp, discipline: Discipline) {
        let now = self.advance(now);
        if discipline == self.discipline {
            return;
        }
        self.discipline = discipline;
        self.order = AnyOrder::new(discipline);
        let order = self.order.get_mut();
        for flow in self.backlog.flows() {
            order.terms_changed(now, &self.backlog, flow, None);
            self.backlog.queue(flow).for_each(|seat| order.joined(now, &self.backlog, seat));
        }
    }

    /// Adds a flow, or changes the terms of one. Requests that wait stay, even above a lower limit.
    pub fn set_flow(&mut self, now: Timestamp, flow: FlowId, terms: Terms) {
        let now = self.advance(now);
        let old = self.backlog.set_terms(flow, terms);
        if old != Some(terms) {
            self.order.get_mut().terms_changed(now, &self.backlog, flow, old.as_ref());
        }
    }

    /// Takes no more requests of a flow; those that wait are served on its terms. False if it is
    /// unknown.
    pub fn retire_flow(&mut self, now: Timestamp, flow: FlowId) -> bool {
        self.advance(now);
        self.backlog.retire(flow)
    }

    /// Queues a request, or hands it back.
    pub fn push(
        &mut self,
        now: Timestamp,
        flow: FlowId,
        cost: u64,
        token: T,
    ) -> Result<Ticket, Declined<T>> {
        let now = self.advance(now);
        let cost = cost.max(1);
        if let Some(reason) = self.objection(now, flow, cost) {
            return Err(Declined { token, reason });
        }
        let seat = self.backlog.join(now, flow, cost);
        if seat as usize == self.tokens.len() {
            self.tokens.push((0, None));
        }
        let (generation, place) = &mut self.tokens[seat as usize];
        *place = Some(token);
        let ticket = Ticket { seat, generation: *generation };
        self.order.get_mut().joined(now, &self.backlog, seat);
        Ok(ticket)
    }

    fn objection(&self, now: Timestamp, flow: FlowId, cost: u64) -> Option<DeclineReason> {
        let Some(known) = self.backlog.flow(flow).filter(|known| !known.retired) else {
            return Some(DeclineReason::UnknownFlow(flow));
        };
        let waiting_max = known.terms.waiting_max;
        if self.backlog.flow_len(flow) >= waiting_max as usize {
            return Some(DeclineReason::QueueFull { waiting_max });
        }
        let admitted = self.order.get().admits(now, &self.backlog, flow, cost);
        (!admitted).then_some(DeclineReason::NoSlack)
    }

    /// The request for a server that is free now; none only if none waits. [`Scheduler::ended`]
    /// follows when the server is free again, however the request fared.
    pub fn pop(&mut self, now: Timestamp) -> Option<Served<T>> {
        let now = self.advance(now);
        let seat = self.order.get_mut().choose(now, &self.backlog)?;
        let left = self.backlog.leave(seat);
        self.backlog.serve(&left);
        self.order.get_mut().left(now, &self.backlog, seat, &left, Exit::Served);
        let service = ServedRequest { flow: left.flow, cost: left.cost };
        Some(Served { token: self.vacate(seat), arrived: left.arrived, service })
    }

    /// Withdraws a request; none if it does not wait any more.
    pub fn remove(&mut self, now: Timestamp, ticket: Ticket) -> Option<T> {
        let now = self.advance(now);
        let Ticket { seat, generation } = ticket;
        let current = self.tokens.get(seat as usize)?.0;
        if current != generation || !self.backlog.holds(seat) {
            return None;
        }
        let left = self.backlog.leave(seat);
        self.order.get_mut().left(now, &self.backlog, seat, &left, Exit::Withdrawn);
        self.backlog.tidy(left.flow);
        Some(self.vacate(seat))
    }

    fn vacate(&mut self, seat: u32) -> T {
        let (generation, token) = &mut self.tokens[seat as usize];
        *generation = generation.wrapping_add(1);
        token.take().expect("an occupied seat has a token")
    }

    /// The server that took this request is free again. Once per request popped: split counts
    /// servers by it, fair queueing and Miser the work under way.
    pub fn ended(&mut self, now: Timestamp, service: ServedRequest) {
        let now = self.advance(now);
        self.backlog.end(service.flow, service.cost);
        self.order.get_mut().ended(now, &self.backlog, service.flow);
    }

    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        self.now
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.backlog.len()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests of this flow that wait.
    pub fn flow_len(&self, flow: FlowId) -> usize {
        self.backlog.flow_len(flow)
    }

    /// Requests popped that have not ended.
    pub fn serving(&self) -> u32 {
        self.backlog.serving()
    }

    /// The terms of a flow, also of a retired one that requests are left of.
    pub fn terms(&self, flow: FlowId) -> Option<Terms> {
        self.backlog.flow(flow).map(|flow| flow.terms)
    }
}
