use super::{FlowId, Terms};
use alloc::vec::Vec;
use ripstop_model::Timestamp;
use ripstop_scheduling::{Links, List};

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) flow: FlowId,
    /// Work units, at least 1.
    pub(super) cost: u64,
    pub(super) arrived: Timestamp,
    /// Its place among all arrivals.
    pub(super) sequence: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) terms: Terms,
    pub(super) serving: u32,
    pub(super) retired: bool,
    queue: List,
}

/// What waits and what is being served, by flow; knows no order but that of arrival.
#[derive(Clone, Default, Debug)]
pub(super) struct Backlog {
    seats: Vec<Waiting>,
    free: Vec<u32>,
    links: Links,
    flows: Vec<Option<Flow>>,
    waiting: usize,
    serving: u32,
    serving_cost: u64,
    arrivals: u64,
}

impl Backlog {
    pub(super) fn flow(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(usize::from(flow.0))?.as_ref()
    }

    fn flow_mut(&mut self, flow: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(usize::from(flow.0))?.as_mut()
    }

    /// The terms of a flow of which a request waits.
    pub(super) fn terms(&self, flow: FlowId) -> &Terms {
        &self.flow(flow).expect("a flow is kept while requests of it wait").terms
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        (0..=u16::MAX).zip(&self.flows).filter_map(|(id, flow)| flow.map(|_| FlowId(id)))
    }

    /// The seat of the flow's oldest request.
    pub(super) fn head(&self, flow: FlowId) -> Option<u32> {
        self.flow(flow)?.queue.front()
    }

    /// The flow's requests, oldest first.
    pub(super) fn queue(&self, flow: FlowId) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(self.head(flow), |&seat| self.links.after(seat))
    }

    /// Whether a request waits in this seat.
    pub(super) fn holds(&self, seat: u32) -> bool {
        self.links.contains(seat)
    }

    /// The request in an occupied seat.
    pub(super) fn waiting(&self, seat: u32) -> &Waiting {
        &self.seats[seat as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn flow_len(&self, flow: FlowId) -> usize {
        self.flow(flow).map_or(0, |flow| flow.queue.len())
    }

    pub(super) fn serving(&self) -> u32 {
        self.serving
    }

    /// Work units of the requests in service, each counted whole until it has ended.
    pub(super) fn serving_cost(&self) -> u64 {
        self.serving_cost
    }

    /// Sets a flow's terms, revives it if it was retired, and returns the terms it had.
    pub(super) fn set_terms(&mut self, flow: FlowId, terms: Terms) -> Option<Terms> {
        let place = usize::from(flow.0);
        if self.flows.len() <= place {
            self.flows.resize(place + 1, None);
        }
        let new = Flow { terms, serving: 0, retired: false, queue: List::default() };
        let old = self.flows[place];
        self.flows[place] = Some(old.map_or(new, |old| Flow { terms, retired: false, ..old }));
        old.map(|old| old.terms)
    }

    /// Takes no more requests of the flow and forgets it when the last has ended.
    pub(super) fn retire(&mut self, flow: FlowId) -> bool {
        let there = self.flow_mut(flow).map(|flow| flow.retired = true).is_some();
        self.forget_retired(flow);
        there
    }

    fn forget_retired(&mut self, flow: FlowId) {
        let over = |flow: &Flow| flow.retired && flow.serving == 0 && flow.queue.is_empty();
        if self.flow(flow).is_some_and(over) {
            self.flows[usize::from(flow.0)] = None;
        }
    }

    /// Seats a request at the end of a known flow's queue.
    pub(super) fn join(&mut self, now: Timestamp, flow: FlowId, cost: u64) -> u32 {
        let waiting = Waiting { flow, cost, arrived: now, sequence: self.arrivals };
        self.arrivals += 1;
        self.waiting += 1;
        let seat = self.free.pop().unwrap_or(self.seats.len() as u32);
        if seat as usize == self.seats.len() {
            self.seats.push(waiting);
        } else {
            self.seats[seat as usize] = waiting;
        }
        let flow =
            self.flows[usize::from(flow.0)].as_mut().expect("the caller asked for its terms");
        flow.queue.push(&mut self.links, seat);
        seat
    }

    /// Takes a request from its seat.
    pub(super) fn leave(&mut self, seat: u32) -> Waiting {
        let left = self.seats[seat as usize];
        let flow = self.flows[usize::from(left.flow.0)].as_mut();
        let flow = flow.expect("a flow is kept while requests of it wait");
        flow.queue.remove(&mut self.links, seat);
        self.free.push(seat);
        self.waiting -= 1;
        left
    }

    pub(super) fn serve(&mut self, request: &Waiting) {
        self.serving += 1;
        self.serving_cost = self.serving_cost.saturating_add(request.cost);
        if let Some(flow) = self.flow_mut(request.flow) {
            flow.serving += 1;
        }
    }

    pub(super) fn end(&mut self, flow: FlowId, cost: u64) {
        self.serving = self.serving.saturating_sub(1);
        self.serving_cost = self.serving_cost.saturating_sub(cost);
        if let Some(known) = self.flow_mut(flow) {
            known.serving = known.serving.saturating_sub(1);
            self.forget_retired(flow);
        }
    }

    /// After a request was withdrawn: its flow may be done.
    pub(super) fn tidy(&mut self, flow: FlowId) {
        self.forget_retired(flow);
    }
}
