//! pClock, after Gulati, Merchant, Varman, "pClock: an arrival curve based approach for `QoS` in
//! shared storage systems", SIGMETRICS 2007, with two rules of our own.
//!
//! A flow reserves a burst σ, a rate ρ and a bound δ. Its start tag S is when a token bucket of
//! depth σ, filled at ρ, pays for the request: at once as long as the flow conforms. Its deadline
//! is F = S + δ.
//! 1. Among the heads with S ≤ now, the entitled ones, the smallest F is served and its bucket
//!    charged.
//! 2. With no entitled head the server has time to spare. What it then serves is not charged to the
//!    bucket, so that spare capacity used now is never held against a flow later.
//!
//! Our own: a head before its S is not served while an entitled one waits, and spare time is shared
//! by start-time fair queueing over the shares, not given to the flow with the smallest tag, which
//! would be the same flow again and again. Flows without a reservation live on spare time.
//!
//! Why conforming flows are never late at one server of speed C, if [`Capacity`](super::Capacity)
//! says so: let the request with deadline F be unfinished at F, and s the last moment before at
//! which no entitled request due by F was unfinished. Since s the server did nothing but such
//! requests, except for the rest of one that it had begun: at most `cost_max`. They were entitled
//! at s or later, so they are within the arrival curves from s: `cost_max` + Σ over δᵢ ≤ F−s of
//! σᵢ + ρᵢ·(F−s−δᵢ) ≤ C·(F−s), and all was done by F. What other flows send beyond their curves
//! does not enter.
//!
//! Only heads carry tags; those behind follow when their turn comes. A request is never entitled
//! before the one that left the queue before it, or else before that one left (`entitled_after`):
//! while it was hidden, it could not have been served, and a bucket must not fill for it.

use super::{
    FlowId, Reservation, Terms,
    backlog::{Backlog, Waiting},
    fair::{Fair, head_sequence},
    heap::Heap,
    order::{Exit, Order},
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// Buckets count in billionths of a work unit: rates are per second, clocks tick nanoseconds.
const NANO: u128 = 1_000_000_000;

#[derive(Clone, Default, Debug)]
pub(super) struct PClock {
    /// By flow.
    flows: Vec<Tags>,
    /// Entitled heads by deadline, then arrival.
    entitled: Heap<(Timestamp, u64)>,
    /// Heads of reservations not entitled yet by start tag, then arrival.
    early: Heap<(Timestamp, u64)>,
    /// Heads that are not entitled.
    spare: Fair,
}

#[derive(Clone, Copy, Default, Debug)]
struct Tags {
    /// What the flow's bucket lacks.
    bucket: Bucket,
    entitled_after: Timestamp,
    head: Option<Head>,
}

/// The tags of a reservation's head.
#[derive(Clone, Copy, Debug)]
struct Head {
    start: Timestamp,
    /// What the bucket lacks once it has paid.
    paid: Bucket,
}

#[derive(Clone, Copy, Default, Debug)]
struct Bucket {
    lack: u128,
    at: Timestamp,
}

impl Bucket {
    fn filled(self, rate: u64, until: Timestamp) -> Self {
        let nanos = until.as_nanos().saturating_sub(self.at.as_nanos());
        let lack = self.lack.saturating_sub(u128::from(rate) * u128::from(nanos));
        Self { lack, at: self.at.max(until) }
    }

    /// When the bucket pays for `cost` that may be taken from `from` on, and its state then.
    fn pay(self, reservation: &Reservation, from: Timestamp, cost: u64) -> Head {
        let mut paid = self.filled(reservation.rate, from);
        paid.lack = paid.lack.saturating_add(u128::from(cost) * NANO);
        let over = paid.lack.saturating_sub(u128::from(reservation.burst) * NANO);
        let wait = match (over, reservation.rate) {
            (0, _) => 0,
            (_, 0) => u128::MAX,
            (over, rate) => over.div_ceil(u128::from(rate)),
        };
        let wait = u64::try_from(wait).unwrap_or(u64::MAX);
        let start = Timestamp::from_nanos(paid.at.as_nanos().saturating_add(wait));
        Head { start, paid }
    }
}

impl PClock {
    /// Tags the flow's head and puts it where it belongs.
    fn place(&mut self, now: Timestamp, backlog: &Backlog, flow: FlowId) {
        let tags = &mut self.flows[usize::from(flow.0)];
        let head = backlog.head(flow).map(|seat| *backlog.waiting(seat));
        let reserved = head.zip(backlog.flow(flow).and_then(|flow| flow.terms.reservation));
        tags.head = reserved.map(|(head, reservation)| {
            let from = head.arrived.max(tags.entitled_after);
            tags.bucket.pay(&reservation, from, head.cost)
        });
        let start = tags.head.map(|head| head.start);
        if let (Some(start), Some((head, reservation))) = (start, reserved) {
            if start <= now {
                self.entitle(flow, start + reservation.bound, head.sequence);
                return;
            }
            self.early.set(flow, (start, head.sequence));
        } else {
            self.early.remove(flow);
        }
        self.entitled.remove(flow);
        self.spare.place(flow, head.map(|head| head.sequence));
    }

    fn entitle(&mut self, flow: FlowId, deadline: Timestamp, sequence: u64) {
        self.early.remove(flow);
        self.spare.place(flow, None);
        self.entitled.set(flow, (deadline, sequence));
    }
}

impl Order for PClock {
    fn joined(&mut self, now: Timestamp, backlog: &Backlog, seat: u32) {
        let flow = backlog.waiting(seat).flow;
        if backlog.head(flow) == Some(seat) {
            self.place(now, backlog, flow);
        }
    }

    fn choose(&mut self, now: Timestamp, backlog: &Backlog) -> Option<u32> {
        while let Some(((start, sequence), flow)) = self.early.first() {
            if start > now {
                break;
            }
            let reservation = backlog.terms(flow).reservation;
            let bound = reservation.expect("only reservations have start tags").bound;
            self.entitle(flow, start + bound, sequence);
        }
        let entitled = self.entitled.first().map(|(_, flow)| flow);
        entitled.or_else(|| self.spare.first()).and_then(|flow| backlog.head(flow))
    }

    fn left(&mut self, now: Timestamp, backlog: &Backlog, _: u32, left: &Waiting, exit: Exit) {
        let flow = left.flow;
        let was_head = head_sequence(backlog, flow).is_none_or(|head| head > left.sequence);
        if !was_head {
            return;
        }
        let tags = &mut self.flows[usize::from(flow.0)];
        let head = tags.head.take();
        let entitled = self.entitled.remove(flow);
        let start = head.map_or(now, |head| head.start.min(now));
        tags.entitled_after = tags.entitled_after.max(start);
        if exit == Exit::Served {
            match head.filter(|_| entitled) {
                Some(head) => tags.bucket = head.paid,
                None => self.spare.charge(flow, left.cost, backlog.terms(flow).share),
            }
        }
        self.place(now, backlog, flow);
    }

    fn ended(&mut self, _: Timestamp, backlog: &Backlog, _: FlowId) {
        if backlog.len() == 0 && backlog.serving() == 0 {
            self.spare.rest();
        }
    }

    fn terms_changed(
        &mut self,
        now: Timestamp,
        backlog: &Backlog,
        flow: FlowId,
        old: Option<&Terms>,
    ) {
        if self.flows.len() <= usize::from(flow.0) {
            self.flows.resize(usize::from(flow.0) + 1, Tags::default());
        }
        let tags = &mut self.flows[usize::from(flow.0)];
        let Some(old) = old else {
            *tags = Tags::default();
            return;
        };
        // The bucket's lack so far is by the old rate.
        let rate = old.reservation.map_or(0, |reservation| reservation.rate);
        tags.bucket = tags.bucket.filled(rate, now);
        let new = backlog.flow(flow).and_then(|flow| flow.terms.reservation);
        match (tags.head.as_mut().filter(|head| head.start <= now), new) {
            // Entitled already: it stays so.
            (Some(head), Some(new)) => {
                head.paid = head.paid.filled(rate, now);
                let deadline = head.start + new.bound;
                if let Some(sequence) = head_sequence(backlog, flow) {
                    self.entitle(flow, deadline, sequence);
                }
            }
            _ => self.place(now, backlog, flow),
        }
    }
}
