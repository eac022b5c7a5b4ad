//! What pools want of what gateways have together, and how they are told what they may take.

use crate::state::State;
use crate::thing::Kind;
use ripstop_gateway::{NodeSpec, Shaping, TenantTerms, TierTerms};
use ripstop_model::TenantId;
use std::collections::BTreeMap;
use std::time::Instant;

/// Looks at what pools could use now.
pub(crate) fn look(state: &mut State, now: Instant) {
    for number in 0..state.pools.len() {
        let (nodes, beside) = {
            let pool = &state.pools[number].pool;
            let (nodes, backlog) = pool
                .inspect(|machine| (machine.nodes().collect::<Vec<_>>(), machine.load().backlog));
            // Requests that wait to start would each take k lanes, wherever.
            let tasks = backlog * pool.code().k();
            let beside = tasks.div_ceil(nodes.len().max(1));
            (nodes, beside)
        };
        let asked = state.pools[number].asked(now);
        for thing in state.things.values_mut() {
            match thing.kind {
                Kind::Lanes { pool, node } if pool == number => {
                    let Some(gauge) = nodes.iter().find(|gauge| gauge.id == node) else { continue };
                    thing.busy = u64::from(gauge.lanes_busy);
                    let wanted = thing.busy + (gauge.tasks_waiting + beside) as u64;
                    thing.peak = thing.peak.max(wanted);
                }
                Kind::Promise { pool, tenant } if pool == number => {
                    let asked = asked.get(&tenant).copied().unwrap_or(0);
                    thing.peak = thing.peak.max(asked);
                }
                Kind::Lanes { .. } | Kind::Promise { .. } => {}
            }
        }
    }
}

/// Tells pools what they may take, where that is something else than before.
pub(crate) fn apply(state: &mut State) {
    let State { pools, things, .. } = state;
    for (number, pool) in pools.iter_mut().enumerate() {
        let mut lanes = Vec::new();
        let mut parts: BTreeMap<TenantId, (u64, u64)> = BTreeMap::new();
        for thing in things.values() {
            match thing.kind {
                Kind::Lanes { pool: of, node } if of == number => {
                    let taken = u16::try_from(thing.taken).unwrap_or(u16::MAX).max(1);
                    if pool.lanes.insert(node, taken) != Some(taken) {
                        lanes.push(NodeSpec { id: node, lanes: taken });
                    }
                }
                Kind::Promise { pool: of, tenant } if of == number => {
                    parts.insert(tenant, (thing.taken, thing.whole));
                }
                Kind::Lanes { .. } | Kind::Promise { .. } => {}
            }
        }
        if !lanes.is_empty() {
            pool.pool.divide_lanes(lanes);
        }
        let shaping = scaled(&pool.promised, &parts);
        if pool.is_shaped && pool.told.as_ref() != Some(&shaping) {
            pool.told = Some(shaping.clone());
            pool.pool.shape(shaping);
        }
    }
}

/// Of what is promised, the part that this gateway keeps.
fn scaled(promised: &Shaping, parts: &BTreeMap<TenantId, (u64, u64)>) -> Shaping {
    let tenant = |terms: &TenantTerms| {
        let (taken, whole) = parts.get(&terms.tenant).copied().unwrap_or((1, 1));
        let tier = |tier: &TierTerms| {
            let capacity = u128::from(tier.capacity) * u128::from(taken) / u128::from(whole);
            let capacity = u64::try_from(capacity).unwrap_or(u64::MAX).max(1);
            TierTerms { capacity, ..*tier }
        };
        TenantTerms { tenant: terms.tenant, tiers: terms.tiers.iter().map(tier).collect() }
    };
    Shaping {
        recombination: promised.recombination,
        tenants: promised.tenants.iter().map(tenant).collect(),
    }
}
