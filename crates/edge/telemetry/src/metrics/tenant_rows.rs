use super::{
    family::{self as of, Family},
    pool::{PoolCounts, Seen},
    sheet::Sheet,
    tenant::{Promised, Standing, TierCounts, place},
};
use ripstop_gateway::TierGauge;
use ripstop_roster::PoolGauges;
use ripstop_runtime::TimeHistogram;
use std::fmt;

/// Shares of requests whose times are on the page.
const QUANTILES: [(&str, f64); 2] = [("0.5", 0.5), ("0.99", 0.99)];

/// A tenant of a pool, and how the pool stands (nothing until it is watched).
struct Row<'a> {
    labels: [(&'static str, &'a str); 2],
    standing: &'a Standing,
    now: Option<&'a PoolGauges>,
}

impl<'a> Row<'a> {
    fn tier(&self, tier: &'a str) -> [(&'static str, &'a str); 3] {
        let [pool, tenant] = self.labels;
        [pool, tenant, ("tier", tier)]
    }

    /// What each tier took in, by the tier's name. What no tier took in has a row only where that
    /// happens.
    fn tiers(&self) -> impl Iterator<Item = (String, &'a TierCounts)> {
        let Standing { promise, tiers, .. } = self.standing;
        let shown = promise.is_empty() || tiers[0].is_used();
        let names = std::iter::once("none".to_owned()).chain((1..=promise.len()).map(name_of));
        names.zip(tiers).skip(usize::from(!shown))
    }

    fn gauge(&self, tier: u8) -> Option<&'a TierGauge> {
        let gauges = self.now?.tiers.iter();
        let mut gauges = gauges.filter(|gauge| gauge.tenant == self.standing.id);
        gauges.find(|gauge| gauge.tier == tier)
    }
}

/// Tiers are named by number, from 1.
fn name_of(place: usize) -> String {
    place.to_string()
}

/// Writes everything about the pools' tenants.
pub(crate) fn encode(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let standings: Vec<_> = pools.iter().map(|(counts, _)| counts.standings()).collect();
    let rows = pools.iter().zip(&standings).flat_map(|((counts, now), standings)| {
        standings.iter().map(|standing| row(counts, now.as_ref(), standing))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    encode_counts(&rows, sheet)?;
    encode_times(&rows, sheet)?;
    encode_gauges(&rows, sheet)?;
    encode_promises(&rows, sheet)
}

fn row<'a>(counts: &'a PoolCounts, now: Option<&'a PoolGauges>, standing: &'a Standing) -> Row<'a> {
    let labels = [("pool", &*counts.roster.names().name), ("tenant", &*standing.name)];
    Row { labels, standing, now }
}

type TierCount = (&'static Family, fn(&TierCounts) -> u64);
const TIER_COUNTS: [TierCount; 3] = [
    (&of::TENANT_ADMITTED, |tier| tier.admitted),
    (&of::TENANT_LATE, |tier| tier.late),
    (&of::TENANT_FAILED, |tier| tier.failed),
];
type TenantCount = (&'static Family, fn(&Standing) -> u64);
const TENANT_COUNTS: [TenantCount; 2] = [
    (&of::TENANT_MOVED_DOWN, Standing::moved_down),
    (&of::TENANT_REFUSED, |standing| standing.refused),
];

fn encode_counts(rows: &[Row<'_>], sheet: &mut Sheet<'_>) -> fmt::Result {
    for (family, count) in TIER_COUNTS {
        let mut page = sheet.family(family)?;
        for row in rows {
            for (tier, counts) in row.tiers() {
                page.count(&row.tier(&tier), &count(counts).into())?;
            }
        }
    }
    for (family, count) in TENANT_COUNTS {
        let mut page = sheet.family(family)?;
        for row in rows {
            page.count(&row.labels, &count(row.standing).into())?;
        }
    }
    Ok(())
}

fn encode_times(rows: &[Row<'_>], sheet: &mut Sheet<'_>) -> fmt::Result {
    let mut page = sheet.family(&of::TENANT_SECONDS)?;
    for row in rows {
        let took = TimeHistogram::sum(row.standing.tiers.iter().map(|tier| &*tier.took));
        page.histogram(&row.labels, &took.buckets())?;
    }
    let mut page = sheet.family(&of::TENANT_TIER_SECONDS)?;
    for row in rows {
        for (tier, counts) in row.tiers() {
            page.histogram(&row.tier(&tier), &counts.took.buckets())?;
        }
    }
    let mut page = sheet.family(&of::TENANT_QUANTILE)?;
    for row in rows {
        let all = row.standing.window.took_all();
        let named = row.standing.promised().map(|at| (name_of(place(Some(at.tier))), at.took));
        for (tier, took) in std::iter::once(("all".to_owned(), &all)).chain(named) {
            for (label, p) in QUANTILES {
                let [pool, tenant, tier] = row.tier(&tier);
                let Some(took) = took.quantile(p) else { continue };
                page.gauge(&[pool, tenant, tier, ("quantile", label)], took.as_secs_f64())?;
            }
        }
    }
    Ok(())
}

type TierGaugeOf = (&'static Family, fn(&TierGauge) -> f64);
const TIER_GAUGES: [TierGaugeOf; 3] = [
    (&of::TENANT_WAITING, |tier| tier.waiting as f64),
    (&of::TENANT_ALLOWANCE, |tier| tier.allowance.as_secs_f64()),
    (&of::TENANT_QUEUED, |tier| tier.queued.as_secs_f64()),
];

fn encode_gauges(rows: &[Row<'_>], sheet: &mut Sheet<'_>) -> fmt::Result {
    for (family, read) in TIER_GAUGES {
        each_tier(rows, sheet, family, |row, at| row.gauge(at.tier).map(read))?;
    }
    Ok(())
}

type PromiseGauge = (&'static Family, fn(&Promised<'_>) -> f64);
const PROMISE_GAUGES: [PromiseGauge; 4] = [
    (&of::TENANT_PROMISE_FRACTION, |at| at.fraction.as_f64()),
    (&of::TENANT_PROMISE_BOUND, |at| at.bound.as_secs_f64()),
    (&of::TENANT_WITHIN, |at| at.within),
    (&of::TENANT_KEPT, |at| f64::from(u8::from(at.kept))),
];

fn encode_promises(rows: &[Row<'_>], sheet: &mut Sheet<'_>) -> fmt::Result {
    for (family, read) in PROMISE_GAUGES {
        each_tier(rows, sheet, family, |_, at| Some(read(at)))?;
    }
    Ok(())
}

/// A gauge for each tier of each promise, where there is a value.
fn each_tier(
    rows: &[Row<'_>],
    sheet: &mut Sheet<'_>,
    family: &'static Family,
    value: impl Fn(&Row<'_>, &Promised<'_>) -> Option<f64>,
) -> fmt::Result {
    let mut page = sheet.family(family)?;
    for row in rows {
        for at in row.standing.promised() {
            if let Some(value) = value(row, &at) {
                page.gauge(&row.tier(&name_of(place(Some(at.tier)))), value)?;
            }
        }
    }
    Ok(())
}
