//! Memory tiers: begun, and given to pools.

use crate::config::{Config, TierConfig};
use anyhow::{Context as _, Result};
use ripstop_hot::{HotTier, HotTierSettings};
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
use ripstop_seal::StoreKey;

/// Of what may be under way at a tier, the part that may be on its way to be kept: the rest is for
/// reads.
const OFFERS_PART: usize = 4;

/// The tiers in which some pool keeps something.
pub(crate) fn begin(config: &Config) -> Result<Vec<HotTier>> {
    let is_used =
        |tier: &&TierConfig| config.pools.iter().any(|pool| pool.hot.as_ref() == Some(&tier.name));
    config.tiers.iter().filter(is_used).map(tier).collect()
}

fn tier(config: &TierConfig) -> Result<HotTier> {
    let TierConfig { name, code, rings, shared, stored_max, requests_max, wait } = config;
    let settings = CodedMemorySettings {
        name: name.clone(),
        code: *code,
        rings: rings.clone(),
        is_shared: *shared,
        link: LinkSettings::default(),
        bytes_max: *requests_max,
    };
    // Nothing of one run is read by the next, so the key need not outlast it.
    let memory = CodedMemory::new(settings, &StoreKey::generate());
    let memory = memory.with_context(|| format!("tier {name:?}"))?;
    let settings = HotTierSettings {
        name: name.clone(),
        wait: *wait,
        offers_max: requests_max / OFFERS_PART,
        stored_max: *stored_max,
    };
    Ok(HotTier::new(memory, settings))
}
