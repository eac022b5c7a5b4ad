use super::service::ServiceTime;
use crate::face::{TenantTerms, TierTerms};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_model::Timestamp;
use ripstop_shaping::{Admission, Cascade, FlowId, Rule, TierShare};

/// Of a tier's bound, one part of this many is for waiting at least, however long service takes.
const ALLOWANCE_PARTS: u32 = 8;

/// A tier whose queue holds this many times what its account allows takes no more.
const BEHIND: u64 = 2;

/// One tenant: what it was promised, what it has in the queues.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// Empty if nothing was promised.
    pub tiers: Vec<Tier>,
    /// Where requests wait that belong to no tier.
    pub rest: FlowId,
    /// Requests that are being encoded or wait.
    pub waiting: usize,
    /// What all requests that ever came were expected to cost, lane-nanoseconds.
    pub offered: u64,
    cascade: Option<Cascade>,
}

/// One tier of a tenant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tier {
    pub terms: TierTerms,
    pub flow: FlowId,
    /// Cost of what it holds that has not started, lane-nanoseconds.
    pub queued: u64,
    service: ServiceTime,
    /// How long its requests may wait before they start.
    pub allowance: Duration,
    drain: Drain,
}

/// How fast a tier's requests start now: more than its capacity serves while others lend theirs.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Lane-nanoseconds a second. Halved and added in whole ones: the estimator's moving average
    /// would round otherwise, and recorded decisions hang on it.
    rate: u64,
    since: Timestamp,
    /// Lane-nanoseconds that started since then.
    work: u64,
}

impl Drain {
    /// How often the rate is looked at.
    const WINDOW: Duration = Duration::from_millis(500);

    fn add(&mut self, now: Timestamp, cost: u64) {
        self.work = self.work.saturating_add(cost);
        let span = now.since(self.since);
        if span >= Self::WINDOW {
            let rate = u128::from(self.work) * 1_000_000_000 / span.as_nanos();
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            *self = Self { rate: self.rate / 2 + rate / 2, since: now, work: 0 };
        }
    }
}

impl Tier {
    fn new(terms: TierTerms, flow: FlowId) -> Self {
        let service = ServiceTime::for_fraction(terms.fraction.billionths());
        let drain = Drain { rate: 0, since: Timestamp::ZERO, work: 0 };
        Self { terms, flow, queued: 0, service, allowance: terms.bound, drain }
    }

    /// Takes in how long a request took from its start to its answer.
    fn learn(&mut self, took: Duration) {
        self.service.learn(took);
        self.renew_allowance();
    }

    fn renew_allowance(&mut self) {
        let least = self.terms.bound / ALLOWANCE_PARTS;
        self.allowance = self.terms.bound.saturating_sub(self.service.estimate()).max(least);
    }

    /// Work that it does within its allowance, lane-nanoseconds.
    pub(super) fn burst(&self) -> u64 {
        self.work_within(self.terms.capacity)
    }

    /// Work that it does within its allowance as things stand: half of what others lend it is
    /// relied on.
    fn burst_now(&self) -> u64 {
        self.work_within(self.terms.capacity.max(self.drain.rate / 2))
    }

    fn work_within(&self, rate: u64) -> u64 {
        let work = u128::from(rate) * self.allowance.as_nanos() / 1_000_000_000;
        u64::try_from(work).unwrap_or(u64::MAX)
    }

    /// A request of its starts, or will not.
    pub(super) fn leave(&mut self, now: Timestamp, cost: u64, starts: bool) {
        self.queued = self.queued.saturating_sub(cost);
        if starts {
            self.drain.add(now, cost);
        }
    }
}

impl Account {
    /// Of somebody who was promised nothing.
    pub(super) fn new(rest: FlowId) -> Self {
        Self { tiers: Vec::new(), rest, waiting: 0, offered: 0, cascade: None }
    }

    /// From now on these are its terms; what it has in the queues, and what was learned, stays.
    pub(super) fn set_terms(
        &mut self,
        now: Timestamp,
        terms: &TenantTerms,
        flow: impl Fn(u8) -> FlowId,
    ) {
        let former = core::mem::take(&mut self.tiers);
        for (index, &terms) in terms.tiers.iter().enumerate() {
            let mut tier = Tier::new(terms, flow(index as u8));
            if let Some(former) = former.get(index) {
                tier.queued = former.queued;
                tier.service = former.service;
                tier.drain = former.drain;
                tier.renew_allowance();
            }
            self.tiers.push(tier);
        }
        // Outstanding work is judged as by the paper's wording: how long the request itself is on a
        // lane is taken off its bound, not paid for at the tier's share of the lanes.
        let shares = self.shares();
        let promises = |tiers: &[Tier]| -> Vec<_> {
            tiers.iter().map(|tier| (tier.terms.fraction, tier.terms.bound)).collect()
        };
        match &mut self.cascade {
            // The same promise with another capacity: what was let in counts on, or each division
            // would let in a burst.
            Some(cascade) if promises(&former) == promises(&self.tiers) => {
                let capacities: Vec<u64> = shares.iter().map(|share| share.capacity).collect();
                let set = cascade.set_capacities(now, &capacities);
                set.expect("there are as many tiers as before");
            }
            _ => self.cascade = Cascade::new(Rule::Count, &shares).ok(),
        }
    }

    /// From now on nothing is promised; what it has in the queues stays.
    pub(super) fn drop_terms(&mut self) {
        self.tiers.clear();
        self.cascade = None;
    }

    fn shares(&self) -> Vec<TierShare> {
        let share =
            |tier: &Tier| TierShare { capacity: tier.terms.capacity, bound: tier.allowance };
        self.tiers.iter().map(share).collect()
    }

    /// The tier that takes a request; none, beside the tiers, if nothing was promised. An error
    /// says when a tier would take it.
    pub(super) fn admit(
        &mut self,
        now: Timestamp,
        cost: u64,
    ) -> Result<Option<u8>, Option<Duration>> {
        let Some(cascade) = &mut self.cascade else { return Ok(None) };
        let last = self.tiers.len() - 1;
        let (first, retry_after) = match cascade.admit(now, cost) {
            Admission::Admitted(admitted) => (admitted.tier, None),
            Admission::Refused { retry_after } => (last, retry_after),
        };
        // By its account a tier has room; where its queue says otherwise, because requests turned
        // out dearer or lanes slower, the next has it. The last also takes what its account has not
        // paid for but others' lanes do in time.
        for at in first..last {
            if self.tiers[at].queued <= self.tiers[at].burst() * BEHIND {
                return Ok(Some(at as u8));
            }
        }
        let tier = &self.tiers[last];
        if tier.queued <= tier.burst_now() { Ok(Some(last as u8)) } else { Err(retry_after) }
    }

    /// Takes in how long one of its requests took from its start to its answer.
    pub(super) fn learn(&mut self, took: Duration) {
        for tier in &mut self.tiers {
            tier.learn(took);
        }
        if let Some(cascade) = &mut self.cascade {
            cascade.set_bounds(self.tiers.iter().map(|tier| tier.allowance));
        }
    }
}
