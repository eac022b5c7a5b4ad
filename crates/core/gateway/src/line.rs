//! Requests that wait to start: in one queue, mends in another, tenants' in queues of their own
//! before those; and how long they are patient.

mod tenants;

pub(crate) use tenants::Kind;

use crate::face::{MachineSettings, Report, Request, Shaping, TenantGauge, TierGauge};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;
use ripstop_model::{TenantId, Timestamp};
use ripstop_scheduling::{RequestQueue, RequestSlot};
use tenants::{AHEAD, RETRY_AFTER, Shaped, Tenants};

/// Waiting requests that one look passes over before it gives up.
pub(crate) const LOOKAHEAD_MAX: usize = 32;

/// One of the two queues from which requests start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queue {
    /// Reads and writes.
    Requests,
    /// Mends, behind all of those.
    Mends,
}

/// What a request that is taken in goes on with.
#[derive(Debug)]
pub(crate) struct Admission(Option<Shaped>);

impl Admission {
    /// What is reported of it, if there are tenants.
    pub(crate) fn report(&self, request: &Request) -> Option<Report> {
        let Shaped { tier, .. } = self.0?;
        Some(Report::Admitted { request: request.id, tenant: request.tenant, tier })
    }
}

/// All that waits to start.
#[derive(Debug)]
pub(crate) struct Line {
    requests: RequestQueue,
    mends: RequestQueue,
    /// Present once there are tenants; without them, requests go straight to their queue.
    tenants: Option<Box<Tenants>>,
    patience: Duration,
    requests_waiting_max: usize,
    mends_waiting_max: usize,
}

impl Line {
    pub(crate) fn new(settings: &MachineSettings) -> Self {
        Self {
            requests: RequestQueue::new(settings.requests_waiting_max + AHEAD),
            mends: RequestQueue::new(settings.mends_waiting_max),
            tenants: None,
            patience: settings.patience,
            requests_waiting_max: settings.requests_waiting_max,
            mends_waiting_max: settings.mends_waiting_max,
        }
    }

    #[inline]
    fn of(&self, queue: Queue) -> &RequestQueue {
        match queue {
            Queue::Requests => &self.requests,
            Queue::Mends => &self.mends,
        }
    }

    #[inline]
    fn of_mut(&mut self, queue: Queue) -> &mut RequestQueue {
        match queue {
            Queue::Requests => &mut self.requests,
            Queue::Mends => &mut self.mends,
        }
    }

    /// From now on these are the terms of the tenants of a pool with this many lanes.
    pub(crate) fn set_shaping(&mut self, now: Timestamp, shaping: &Shaping, lanes: u64) {
        if self.tenants.is_none() && shaping.tenants.is_empty() {
            return;
        }
        let waiting_max = self.requests_waiting_max;
        let tenants =
            self.tenants.get_or_insert_with(|| Box::new(Tenants::new(waiting_max, lanes)));
        tenants.set(now, shaping);
    }

    /// From now on the pool has this many lanes.
    pub(crate) fn set_lanes(&mut self, now: Timestamp, lanes: u64) {
        if let Some(tenants) = &mut self.tenants {
            tenants.set_lanes(now, lanes);
        }
    }

    /// Takes a request in (no kind: a mend), beside the writes being encoded; or says when to come
    /// again.
    pub(crate) fn admit(
        &mut self,
        now: Timestamp,
        tenant: TenantId,
        kind: Option<Kind>,
        encoding: usize,
    ) -> Result<Admission, Duration> {
        let (waiting, max) = match kind {
            None => (self.mends.len(), self.mends_waiting_max),
            Some(_) => (self.requests.len() + encoding, self.requests_waiting_max),
        };
        match (&mut self.tenants, kind) {
            (Some(tenants), Some(kind)) => tenants.admit(now, tenant, kind).map(Some),
            _ if waiting >= max => Err(RETRY_AFTER),
            _ => Ok(None),
        }
        .map(Admission)
    }

    /// An admitted request has its slot.
    pub(crate) fn enter(&mut self, slot: RequestSlot, admission: &Admission) {
        if let (Some(tenants), Some(shaped)) = (&mut self.tenants, &admission.0) {
            tenants.enter(slot, *shaped);
        }
    }

    /// Lines a request up, in its tenant's queue if it has one.
    #[inline]
    pub(crate) fn push(&mut self, now: Timestamp, queue: Queue, slot: RequestSlot) {
        let tenants = self.tenants.as_mut().filter(|_| queue == Queue::Requests);
        if !tenants.is_some_and(|tenants| tenants.line_up(now, slot)) {
            let pushed = self.of_mut(queue).push(slot);
            assert!(pushed, "there is room: the limit was looked at");
        }
    }

    /// Lets requests whose turn it is into the request queue, as long as that is short; whether
    /// any.
    #[inline]
    pub(crate) fn take_turns(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while self.requests.len() < AHEAD
            && let Some(tenants) = &mut self.tenants
            && let Some(slot) = tenants.next(now)
        {
            any = true;
            assert!(self.requests.push(slot), "the queue is shorter than its limit");
        }
        any
    }

    /// A request leaves its queue to be served.
    #[inline]
    pub(crate) fn start(&mut self, now: Timestamp, queue: Queue, slot: RequestSlot) {
        self.of_mut(queue).remove(slot);
        if let Some(tenants) = self.tenants.as_mut().filter(|_| queue == Queue::Requests) {
            tenants.starts(now, slot);
        }
    }

    /// A request is answered, as asked if `done`: it waits nowhere any more.
    #[inline]
    pub(crate) fn answered(&mut self, now: Timestamp, queue: Queue, slot: RequestSlot, done: bool) {
        let tenants = self.tenants.as_mut();
        if !tenants.is_some_and(|tenants| tenants.answered(now, slot, done)) {
            self.of_mut(queue).remove(slot);
        }
    }

    /// A request is over.
    #[inline]
    pub(crate) fn settled(&mut self, slot: RequestSlot) {
        if let Some(tenants) = &mut self.tenants {
            tenants.settled(slot);
        }
    }

    /// Charges a request's tenant for this much of a lane's time.
    #[inline]
    pub(crate) fn charge(&mut self, slot: RequestSlot, span: Duration) {
        if let Some(tenants) = &mut self.tenants {
            tenants.charge(slot, span);
        }
    }

    /// The tier of its tenant that took a request in, if any.
    #[inline]
    pub(crate) fn tier(&self, slot: RequestSlot) -> Option<u8> {
        self.tenants.as_ref().and_then(|tenants| tenants.tier(slot))
    }

    #[inline]
    pub(crate) fn front(&self, queue: Queue) -> Option<RequestSlot> {
        self.of(queue).front()
    }

    #[inline]
    pub(crate) fn after(&self, queue: Queue, slot: RequestSlot) -> Option<RequestSlot> {
        self.of(queue).after(slot)
    }

    #[inline]
    pub(crate) fn is_empty(&self, queue: Queue) -> bool {
        self.of(queue).is_empty()
    }

    /// The first requests of the queue, as far as one look goes.
    #[inline]
    pub(crate) fn ahead(&self) -> impl Iterator<Item = RequestSlot> {
        let next = |&slot: &RequestSlot| self.requests.after(slot);
        core::iter::successors(self.requests.front(), next).take(LOOKAHEAD_MAX)
    }

    /// The requests that wait for their tenant's turn.
    pub(crate) fn awaiting_their_turn(&self) -> Vec<RequestSlot> {
        self.tenants.as_ref().map_or_else(Vec::new, |tenants| tenants.waiting().collect())
    }

    /// Reads and writes that wait, wherever.
    pub(crate) fn backlog(&self) -> usize {
        self.requests.len() + self.tenants.as_ref().map_or(0, |tenants| tenants.len())
    }

    pub(crate) fn mends_waiting(&self) -> usize {
        self.mends.len()
    }

    /// When the patience of a request that joined then ends.
    #[inline]
    pub(crate) fn patience_ends(&self, queued: Timestamp) -> Timestamp {
        queued + self.patience
    }

    /// What tenants asked for.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = TenantGauge> {
        self.tenants.iter().flat_map(|tenants| tenants.tenants())
    }

    /// How the tenants' tiers stand.
    pub(crate) fn gauges(&self) -> impl Iterator<Item = TierGauge> {
        self.tenants.iter().flat_map(|tenants| tenants.gauges())
    }
}
