use super::{
    family::{self as of, Family},
    pool::Seen,
    sheet::Sheet,
};
use ripstop_keeper::PacksGauge;
use ripstop_model::PoolId;
use ripstop_store::{PackCounts, Store};
use std::{fmt, sync::atomic::AtomicU64};

type PackReading = (&'static Family, fn(&PacksGauge) -> u64);
const PACKED: [PackReading; 2] =
    [(&of::PACKED, |packs| packs.bytes), (&of::PACKED_DEAD, |packs| packs.dead)];
const CLEANED: [PackReading; 2] =
    [(&of::CLEANED, |packs| packs.cleaned.stripes), (&of::REWRITTEN, |packs| packs.cleaned.bytes)];

/// Writes how much of pools' packs is of use, and what was written again.
pub(crate) fn encode_cleaning(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let packs =
        || pools.iter().filter_map(|(counts, now)| Some((counts.name(), now.as_ref()?.packs)));
    for (family, read) in PACKED {
        let mut rows = sheet.family(family)?;
        for (pool, packs) in packs() {
            rows.gauge(&[("pool", pool)], read(&packs) as f64)?;
        }
    }
    for (family, read) in CLEANED {
        let mut rows = sheet.family(family)?;
        for (pool, packs) in packs() {
            rows.count(&[("pool", pool)], &AtomicU64::new(read(&packs)))?;
        }
    }
    Ok(())
}

/// Writes how small writes fare in the pools that gather them.
pub(crate) fn encode(
    store: &Store,
    pools: &[(String, PoolId)],
    sheet: &mut Sheet<'_>,
) -> fmt::Result {
    let gather = pools.iter().filter_map(|(pool, id)| {
        let counts = store.pack_counts(*id)?;
        Some(([("pool", &**pool)], counts, store.pack_interval(*id)))
    });
    let gather: Vec<_> = gather.collect();
    let mut rows = sheet.family(&of::GATHERED)?;
    for ([pool], counts, _) in &gather {
        let PackCounts { together, alone, collapsed, refused, .. } = counts;
        for (outcome, count) in [
            ("together", together),
            ("alone", alone),
            ("collapsed", collapsed),
            ("refused", refused),
        ] {
            rows.count(&[*pool, ("outcome", outcome)], count)?;
        }
    }
    let mut rows = sheet.family(&of::BATCH_MEMBERS)?;
    for (labels, counts, _) in &gather {
        rows.histogram(labels, &counts.members.buckets())?;
    }
    let mut rows = sheet.family(&of::BATCH_BYTES)?;
    for (labels, counts, _) in &gather {
        rows.count(labels, &counts.bytes)?;
    }
    let mut rows = sheet.family(&of::BATCH_WAIT)?;
    for (labels, counts, _) in &gather {
        rows.histogram(labels, &counts.waited.buckets())?;
    }
    let mut rows = sheet.family(&of::BATCH_INTERVAL)?;
    for (labels, _, interval) in &gather {
        rows.gauge(labels, interval.as_secs_f64())?;
    }
    Ok(())
}
