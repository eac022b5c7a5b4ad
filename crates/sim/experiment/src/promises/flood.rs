//! Three tenants, one of which floods the pool for a while.

use super::pool::{LIMITS, VARIANTS, by_class, name, policy, setting, with};
use crate::{
    Check, Expected, Outcome, Part, Run, Setting, TenantOutcome, TenantSetting,
    promise_tables::by_arrival, sweep,
};
use core::num::NonZero;
use ripstop_figure::{Axis, Figure, Panel, Points, Series, Table, TableError, percentile};
use ripstop_gateway::Recombination;

/// Who is calm: their number among the tenants.
const CALM: [usize; 2] = [0, 1];
/// Seconds before, in and after the flood.
const PHASES_S: [u64; 3] = [40, 20, 40];
/// Requests per second of each tenant.
const RATES_PER_S: [f64; 3] = [60.0, 60.0, 20.0];
/// How many times its rate the last one floods with.
const TIMES: f64 = 15.0;
const SECOND_NS: u64 = 1_000_000_000;
/// Points of each distribution.
const POINTS: usize = 300;

/// What came of one variant, its seeds together and each.
pub(super) struct Flood {
    recombination: Option<Recombination>,
    outcomes: Vec<Outcome>,
}

pub(super) fn runs(seeds: u64) -> u64 {
    VARIANTS.len() as u64 * seeds
}

fn pool() -> Setting {
    setting(&[
        ("shop", "0.95:150ms,0.999:1s", 5.5, None),
        ("mail", "0.9:200ms,0.99:500ms,0.999:2s", 5.5, None),
        ("batch", "0.9:1s,0.99:10s", 5.0, None),
    ])
}

pub(super) fn play(
    seeds: u64,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Flood> {
    let pool = pool();
    let jobs: Vec<_> =
        VARIANTS.iter().flat_map(|&r| (1..=seeds).map(move |seed| (r, seed))).collect();
    let [before, in_it, after] = PHASES_S;
    let [shop, mail, batch] = RATES_PER_S;
    let whole = before + in_it + after;
    let flood = [(before, batch), (in_it, batch * TIMES), (after, batch)];
    let load = by_class(&[&[(whole, shop)], &[(whole, mail)], &flood]);
    let work = |&(recombination, seed): &(Option<Recombination>, u64)| {
        let (setting, load, policy) = (&with(&pool, recombination), &load, &policy());
        let (limits, memory, warmup, keep_courses) = (LIMITS, 0.99, 0, true);
        Run { setting, load, policy, limits, memory, seed, warmup, keep_courses }.play()
    };
    let mut outcomes = sweep(&jobs, threads, work, done).into_iter();
    let variant = |&recombination: &Option<Recombination>| Flood {
        recombination,
        outcomes: outcomes.by_ref().take(seeds as usize).collect(),
    };
    VARIANTS.iter().map(variant).collect()
}

/// By how much more of its requests than promised are within a bound: the least over the tiers.
fn margin(tenant: &TenantSetting, outcome: &TenantOutcome) -> f64 {
    let over = tenant.tiers.iter().map(|t| outcome.within(t.bound) - t.fraction.as_f64());
    over.fold(f64::INFINITY, f64::min)
}

impl Flood {
    /// The least margin of a tenant over the seeds.
    fn margins(&self, tenant: usize) -> impl Iterator<Item = f64> {
        let terms = pool().tenants.list[tenant].clone();
        self.outcomes.iter().map(move |outcome| margin(&terms, &outcome.tenants[tenant]))
    }

    fn whole(&self, tenant: usize) -> TenantOutcome {
        let mut whole = TenantOutcome::default();
        self.outcomes.iter().for_each(|outcome| whole.merge(&outcome.tenants[tenant]));
        whole
    }
}

fn checks(floods: &[Flood]) -> Vec<Check> {
    let mut checks = Vec::new();
    for flood in floods {
        let all = CALM.iter().flat_map(|&tenant| flood.margins(tenant));
        let (claim, found, expected) = match flood.recombination {
            None | Some(Recombination::Fifo) => (
                "calm tenants while one floods: no promise is kept (best margin)",
                all.fold(f64::NEG_INFINITY, f64::max),
                Expected::AtMost(0.0),
            ),
            Some(
                Recombination::Split
                | Recombination::Fair
                | Recombination::PClock
                | Recombination::Miser,
            ) => (
                "calm tenants while one floods: all promises are kept (worst margin)",
                all.fold(f64::INFINITY, f64::min),
                Expected::AtLeast(0.0),
            ),
        };
        checks.push(Check::new(1, claim, found, expected).at(name(flood.recombination)));
    }
    checks
}

/// Response times over time.
pub(super) fn part(floods: &[Flood]) -> Result<Part, TableError> {
    let mut table =
        Table::new(["shaping", "tenant", "time_s", "requests", "refused", "p50_ms", "p95_ms"]);
    let names: Vec<String> = pool().tenants.list.into_iter().map(|tenant| tenant.name).collect();
    for flood in floods {
        for (class, tenant) in names.iter().enumerate() {
            let outcomes: Vec<&Outcome> = flood.outcomes.iter().collect();
            for bin in by_arrival(&outcomes, SECOND_NS, |own| usize::from(own) == class) {
                table.push([
                    name(flood.recombination).into(),
                    tenant.as_str().into(),
                    bin.time_s.into(),
                    bin.requests.into(),
                    bin.refused.into(),
                    percentile(&bin.took_ms, 50.0).into(),
                    percentile(&bin.took_ms, 95.0).into(),
                ]);
            }
        }
    }
    let mut figure = Figure::new("Response times while one tenant floods the pool").columns(2);
    for variant in VARIANTS {
        let x = Axis::linear("arrival, s").from(0.0);
        let y = Axis::log("95th percentile, ms").from(30.0).to(10_000.0);
        let title = name(variant);
        let mut panel = Panel::new(title, x, y).rule_y(150.0, "shop: 95 % within");
        for (tenant, points) in
            table.only("shaping", title)?.series("tenant", "time_s", "p95_ms")?
        {
            panel = panel.series(Series::line(tenant, points));
        }
        figure = figure.panel(panel);
    }
    let caption = "Three tenants; batch sends 15 times its rate from second 40 to 60. By the second of \
                   arrival, those that were done.";
    Ok(Part { file: "flood", caption, table, figure, checks: checks(floods) })
}

/// How many were answered within which time, beside what was promised.
pub(super) fn distribution(floods: &[Flood]) -> Part {
    let mut table = Table::new(["tenant", "shaping", "delay_ms", "share_within"]);
    let shown = [None, Some(Recombination::PClock)];
    let mut figure = Figure::new("What was promised and what was kept").columns(3).size(1200, 420);
    for (at, tenant) in pool().tenants.list.iter().enumerate() {
        let mut push = |shaping: &str, points: &Points| {
            for &(ms, share) in points {
                table.push([tenant.name.as_str().into(), shaping.into(), ms.into(), share.into()]);
            }
        };
        let (x, y) = (Axis::log("ms").from(10.0), Axis::linear("share of all requests").from(0.0));
        let mut panel = Panel::new(&tenant.name, x, y.to(1.0));
        let mut steps: Points = vec![(10.0, 0.0)];
        let tiers = tenant.tiers.iter();
        steps.extend(tiers.map(|t| (t.bound.as_secs_f64() * 1e3, t.fraction.as_f64())));
        steps.push((30_000.0, steps[steps.len() - 1].1));
        push("promised", &steps);
        panel = panel.series(Series::step("promised", steps));
        for flood in floods.iter().filter(|flood| shown.contains(&flood.recombination)) {
            let points = flood.whole(at).shares_within(POINTS);
            push(name(flood.recombination), &points);
            panel = panel.series(Series::step(name(flood.recombination), points));
        }
        figure = figure.panel(panel);
    }
    let caption = "The share of all requests of a tenant, refused ones included, answered within a time, \
                   flood and calm together.";
    Part { file: "distribution", caption, table, figure, checks: Vec::new() }
}
