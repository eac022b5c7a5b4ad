//! Memory tiers, in which pools keep what is read often.

use super::{
    bounds,
    kv::{KvConfig, KvPlace},
    name::{NAME_RULE, named},
    raw,
    rings::{self, SERVER_MEMORY},
    units::Size,
};
use anyhow::{Context as _, Result, ensure};
use ripstop_model::Code;
use std::{net::SocketAddr, time::Duration};

/// What the tier of the door that speaks memcached is called.
pub(crate) const KV_TIER: &str = "kv";
/// Bytes of requests under way, unless told otherwise.
const REQUESTS_MAX: u64 = 64 << 20;
/// How long a read waits for it, unless told otherwise: well above what servers nearby take.
const WAIT: Duration = Duration::from_millis(10);

/// A memory tier: memcached servers, coded across them.
#[derive(Clone, PartialEq, Debug)]
pub struct TierConfig {
    /// Unlike every other tier's.
    pub name: String,
    /// Any K of N rings suffice.
    pub code: Code,
    /// The servers of each ring.
    pub rings: Vec<Vec<SocketAddr>>,
    /// Whether others use these servers too.
    pub shared: bool,
    /// Bytes stored at all servers together, at most.
    pub stored_max: u64,
    /// Bytes of requests under way, at most.
    pub requests_max: usize,
    /// How long a read waits for it before nodes are asked too.
    pub wait: Duration,
}

impl TierConfig {
    /// How many servers it has.
    pub fn servers(&self) -> usize {
        self.rings.iter().map(Vec::len).sum()
    }
}

pub(super) fn tiers(raw: Vec<raw::Tier>, kv: Option<&KvConfig>) -> Result<Vec<TierConfig>> {
    let mut tiers: Vec<TierConfig> = Vec::with_capacity(raw.len());
    for raw in raw {
        let name = raw.name.clone();
        ensure!(named(&name) && name != KV_TIER, "tier.name {name:?}: {NAME_RULE}, and not \"kv\"");
        ensure!(tiers.iter().all(|tier| tier.name != name), "tier.name {name:?} is given twice");
        let tier = tier(raw).with_context(|| format!("tier {name:?}"))?;
        for other in &tiers {
            rings::apart(parts(&tier), parts(other))?;
        }
        if let Some(KvPlace::Servers { rings, shared, .. }) = kv.map(|kv| &kv.place) {
            rings::apart(parts(&tier), (KV_TIER, rings, *shared))?;
        }
        tiers.push(tier);
    }
    Ok(tiers)
}

fn parts(tier: &TierConfig) -> (&str, &[Vec<SocketAddr>], bool) {
    (&tier.name, &tier.rings, tier.shared)
}

fn tier(raw: raw::Tier) -> Result<TierConfig> {
    let code = rings::code("tier", &raw.rings, raw.code)?;
    let servers: usize = raw.rings.iter().map(Vec::len).sum();
    let requests = bounds::size("requests_max", raw.requests_max, REQUESTS_MAX, &bounds::MEMORY)?;
    let requests_max = usize::try_from(requests).with_context(|| {
        format!("requests_max is {}: more than this machine can address", Size(requests))
    })?;
    let stored_max = SERVER_MEMORY * servers as u64;
    Ok(TierConfig {
        name: raw.name,
        code,
        rings: raw.rings,
        shared: raw.shared,
        stored_max: bounds::size("memory_max", raw.memory_max, stored_max, &bounds::MEMORY)?,
        requests_max,
        wait: bounds::span("wait", raw.wait, WAIT, &bounds::TIER_WAIT)?,
    })
}
