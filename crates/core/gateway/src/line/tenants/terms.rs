//! What tenants are promised, in the discipline's terms.

use super::{
    Tenants,
    account::{Account, Tier},
    discipline::discipline,
};
use crate::face::{LANE, Recombination, Shaping, TenantTerms};
use alloc::vec::Vec;
use ripstop_model::{TenantId, Timestamp};
use ripstop_shaping::{FlowId, Reservation, Terms};

impl Tenants {
    pub(super) fn flow(&mut self, tenant: TenantId, tier: Option<u8>) -> FlowId {
        let next = FlowId(self.flows.len() as u16);
        *self.flows.entry((tenant, tier)).or_insert(next)
    }

    /// From now on these are the terms. Requests that wait keep their places.
    pub(in crate::line) fn set(&mut self, now: Timestamp, shaping: &Shaping) {
        self.shaping = shaping.clone();
        for (id, account) in &mut self.accounts {
            if !shaping.tenants.iter().any(|terms| terms.tenant == *id) {
                account.drop_terms();
            }
        }
        for terms in &shaping.tenants {
            self.set_tenant(now, terms);
        }
        self.scheduler.set_discipline(now, discipline(shaping));
        let ids: Vec<_> = self.accounts.keys().copied().collect();
        for id in ids {
            self.renew_terms(now, id);
        }
    }

    /// From now on there are this many lanes.
    pub(in crate::line) fn set_lanes(&mut self, now: Timestamp, lanes: u64) {
        self.lanes = lanes;
        let ids: Vec<_> = self.accounts.keys().copied().collect();
        for id in ids {
            self.renew_terms(now, id);
        }
    }

    fn set_tenant(&mut self, now: Timestamp, terms: &TenantTerms) {
        let rest = self.flow(terms.tenant, None);
        for tier in 0..terms.tiers.len() {
            self.flow(terms.tenant, Some(tier as u8));
        }
        let flows = &self.flows;
        let account = self.accounts.entry(terms.tenant).or_insert_with(|| Account::new(rest));
        account.set_terms(now, terms, |tier| flows[&(terms.tenant, Some(tier))]);
    }

    /// Tells the discipline what it grants to the flows of a tenant.
    pub(super) fn renew_terms(&mut self, now: Timestamp, tenant: TenantId) {
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
}

fn reservation(tier: &Tier) -> Reservation {
    // The request that finds the tier's limit just reached is let in as well.
    let burst = tier.burst().saturating_add(tier.terms.capacity / 10);
    Reservation { burst, rate: tier.terms.capacity, bound: tier.allowance }
}
