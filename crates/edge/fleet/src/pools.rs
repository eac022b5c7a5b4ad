//! Pools whose nodes other gateways use too.

use crate::thing::{Kind, Thing};
use ripstop_gateway::Shaping;
use ripstop_model::{NodeId, TenantId};
use ripstop_runtime::Pool;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A pool whose nodes other gateways use too.
#[derive(Debug)]
pub(crate) struct SharedPool {
    pub name: String,
    pub pool: Pool,
    /// What is promised, all gateways together.
    pub promised: Shaping,
    /// Promises are divided from the first shaping on.
    pub is_shaped: bool,
    /// What tenants had asked for, when that was looked at last.
    asked: BTreeMap<TenantId, Duration>,
    asked_at: Instant,
    /// What the pool was told last.
    pub lanes: BTreeMap<NodeId, u16>,
    pub told: Option<Shaping>,
}

/// Less time than this between two looks says nothing of what tenants ask for.
const ASKED_WITHIN: Duration = Duration::from_millis(500);

impl SharedPool {
    pub(crate) fn new(name: String, pool: Pool) -> Self {
        let lanes = pool.inspect(|machine| {
            machine.nodes().map(|node| (node.id, node.lanes)).collect::<BTreeMap<_, _>>()
        });
        Self {
            name,
            pool,
            promised: Shaping::default(),
            is_shaped: false,
            asked: BTreeMap::new(),
            asked_at: ripstop_host::now(),
            lanes,
            told: None,
        }
    }

    /// The lanes of its nodes, as they are configured.
    pub(crate) fn things(&self, number: usize) -> impl Iterator<Item = (String, Thing)> {
        self.lanes.iter().map(move |(node, lanes)| {
            let kind = Kind::Lanes { pool: number, node: *node };
            (format!("lanes of node {}", node.0), Thing::new(kind, u64::from(*lanes)))
        })
    }

    /// What tenants ask for: lane-nanoseconds a second.
    pub(crate) fn asked(&mut self, now: Instant) -> BTreeMap<TenantId, u64> {
        let span = now.saturating_duration_since(self.asked_at);
        if span < ASKED_WITHIN {
            return BTreeMap::new();
        }
        let offered: BTreeMap<TenantId, Duration> = self.pool.inspect(|machine| {
            machine.tenants().map(|tenant| (tenant.tenant, tenant.offered)).collect()
        });
        let rate = |(tenant, offered): (&TenantId, &Duration)| {
            let before = self.asked.get(tenant).copied().unwrap_or_default();
            let work = offered.saturating_sub(before).as_nanos() * 1_000_000_000;
            (*tenant, u64::try_from(work / span.as_nanos()).unwrap_or(u64::MAX))
        };
        let rates = offered.iter().map(rate).collect();
        (self.asked, self.asked_at) = (offered, now);
        rates
    }
}
