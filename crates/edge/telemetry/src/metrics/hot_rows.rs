use super::{
    family::{self as of, Family},
    sheet::Sheet,
};
use ripstop_hot::{HotPool, HotStatus};
use std::fmt;

type HotReading = (&'static Family, fn(&HotStatus) -> f64);
const SPARED: [HotReading; 4] = [
    (&of::HOT_BYTES, |status| status.bytes as f64),
    (&of::HOT_REQUESTS_SPARED, |status| status.requests_spared as f64),
    (&of::HOT_DOLLARS_SPARED, |status| status.dollars_spared),
    (&of::HOT_SECONDS_SPARED, |status| status.seconds_spared),
];

/// Writes what pools find in memory tiers, and what that spares.
pub(crate) fn encode(pools: &[HotPool], sheet: &mut Sheet<'_>) -> fmt::Result {
    let pools: Vec<HotStatus> = pools.iter().map(HotPool::status).collect();
    let mut rows = sheet.family(&of::HOT_READS)?;
    for status in &pools {
        for (outcome, count) in status.reads {
            let outcome = ("outcome", outcome.name());
            rows.number(
                &[("pool", &*status.pool), ("tier", &*status.tier), outcome],
                count as f64,
            )?;
        }
    }
    for (family, read) in SPARED {
        let mut rows = sheet.family(family)?;
        for status in &pools {
            let labels = [("pool", &*status.pool), ("tier", &*status.tier)];
            rows.number(&labels, read(status))?;
        }
    }
    let mut rows = sheet.family(&of::HOT_BLOCKS)?;
    for status in &pools {
        for (outcome, count) in [
            ("kept", status.kept),
            ("passed_over", status.passed_over),
            ("failed", status.failed),
            ("spoiled", status.spoiled),
        ] {
            let outcome = ("outcome", outcome);
            rows.number(
                &[("pool", &*status.pool), ("tier", &*status.tier), outcome],
                count as f64,
            )?;
        }
    }
    Ok(())
}
