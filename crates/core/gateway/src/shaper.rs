//! Tenants kept apart: which tier of its tenant a request belongs to, and when it is its turn.
//!
//! A request is admitted as it arrives: to the first tier of its tenant that has room for it within
//! its bound (RTT decomposition), or not at all. Then it waits in the queue of its tier, until the
//! discipline gives it one of the few places in the request queue, from which requests start. What a
//! request costs is the time that it will keep lanes busy, as requests of its kind did; and since that
//! time is part of what it takes, a tier's requests may wait for no longer than the bound less the time
//! from start to answer that its share of requests keeps to.

mod account;
mod costs;
mod service;

pub(crate) use costs::Kind;

use crate::{LANE, Machine, Recombination, Shaping, TenantTerms, arrival::RETRY_AFTER};
use account::{Account, Tier};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use core::time::Duration;
use costs::Costs;
use ripstop_model::{TenantId, Timestamp};
use ripstop_shaping::{Discipline, FlowId, Reservation, Scheduler, Service, Terms, Ticket};

/// Requests that are let into the request queue before they can start: so many does a more urgent one
/// that comes later not overtake.
pub(crate) const AHEAD: usize = 4;
/// A flow's terms are renewed when its allowance has moved by one of so many.
const STALE: u32 = 16;

/// What the shaper knows of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaped {
    pub tenant: TenantId,
    /// None if its tenant was promised nothing.
    pub tier: Option<u8>,
    pub kind: Kind,
    /// What it was expected to cost, lane-nanoseconds.
    pub cost: u64,
    /// Time that it has kept lanes busy.
    pub spent: Duration,
    /// While it waits for its turn.
    pub ticket: Option<Ticket>,
    /// Once it had its turn.
    pub service: Option<Service>,
    /// When it started.
    pub started: Option<Timestamp>,
}

/// Tenants, their queues, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Shaper {
    shaping: Shaping,
    lanes: u64,
    scheduler: Scheduler<u32>,
    accounts: BTreeMap<TenantId, Account>,
    /// Flows keep their numbers for ever; `None`: beside the tiers.
    flows: BTreeMap<(TenantId, Option<u8>), FlowId>,
    costs: Costs,
    /// Most requests of one tenant that wait.
    waiting_max: usize,
}

impl Shaper {
    pub(crate) fn new(waiting_max: usize, lanes: u64) -> Self {
        let shaping = Shaping::default();
        let mut shaper = Self {
            scheduler: Scheduler::new(discipline(&shaping)),
            shaping,
            lanes,
            accounts: BTreeMap::new(),
            flows: BTreeMap::new(),
            costs: Costs::new(),
            waiting_max,
        };
        let rest = shaper.flow(TenantId::ANYBODY, None);
        shaper.accounts.insert(TenantId::ANYBODY, Account::new(rest));
        shaper
    }

    fn flow(&mut self, tenant: TenantId, tier: Option<u8>) -> FlowId {
        let next = FlowId(self.flows.len() as u16);
        *self.flows.entry((tenant, tier)).or_insert(next)
    }

    /// From now on these are the terms. Requests that wait keep their places.
    pub(crate) fn set(&mut self, now: Timestamp, shaping: &Shaping) {
        self.shaping = shaping.clone();
        for (id, account) in &mut self.accounts {
            if !shaping.tenants.iter().any(|terms| terms.tenant == *id) {
                account.drop_terms();
            }
        }
        for terms in &shaping.tenants {
            self.set_tenant(terms);
        }
        self.scheduler.set_discipline(now, discipline(shaping));
        let ids: Vec<_> = self.accounts.keys().copied().collect();
        for id in ids {
            self.renew_terms(now, id);
        }
    }

    fn set_tenant(&mut self, terms: &TenantTerms) {
        let rest = self.flow(terms.tenant, None);
        for tier in 0..terms.tiers.len() {
            self.flow(terms.tenant, Some(tier as u8));
        }
        let flows = &self.flows;
        let account = self.accounts.entry(terms.tenant).or_insert_with(|| Account::new(rest));
        account.set_terms(terms, |tier| flows[&(terms.tenant, Some(tier))]);
    }

    /// Tells the discipline what the flows of a tenant are granted.
    fn renew_terms(&mut self, now: Timestamp, tenant: TenantId) {
        let waiting_max = u32::try_from(self.waiting_max).unwrap_or(u32::MAX);
        let account = &self.accounts[&tenant];
        let promised: u64 =
            self.shaping.tenants.iter().flat_map(|t| &t.tiers).map(|t| t.capacity).sum();
        let left = (self.lanes * LANE).saturating_sub(promised);
        let share = |capacity: u64| match self.shaping.recombination {
            Recombination::Split => (capacity + LANE / 2) / LANE,
            Recombination::Fifo
            | Recombination::Fair
            | Recombination::PClock
            | Recombination::Miser => capacity / (LANE / 1000),
        };
        let share = |capacity| u32::try_from(share(capacity)).unwrap_or(u32::MAX).max(1);
        self.scheduler.set_flow(
            now,
            account.rest,
            Terms { waiting_max, share: share(left), reservation: None },
        );
        for (index, tier) in account.tiers.iter().enumerate() {
            let first = index == 0 || self.shaping.recombination != Recombination::Miser;
            let reservation = first.then(|| reservation(tier));
            let terms = Terms { waiting_max, share: share(tier.terms.capacity), reservation };
            self.scheduler.set_flow(now, tier.flow, terms);
        }
    }

    /// Takes a request of this kind in, or says when to come again.
    pub(crate) fn admit(
        &mut self,
        now: Timestamp,
        tenant: TenantId,
        kind: Kind,
    ) -> Result<Shaped, Duration> {
        let tenant = if self.accounts.contains_key(&tenant) { tenant } else { TenantId::ANYBODY };
        let account = self.accounts.get_mut(&tenant).expect("anybody has an account");
        if account.waiting >= self.waiting_max {
            return Err(RETRY_AFTER);
        }
        let cost = self.costs.expected(kind);
        let tier = account.admit(now, cost).map_err(|wait| wait.unwrap_or(RETRY_AFTER))?;
        account.waiting += 1;
        if let Some(tier) = tier {
            account.tiers[usize::from(tier)].queued += cost;
        }
        let (spent, ticket, service, started) = (Duration::ZERO, None, None, None);
        Ok(Shaped { tenant, tier, kind, cost, spent, ticket, service, started })
    }

    /// Lines a request up that was taken in. It may come to another flow of its tenant than its tier's,
    /// where the discipline sees no slack for it; never is it turned away.
    pub(crate) fn line_up(&mut self, now: Timestamp, slot: u32, shaped: &mut Shaped) {
        let account = &self.accounts[&shaped.tenant];
        let first = shaped.tier.map_or(account.tiers.len(), usize::from);
        let behind = account.tiers.iter().skip(first).map(|tier| tier.flow);
        let flows = behind.chain([account.rest]);
        for flow in flows {
            if let Ok(ticket) = self.scheduler.push(now, flow, shaped.cost, slot) {
                shaped.ticket = Some(ticket);
                return;
            }
        }
        unreachable!("a tenant's own flow has room for all that it may have waiting")
    }

    /// The request whose turn it is.
    fn next(&mut self, now: Timestamp) -> Option<(u32, Service)> {
        self.scheduler.pop(now).map(|served| (served.token, served.service))
    }

    /// A request waits no longer: it started, or was answered before.
    fn leave(&mut self, now: Timestamp, shaped: &Shaped) {
        let account = self.accounts.get_mut(&shaped.tenant).expect("accounts stay");
        account.waiting -= 1;
        if let Some(tier) = shaped.tier.and_then(|tier| account.tiers.get_mut(usize::from(tier))) {
            tier.leave(now, shaped.cost, shaped.started.is_some());
        }
    }

    /// A request that started was answered `took` later; `done` if as asked.
    fn answered(&mut self, now: Timestamp, shaped: &Shaped, took: Duration, done: bool) {
        if !done {
            return;
        }
        let account = self.accounts.get_mut(&shaped.tenant).expect("accounts stay");
        let before = account.tiers.first().map(|tier| tier.allowance);
        account.learn(took);
        let after = account.tiers.first().map(|tier| tier.allowance);
        let granted = account.tiers.first().and_then(|tier| self.scheduler.terms(tier.flow));
        let granted = granted.and_then(|terms| terms.reservation).map(|granted| granted.bound);
        if let (Some(granted), Some(after), true) = (granted, after, before != after)
            && granted.abs_diff(after) > after / STALE
        {
            self.renew_terms(now, shaped.tenant);
        }
    }

    /// Requests that wait for their turn.
    pub(crate) fn len(&self) -> usize {
        self.scheduler.len()
    }

    /// How the tiers stand.
    pub(crate) fn gauges(&self) -> impl Iterator<Item = TierGauge> {
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

/// How one tier of a tenant stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierGauge {
    /// Whose.
    pub tenant: TenantId,
    /// Which: 0 is the tightest.
    pub tier: u8,
    /// Requests that wait for their turn.
    pub waiting: usize,
    /// Lane time that what has not started is expected to take.
    pub queued: Duration,
    /// How long its requests may wait before they start.
    pub allowance: Duration,
}

fn reservation(tier: &Tier) -> Reservation {
    // The request that finds the tier's limit just reached is let in as well.
    let burst = tier.burst().saturating_add(tier.terms.capacity / 10);
    Reservation { burst, rate: tier.terms.capacity, bound: tier.allowance }
}

fn discipline(shaping: &Shaping) -> Discipline {
    match shaping.recombination {
        Recombination::Fifo => Discipline::Fifo,
        Recombination::Split => Discipline::Split,
        Recombination::Fair => Discipline::Fair,
        Recombination::PClock => Discipline::PClock,
        Recombination::Miser => {
            let first = |tenant: &TenantTerms| tenant.tiers.first().map_or(0, |t| t.capacity);
            let rate_min = shaping.tenants.iter().map(first).sum();
            // As one server: what the others add to how long a request takes is in the time that is
            // taken off its bound already.
            Discipline::Miser { rate_min, servers: 1 }
        }
    }
}

impl Machine {
    /// From now on these are the terms of the tenants.
    pub(crate) fn shaping_changed(&mut self, shaping: &Shaping) {
        if self.shaper.is_none() {
            if shaping.tenants.is_empty() {
                return;
            }
            let lanes = self.nodes.iter().map(|node| u64::from(node.lanes())).sum();
            let shaper = Shaper::new(self.settings.requests_waiting_max, lanes);
            self.shaper = Some(Box::new(shaper));
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.set(self.now, shaping);
        }
    }

    /// How the tenants' tiers stand.
    pub fn tiers(&self) -> impl Iterator<Item = TierGauge> {
        self.shaper.iter().flat_map(|shaper| shaper.gauges())
    }

    /// Lines a request up, in its tenant's queue if there are tenants.
    pub(crate) fn line_up(&mut self, slot: u32) {
        let entry = &mut self.requests.table[slot];
        if let (Some(shaper), Some(shaped)) = (&mut self.shaper, &mut entry.shaped) {
            shaper.line_up(self.now, slot, shaped);
        } else {
            assert!(self.queue.push(slot), "there is room: the limit was looked at");
        }
    }

    /// Lets requests whose turn it is into the request queue, as long as that is short; whether any.
    pub(crate) fn take_turns(&mut self) -> bool {
        let mut any = false;
        while self.queue.len() < AHEAD
            && let Some(shaper) = &mut self.shaper
            && let Some((slot, service)) = shaper.next(self.now)
        {
            any = true;
            if let Some(shaped) = &mut self.requests.table[slot].shaped {
                shaped.ticket = None;
                shaped.service = Some(service);
            }
            assert!(self.queue.push(slot), "the queue is shorter than its limit");
        }
        any
    }

    /// The requests that wait for their turn.
    pub(crate) fn awaiting_their_turn(&self) -> Vec<u32> {
        if self.shaper.is_none() {
            return Vec::new();
        }
        let waits = |shaped: &Shaped| shaped.ticket.is_some();
        let entries = self.requests.table.iter();
        let waiting = entries.filter(|(_, entry)| entry.shaped.as_ref().is_some_and(waits));
        waiting.map(|(slot, _)| slot).collect()
    }

    /// A request starts: it waits no longer.
    pub(crate) fn shaped_starts(&mut self, slot: u32) {
        let entry = &mut self.requests.table[slot];
        if let (Some(shaper), Some(shaped)) = (&mut self.shaper, &mut entry.shaped) {
            shaped.started = Some(self.now);
            shaper.leave(self.now, shaped);
        }
    }

    /// A request is answered: takes it out of its tenant's queue if it waits there. False if it can
    /// only be in the request queue.
    pub(crate) fn shaped_answered(&mut self, slot: u32, done: bool) -> bool {
        let entry = &mut self.requests.table[slot];
        let (Some(shaper), Some(shaped)) = (&mut self.shaper, &mut entry.shaped) else {
            return false;
        };
        match shaped.started {
            Some(started) => shaper.answered(self.now, shaped, self.now - started, done),
            None => shaper.leave(self.now, shaped),
        }
        if let Some(service) = shaped.service.take() {
            shaper.scheduler.ended(self.now, service);
        }
        let ticket = shaped.ticket.take();
        ticket.is_some_and(|ticket| shaper.scheduler.remove(self.now, ticket).is_some())
    }

    /// A request is over: what it cost teaches what its kind costs.
    pub(crate) fn shaped_settled(&mut self, shaped: &Shaped) {
        if let Some(shaper) = &mut self.shaper
            && !shaped.spent.is_zero()
        {
            shaper.costs.learn(shaped.kind, shaped.spent);
        }
    }
}
