//! Start-time fair queueing: Goyal, Vin, Cheng, "Start-time fair queueing: a scheduling algorithm
//! for integrated services packet switching networks", IEEE/ACM Transactions on Networking 5(5),
//! 1997.
//!
//! A request's start tag is S = max(v, F) with the virtual time v at its arrival and the finish tag
//! F of the request before it in its flow; its own finish tag is S + cost / share. The smallest
//! start tag is served and becomes v; when all is idle, v becomes the largest finish tag. While two
//! flows wait, the work W they receive in any interval differs by |Wᵢ/wᵢ − Wⱼ/wⱼ| ≤ cᵢ/wᵢ + cⱼ/wⱼ
//! for largest costs c and shares w. Counted when requests begin, that holds for any number of
//! servers: tags move only then.
//!
//! Only heads carry tags here: behind a head the tags follow from those before (v never passes a
//! waiting request's tag), so a withdrawn request costs its flow nothing.

use super::{
    FlowId, Terms,
    backlog::{Backlog, Waiting},
    heap::Heap,
    order::{Exit, Order},
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// Tags are work per share in units of 2⁻⁴⁰: a request's rounding is far below a unit of work, and
/// 2⁸⁸ units last for ever.
const TAG_BITS: u32 = 40;

/// Flows by start tag.
#[derive(Clone, Default, Debug)]
pub(super) struct Fair {
    virtual_time: u128,
    finish_max: u128,
    /// By flow: the finish tag of its last request served.
    finish: Vec<u128>,
    /// By start tag, then arrival.
    heads: Heap<(u128, u64)>,
}

impl Fair {
    fn start(&self, flow: FlowId) -> u128 {
        let finish = self.finish.get(usize::from(flow.0)).copied().unwrap_or(0);
        self.virtual_time.max(finish)
    }

    /// Lets a flow with a head of this arrival number take part, or without one leave.
    pub(super) fn place(&mut self, flow: FlowId, sequence: Option<u64>) {
        match sequence {
            Some(sequence) => self.heads.set(flow, (self.start(flow), sequence)),
            None => _ = self.heads.remove(flow),
        }
    }

    /// The flow whose turn it is.
    pub(super) fn first(&self) -> Option<FlowId> {
        self.heads.first().map(|(_, flow)| flow)
    }

    /// The first flow has been served this much.
    pub(super) fn charge(&mut self, flow: FlowId, cost: u64, share: u32) {
        if self.finish.len() <= usize::from(flow.0) {
            self.finish.resize(usize::from(flow.0) + 1, 0);
        }
        self.virtual_time = self.start(flow);
        let step = (u128::from(cost) << TAG_BITS) / u128::from(share.max(1));
        let finish = self.virtual_time.saturating_add(step);
        self.finish[usize::from(flow.0)] = finish;
        self.finish_max = self.finish_max.max(finish);
    }

    /// Nothing waits and nothing is served: whatever comes starts level.
    pub(super) fn rest(&mut self) {
        self.virtual_time = self.virtual_time.max(self.finish_max);
    }
}

/// The arrival number of the flow's head.
pub(super) fn head_sequence(backlog: &Backlog, flow: FlowId) -> Option<u64> {
    backlog.head(flow).map(|seat| backlog.waiting(seat).sequence)
}

impl Order for Fair {
    fn joined(&mut self, _: Timestamp, backlog: &Backlog, seat: u32) {
        let Waiting { flow, sequence, .. } = *backlog.waiting(seat);
        if backlog.head(flow) == Some(seat) {
            self.place(flow, Some(sequence));
        }
    }

    fn choose(&mut self, _: Timestamp, backlog: &Backlog) -> Option<u32> {
        self.first().and_then(|flow| backlog.head(flow))
    }

    fn left(&mut self, _: Timestamp, backlog: &Backlog, _: u32, left: &Waiting, exit: Exit) {
        if exit == Exit::Served {
            self.charge(left.flow, left.cost, backlog.terms(left.flow).share);
        }
        self.place(left.flow, head_sequence(backlog, left.flow));
    }

    fn ended(&mut self, _: Timestamp, backlog: &Backlog, _: FlowId) {
        if backlog.len() == 0 && backlog.serving() == 0 {
            self.rest();
        }
    }

    fn terms_changed(&mut self, _: Timestamp, _: &Backlog, flow: FlowId, old: Option<&Terms>) {
        if let (None, Some(finish)) = (old, self.finish.get_mut(usize::from(flow.0))) {
            *finish = 0;
        }
    }
}
