//! Tenants kept apart: which tier of its tenant a request belongs to, and when it is its turn.
//!
//! A request is admitted as it arrives: to the first tier of its tenant that has room for it within
//! its bound (RTT decomposition), or not at all. Then it waits in the queue of its tier, until the
//! discipline gives it one of the few places in the request queue, from which requests start. What
//! a request costs is the time that it will keep lanes busy, as requests of its kind did; and since
//! that time is part of what it takes, a tier's requests may wait for no longer than the bound less
//! the time from start to answer that its share of requests keeps to.

mod account;
mod costs;
mod discipline;
mod service;
mod terms;

pub(crate) use costs::Kind;

use crate::face::{Shaping, TenantGauge, TierGauge};
use account::Account;
use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;
use costs::Costs;
use discipline::discipline;
use ripstop_model::{TenantId, Timestamp};
use ripstop_scheduling::{RequestSlot, Slot as _};
use ripstop_shaping::{FlowId, Scheduler, ServedRequest, Ticket};

/// When to try again after the queue was full: it is empty again by then, or nothing helps.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Requests that are let into the request queue before they can start: a more urgent one that comes
/// later does not overtake these.
pub(super) const AHEAD: usize = 4;
/// A flow's terms are renewed when its allowance has moved by one part of this many.
const STALE: u32 = 16;

/// What is known of a tenant's request from its arrival until it is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaped {
    tenant: TenantId,
    /// None if its tenant was promised nothing.
    pub tier: Option<u8>,
    kind: Kind,
    /// What it was expected to cost, lane-nanoseconds.
    cost: u64,
    /// Time that it has kept lanes busy: its kind learns from it when it is over.
    spent: Duration,
    /// While it waits for its turn.
    ticket: Option<Ticket>,
    /// Once it had its turn.
    service: Option<ServedRequest>,
    started: Option<Timestamp>,
}

/// Tenants, their queues, and whose turn it is.
#[derive(Debug)]
pub(super) struct Tenants {
    shaping: Shaping,
    lanes: u64,
    scheduler: Scheduler<RequestSlot>,
    accounts: BTreeMap<TenantId, Account>,
    /// Flows keep their numbers for ever; `None`: beside the tiers.
    flows: BTreeMap<(TenantId, Option<u8>), FlowId>,
    costs: Costs,
    /// Most requests of one tenant that wait.
    waiting_max: usize,
    /// By slot. None of requests that are older than the first tenant, and of mends.
    requests: Vec<Option<Shaped>>,
}

impl Tenants {
    pub(super) fn new(waiting_max: usize, lanes: u64) -> Self {
        let shaping = Shaping::default();
        let mut tenants = Self {
            scheduler: Scheduler::new(discipline(&shaping)),
            shaping,
            lanes,
            accounts: BTreeMap::new(),
            flows: BTreeMap::new(),
            costs: Costs::new(),
            waiting_max,
            requests: Vec::new(),
        };
        let rest = tenants.flow(TenantId::ANYBODY, None);
        tenants.accounts.insert(TenantId::ANYBODY, Account::new(rest));
        tenants
    }

    fn request(&mut self, slot: RequestSlot) -> Option<&mut Shaped> {
        self.requests.get_mut(slot.number() as usize)?.as_mut()
    }

    /// Takes a request of this kind in, or says when to come again.
    pub(super) fn admit(
        &mut self,
        now: Timestamp,
        tenant: TenantId,
        kind: Kind,
    ) -> Result<Shaped, Duration> {
        let tenant = if self.accounts.contains_key(&tenant) { tenant } else { TenantId::ANYBODY };
        let account = self.accounts.get_mut(&tenant).expect("anybody has an account");
        let cost = self.costs.expected(kind);
        account.offered = account.offered.saturating_add(cost);
        if account.waiting >= self.waiting_max {
            return Err(RETRY_AFTER);
        }
        let tier = account.admit(now, cost).map_err(|wait| wait.unwrap_or(RETRY_AFTER))?;
        account.waiting += 1;
        if let Some(tier) = tier {
            account.tiers[usize::from(tier)].queued += cost;
        }
        let (spent, ticket, service, started) = (Duration::ZERO, None, None, None);
        Ok(Shaped { tenant, tier, kind, cost, spent, ticket, service, started })
    }

    /// An admitted request has its slot.
    pub(super) fn enter(&mut self, slot: RequestSlot, shaped: Shaped) {
        let at = slot.number() as usize;
        if self.requests.len() <= at {
            self.requests.resize(at + 1, None);
        }
        self.requests[at] = Some(shaped);
    }

    /// Lines a request up that was admitted here; false if it was not. It may come to another flow
    /// of its tenant than its tier's, where the discipline sees no slack for it; it is never turned
    /// away.
    pub(super) fn line_up(&mut self, now: Timestamp, slot: RequestSlot) -> bool {
        let requests = self.requests.get_mut(slot.number() as usize);
        let Some(shaped) = requests.and_then(Option::as_mut) else { return false };
        let account = &self.accounts[&shaped.tenant];
        let first = shaped.tier.map_or(account.tiers.len(), usize::from);
        let behind = account.tiers.iter().skip(first).map(|tier| tier.flow);
        for flow in behind.chain([account.rest]) {
            if let Ok(ticket) = self.scheduler.push(now, flow, shaped.cost, slot) {
                shaped.ticket = Some(ticket);
                return true;
            }
        }
        unreachable!("a tenant's own flow has room for all that it may have waiting")
    }

    /// The request whose turn it is.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<RequestSlot> {
        let served = self.scheduler.pop(now)?;
        if let Some(shaped) = self.request(served.token) {
            shaped.ticket = None;
            shaped.service = Some(served.service);
        }
        Some(served.token)
    }

    /// A request starts: it waits no longer.
    pub(super) fn starts(&mut self, now: Timestamp, slot: RequestSlot) {
        if let Some(shaped) = self.request(slot) {
            shaped.started = Some(now);
            let shaped = *shaped;
            self.leave(now, &shaped);
        }
    }

    /// A request waits no longer: it started, or was answered before.
    fn leave(&mut self, now: Timestamp, shaped: &Shaped) {
        let account = self.accounts.get_mut(&shaped.tenant).expect("accounts stay");
        account.waiting -= 1;
        if let Some(tier) = shaped.tier.and_then(|tier| account.tiers.get_mut(usize::from(tier))) {
            tier.leave(now, shaped.cost, shaped.started.is_some());
        }
    }

    /// A request is answered: takes it out of its tenant's queue if it waits there. False if it can
    /// only be in the request queue.
    pub(super) fn answered(&mut self, now: Timestamp, slot: RequestSlot, done: bool) -> bool {
        let Some(shaped) = self.request(slot) else { return false };
        let (service, ticket) = (shaped.service.take(), shaped.ticket.take());
        let shaped = *shaped;
        match shaped.started {
            Some(started) if done => self.learn(now, shaped.tenant, now - started),
            Some(_) => {}
            None => self.leave(now, &shaped),
        }
        if let Some(service) = service {
            self.scheduler.ended(now, service);
        }
        ticket.is_some_and(|ticket| self.scheduler.remove(now, ticket).is_some())
    }

    /// A request that started was answered as asked this much later: its tenant's may wait for as
    /// long as that leaves of the bound.
    fn learn(&mut self, now: Timestamp, tenant: TenantId, took: Duration) {
        let account = self.accounts.get_mut(&tenant).expect("accounts stay");
        let before = account.tiers.first().map(|tier| tier.allowance);
        account.learn(took);
        let after = account.tiers.first().map(|tier| tier.allowance);
        let granted = account.tiers.first().and_then(|tier| self.scheduler.terms(tier.flow));
        let granted = granted.and_then(|terms| terms.reservation).map(|granted| granted.bound);
        if let (Some(granted), Some(after), true) = (granted, after, before != after)
            && granted.abs_diff(after) > after / STALE
        {
            self.renew_terms(now, tenant);
        }
    }

    /// A request is over: what it cost teaches what its kind costs.
    pub(super) fn settled(&mut self, slot: RequestSlot) {
        let request = self.requests.get_mut(slot.number() as usize);
        if let Some(shaped) = request.and_then(Option::take)
            && !shaped.spent.is_zero()
        {
            self.costs.learn(shaped.kind, shaped.spent);
        }
    }

    pub(super) fn charge(&mut self, slot: RequestSlot, span: Duration) {
        if let Some(shaped) = self.request(slot) {
            shaped.spent += span;
        }
    }

    pub(super) fn tier(&self, slot: RequestSlot) -> Option<u8> {
        self.requests.get(slot.number() as usize)?.as_ref()?.tier
    }

    /// The requests that wait for their turn, by slot.
    pub(super) fn waiting(&self) -> impl Iterator<Item = RequestSlot> {
        let waits = |shaped: &Shaped| shaped.ticket.is_some();
        let slots = self.requests.iter().enumerate();
        let waiting = slots.filter(move |(_, shaped)| shaped.as_ref().is_some_and(waits));
        waiting.map(|(slot, _)| RequestSlot::of(slot as u32))
    }

    /// How many of them there are.
    pub(super) fn len(&self) -> usize {
        self.scheduler.len()
    }

    /// What tenants asked for.
    pub(super) fn tenants(&self) -> impl Iterator<Item = TenantGauge> {
        self.accounts.iter().map(|(&tenant, account)| TenantGauge {
            tenant,
            offered: Duration::from_nanos(account.offered),
        })
    }

    /// How the tiers stand.
    pub(super) fn gauges(&self) -> impl Iterator<Item = TierGauge> {
        let scheduler = &self.scheduler;
        self.accounts.iter().flat_map(move |(&tenant, account)| {
            account.tiers.iter().enumerate().map(move |(index, tier)| TierGauge {
                tenant,
                tier: index as u8,
                waiting: scheduler.flow_len(tier.flow),
                queued: Duration::from_nanos(tier.queued),
                allowance: tier.allowance,
            })
        })
    }
}
