use super::{
    family::{self as of, Family},
    sheet::Sheet,
};
use ripstop_memory::{CodedMemory, CodedMemoryStatus, MemoryServerState};
use std::fmt;

type TierReading = (&'static Family, fn(&CodedMemoryStatus) -> f64);
const GAUGES: [TierReading; 6] = [
    (&of::TIER_KEYS, |status| status.keys as f64),
    (&of::TIER_STORED, |status| status.stored_bytes as f64),
    (&of::TIER_DEAD, |status| status.dead_bytes as f64),
    (&of::TIER_INDEX, |status| status.metadata_bytes as f64),
    (&of::TIER_POINTS_LEFT, |status| status.points_left as f64),
    (&of::TIER_WOUNDS, |status| status.wounds as f64),
];
const COUNTERS: [TierReading; 3] = [
    (&of::TIER_DECODED, |status| status.decoded as f64),
    (&of::TIER_DAMAGED, |status| status.damaged as f64),
    (&of::TIER_REFUSED, |status| status.refused as f64),
];

/// Writes how memory tiers stand.
pub(crate) fn encode(tiers: &[(String, CodedMemory)], sheet: &mut Sheet<'_>) -> fmt::Result {
    let seen: Vec<_> =
        tiers.iter().map(|(name, memory)| (&**name, memory.status(), memory.servers())).collect();
    for (family, read) in GAUGES {
        let mut rows = sheet.family(family)?;
        for (tier, status, _) in &seen {
            rows.gauge(&[("tier", *tier)], read(status))?;
        }
    }
    for (family, read) in COUNTERS {
        let mut rows = sheet.family(family)?;
        for (tier, status, _) in &seen {
            rows.number(&[("tier", *tier)], read(status))?;
        }
    }
    let mut rows = sheet.family(&of::TIER_SERVERS)?;
    for (tier, _, servers) in &seen {
        for state in MemoryServerState::ALL {
            let count = servers.iter().filter(|server| server.state == state).count();
            rows.gauge(&[("tier", *tier), ("state", state.name())], count as f64)?;
        }
    }
    Ok(())
}
