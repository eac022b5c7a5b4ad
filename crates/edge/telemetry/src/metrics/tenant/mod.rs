//! What tenants were promised, and what they got.

#[cfg(test)]
mod tests;
mod window;

pub(crate) use window::Tally;
pub use window::{TENANT_SLOT, TENANT_SLOTS};

use ripstop_estimator::Sketch;
use ripstop_gateway::Report;
use ripstop_model::{TenantId, Timestamp};
use ripstop_runtime::TimeHistogram;
use ripstop_shaping::Fraction;
use std::{
    iter::zip,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use window::{End, Window};

/// Who everybody is that is not among the tenants, the gateway's own work included.
pub(crate) const ANYBODY: &str = "-";

/// What a tenant is called in metrics, and what it is promised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TenantNames {
    /// What the pool knows it by.
    pub id: TenantId,
    /// Its name: who has the same after a reload is the same tenant.
    pub name: String,
    /// The tightest first: of all requests, at least this fraction within this bound. Empty if
    /// nothing is promised.
    pub promise: Vec<(Fraction, Duration)>,
}

/// Where what belongs to a tier is kept: place 0 is for requests that no tier took in.
pub(super) fn place(tier: Option<u8>) -> usize {
    tier.map_or(0, |tier| usize::from(tier) + 1)
}

/// Counts of the tenants of one pool. Without tenants it costs a look at a flag.
#[derive(Debug)]
pub(crate) struct Tenants {
    /// Whether there are any.
    any: AtomicBool,
    /// About when the pool's clock began.
    origin: Instant,
    ledger: Mutex<Ledger>,
}

#[derive(Default, Debug)]
struct Ledger {
    /// By number of the tenant: which of the accounts is its. 0 for those not listed.
    places: Vec<u16>,
    /// The first is everybody else's. Empty without tenants.
    accounts: Vec<(TenantId, Arc<Account>)>,
    /// Time of the last report.
    latest: Timestamp,
}

#[derive(Debug)]
struct Account {
    name: String,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    promise: Vec<(Fraction, Duration)>,
    refused: u64,
    /// By place; never fewer than there were.
    tiers: Vec<TierCounts>,
    window: Window,
}

/// Counts of what one tier of a tenant took in, since the start.
#[derive(Clone, Default, Debug)]
pub(crate) struct TierCounts {
    pub admitted: u64,
    /// Done as asked, but after the tier's bound.
    pub late: u64,
    pub failed: u64,
    /// Of what was done as asked.
    pub took: Arc<TimeHistogram>,
}

impl TierCounts {
    pub(crate) fn is_used(&self) -> bool {
        self.admitted > 0 || self.failed > 0 || self.took.buckets().sum > 0.0
    }
}

/// How a tenant stood when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub id: TenantId,
    pub name: String,
    pub promise: Vec<(Fraction, Duration)>,
    /// Since the start.
    pub refused: u64,
    /// By place; at least one more than there are tiers.
    pub tiers: Vec<TierCounts>,
    /// Recently.
    pub window: Tally,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tenants {
    pub(crate) fn new() -> Self {
        Self { any: AtomicBool::new(false), origin: ripstop_host::now(), ledger: Mutex::default() }
    }

    /// From now on these are the tenants. Who was there before is known by its name.
    pub(crate) fn set(&self, tenants: Vec<TenantNames>) {
        let any = !tenants.is_empty();
        let former = lock(&self.ledger).accounts.clone();
        // Made before the lock is taken: the pool waits for its holder.
        let mut next = Ledger::default();
        if any {
            let name = ANYBODY.to_owned();
            let rest = TenantNames { id: TenantId::ANYBODY, name, promise: Vec::new() };
            for tenant in [rest].into_iter().chain(tenants) {
                next.add(tenant, &former);
            }
        }
        {
            let mut ledger = lock(&self.ledger);
            next.latest = ledger.latest;
            std::mem::swap(&mut *ledger, &mut next);
        }
        self.any.store(any, Relaxed);
    }

    /// Takes note of what became of a request.
    pub(crate) fn report(&self, at: Timestamp, report: &Report) {
        if !self.any.load(Relaxed) {
            return;
        }
        let (Report::Admitted { tenant, .. }
        | Report::Refused { tenant, .. }
        | Report::Answered { tenant, .. }) = *report
        else {
            return;
        };
        let mut ledger = lock(&self.ledger);
        ledger.latest = ledger.latest.max(at);
        if let Some(account) = ledger.account(tenant) {
            lock(&account.counts).report(at, report);
        }
    }

    /// How each stands, everybody else first.
    pub(crate) fn look(&self) -> Vec<Standing> {
        let (accounts, latest) = {
            let ledger = lock(&self.ledger);
            (ledger.accounts.clone(), ledger.latest)
        };
        // Nobody reports that nothing happens, and yet the window goes on.
        let now = latest.max(Timestamp::ZERO + ripstop_host::since(self.origin));
        accounts.iter().map(|(id, account)| account.look(*id, now)).collect()
    }
}

impl Ledger {
    fn account(&self, tenant: TenantId) -> Option<&Account> {
        let place = self.places.get(usize::from(tenant.0)).copied().unwrap_or(0);
        self.accounts.get(usize::from(place)).map(|(_, account)| &**account)
    }

    fn add(&mut self, tenant: TenantNames, former: &[(TenantId, Arc<Account>)]) {
        let TenantNames { id, name, promise } = tenant;
        let is_its = |(_, account): &(_, Arc<Account>)| account.name == name;
        let place = self.accounts.iter().position(is_its).unwrap_or_else(|| {
            let kept = former.iter().find(|account| is_its(account));
            let account = kept.map_or_else(
                || Arc::new(Account { name: name.clone(), counts: Mutex::new(Counts::new()) }),
                |(_, account)| account.clone(),
            );
            lock(&account.counts).set_promise(promise);
            self.accounts.push((id, account));
            self.accounts.len() - 1
        });
        let known = self.places.len().max(usize::from(id.0) + 1);
        self.places.resize(known, 0);
        self.places[usize::from(id.0)] = place as u16;
    }
}

impl Account {
    /// Holds the lock only to copy.
    fn look(&self, id: TenantId, now: Timestamp) -> Standing {
        let mut counts = lock(&self.counts);
        counts.window.advance(now);
        Standing {
            id,
            name: self.name.clone(),
            promise: counts.promise.clone(),
            refused: counts.refused,
            tiers: counts.tiers.clone(),
            window: counts.window.sum().clone(),
        }
    }
}

impl Counts {
    fn new() -> Self {
        let tiers = vec![TierCounts::default()];
        Self { promise: Vec::new(), refused: 0, tiers, window: Window::new() }
    }

    fn set_promise(&mut self, promise: Vec<(Fraction, Duration)>) {
        let same = |(_, bound): &_| self.promise.iter().position(|(_, former)| former == bound);
        let former: Vec<Option<usize>> = promise.iter().map(same).collect();
        self.window.set_tiers(&former);
        let places = self.tiers.len().max(promise.len() + 1);
        self.tiers.resize_with(places, TierCounts::default);
        self.promise = promise;
    }

    /// Where what a tier took in is counted. A tier of terms that are yet to be heard of is none.
    fn place(&self, tier: Option<u8>) -> usize {
        let place = place(tier);
        if place < self.tiers.len() { place } else { 0 }
    }

    fn report(&mut self, at: Timestamp, report: &Report) {
        match *report {
            Report::Admitted { tier, .. } => {
                let place = self.place(tier);
                self.tiers[place].admitted += 1;
            }
            Report::Refused { .. } => {
                self.refused += 1;
                self.window.record(at, &self.promise, 0, End::Refused);
            }
            Report::Answered { tier, took, done, .. } => {
                let place = self.place(tier);
                let bound = tier.and_then(|tier| self.promise.get(usize::from(tier)));
                let counts = &mut self.tiers[place];
                if done {
                    counts.took.add(took);
                    counts.late += u64::from(bound.is_some_and(|(_, bound)| took > *bound));
                } else {
                    counts.failed += 1;
                }
                let end = if done { End::Done(took) } else { End::Failed };
                self.window.record(at, &self.promise, place, end);
            }
            Report::Started { .. }
            | Report::Task(_)
            | Report::FragmentLost { .. }
            | Report::Node { .. } => {}
        }
    }
}

impl Standing {
    /// Tiers of the promise, the tightest first, each with what is known of it.
    pub(crate) fn promised(&self) -> impl Iterator<Item = Promised<'_>> {
        let tiers = zip(&self.promise, zip(&self.window.within, &self.window.took[1..]));
        zip(0.., tiers).map(|(tier, (&(fraction, bound), (&within, took)))| Promised {
            tier,
            fraction,
            bound,
            within: within.fraction(),
            kept: within.keeps(fraction),
            took,
        })
    }

    /// Requests taken in by a tier below the first.
    pub(crate) fn moved_down(&self) -> u64 {
        self.tiers.iter().skip(2).map(|tier| tier.admitted).sum()
    }
}

/// One tier of a promise, and how it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promised<'a> {
    /// 0 is the tightest.
    pub tier: u8,
    pub fraction: Fraction,
    pub bound: Duration,
    /// The share of all requests of the tenant that was within the bound.
    pub within: f64,
    pub kept: bool,
    /// How long requests took that this tier took in.
    pub took: &'a Sketch,
}
