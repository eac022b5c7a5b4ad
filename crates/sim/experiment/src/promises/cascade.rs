//! Three tiers, at loads up to what they were granted, beside a neighbour that takes all it can
//! get.

use super::pool::{LANES, LIMITS, VARIANTS, by_class, name, policy, setting, with};
use crate::{Arrivals, Check, Expected, Load, Part, Run, Setting, TenantSetting, sweep};
use core::{num::NonZero, time::Duration};
use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};
use ripstop_gateway::{Recombination, TierTerms};
use ripstop_model::Timestamp;
use ripstop_shaping::{CapacityPlan, Promise, Rule, Tier};

const PROMISE: &str = "0.9:150ms,0.99:500ms,1:2s";
/// Lanes kept free for it; the rest is the neighbour's.
const GRANTED: f64 = 8.0;
/// Requests per second of the neighbour: more than the whole pool serves.
const NEIGHBOUR_PER_S: f64 = 400.0;
/// Loads, as shares of what the granted lanes serve.
const LOADS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const SPAN_S: u64 = 120;
/// The first seconds, in which policy and shaper learn what requests cost, do not count.
const WARMUP_S: f64 = 10.0;
/// Drawn first, and checked.
const CHECKED: Option<Recombination> = Some(Recombination::PClock);

/// One load under one seed.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    recombination: Option<Recombination>,
    load: f64,
    /// Lanes that the promise takes on these arrivals.
    needed: f64,
    /// By tier: the share of all requests within its bound.
    within: Vec<f64>,
}

pub(super) fn runs(seeds: u64) -> u64 {
    (variants().count() * LOADS.len()) as u64 * seeds
}

/// Without a shaper the neighbour takes everything: that is not drawn.
fn variants() -> impl Iterator<Item = Option<Recombination>> {
    VARIANTS.into_iter().flatten().map(Some)
}

fn promise() -> Promise {
    PROMISE.parse().expect("it is a promise")
}

fn pool(parts: Option<Vec<f64>>) -> Setting {
    let lanes = f64::from(LANES) - GRANTED;
    setting(&[("own", PROMISE, GRANTED, parts), ("neighbour", "0.9:1s,0.99:10s", lanes, None)])
}

fn load(share: f64) -> Load {
    let rate = share * GRANTED / pool(None).lane_time_s();
    by_class(&[&[(SPAN_S, rate)], &[(SPAN_S, NEIGHBOUR_PER_S)]])
}

pub(super) fn play(
    seeds: u64,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Point> {
    let points = variants().flat_map(|variant| LOADS.map(|load| (variant, load)));
    let jobs: Vec<_> =
        points.flat_map(|point| (1..=seeds).map(move |seed| (point, seed))).collect();
    let work = |&((recombination, share), seed): &((Option<Recombination>, f64), u64)| {
        point(recombination, share, seed)
    };
    sweep(&jobs, threads, work, done)
}

/// Plans with the arrivals as `ripstop capacity` would, and plays with that plan.
fn point(recombination: Option<Recombination>, share: f64, seed: u64) -> Point {
    let load = load(share);
    let planned = plan(&load, seed);
    let parts = planned.tiers.iter().map(|tier| tier.capacity.max(1) as f64).collect();
    let needed = planned.total() as f64 * pool(None).lane_time_s();
    let setting = with(&pool(Some(parts)), recombination);
    let (setting, load, policy, limits) = (&setting, &load, &policy(), LIMITS);
    let warmup = (load.requests() / SPAN_S as f64 * WARMUP_S) as u64;
    let (memory, keep_courses) = (0.99, false);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    let outcome = run.play();
    let within = |tier: &TierTerms| outcome.tenants[0].within(tier.bound);
    let own: &TenantSetting = &setting.tenants.list[0];
    let within = own.tiers.iter().map(within).collect();
    Point { recombination, load: share, needed, within }
}

/// What the promise takes on these arrivals, in requests a second, what service itself takes being
/// off the bounds.
fn plan(load: &Load, seed: u64) -> CapacityPlan {
    let setting = pool(None);
    let own = Arrivals::new(&setting, load, seed).filter(|(class, _)| *class == 0);
    let times: Vec<Timestamp> = own.map(|(_, arrival)| arrival.at).collect();
    let arrivals = ripstop_shaping::Arrivals::new(&times).expect("they are in order");
    let less = |tier: &Tier| {
        let bound = tier.bound().saturating_sub(service());
        Tier::new(tier.fraction(), bound).expect("service is shorter than the bound")
    };
    let tiers = promise().tiers().iter().map(less).collect();
    CapacityPlan::new(arrivals, &Promise::new(tiers).expect("bounds still rise"), Rule::Exact)
}

/// 95 of 100 requests take at most this where nobody waits.
const fn service() -> Duration {
    Duration::from_millis(90)
}

fn checked(point: &&Point) -> bool {
    point.recombination == CHECKED && point.needed <= GRANTED
}

fn checks(points: &[Point]) -> Vec<Check> {
    let kept = |(at, tier): (usize, &Tier)| {
        let over = points.iter().filter(checked);
        let over = over.map(|point| (point.within[at] - tier.fraction().as_f64(), point.load));
        let (worst, load) = over.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, f64::NAN));
        let claim = format!("tier {tier}: kept wherever it is feasible (worst margin)");
        Check::new(3, claim, worst, Expected::AtLeast(0.0)).at(format!("{:.0} %", load * 100.0))
    };
    let mut checks: Vec<Check> = promise().tiers().iter().enumerate().map(kept).collect();
    let most = points.iter().filter(checked).map(|point| point.load);
    let most = most.fold(0.0, f64::max);
    let claim = "highest load, as a share of what was granted, at which it is feasible";
    checks.push(Check::new(3, claim, most, Expected::AtLeast(0.5)));
    checks
}

pub(super) fn part(points: &[Point]) -> Result<Part, TableError> {
    let table = table(points);
    let checked = table.only("shaping", name(CHECKED))?;
    let x = || Axis::linear("load, share of the granted lanes").from(0.0).to(1.0);
    let y = || Axis::linear("share of all requests").from(0.8).to(1.0);
    let title = format!("within each bound, {}, worst seed", name(CHECKED));
    let mut panel = Panel::new(title, x(), y());
    for (tier, points) in checked.series("tier", "load", "within_least")? {
        panel = panel.series(Series::line(tier, points).markers());
    }
    for tier in promise().tiers() {
        panel = panel.rule_y(tier.fraction().as_f64(), "");
    }
    let first = promise().tiers()[0];
    let title = format!("within {} ms, worst seed", first.bound().as_millis());
    let mut others = Panel::new(title, x(), y()).rule_y(first.fraction().as_f64(), "promised");
    let rows = table.only("tier", first.to_string())?;
    for (variant, points) in rows.series("shaping", "load", "within_least")? {
        others = others.series(Series::line(variant, points).markers());
    }
    let mut needed =
        Panel::new("lanes that it takes, worst seed", x(), Axis::linear("lanes").from(0.0));
    let rows = rows.only("shaping", name(CHECKED))?;
    for (_, points) in rows.series("tier", "load", "needed_lanes")? {
        needed = needed.series(Series::line("planned on the arrivals", points).markers());
    }
    let needed = needed.rule_y(GRANTED, "granted");
    let figure = Figure::new("Three tiers against load").columns(3).size(1400, 460);
    let figure = figure.panel(panel).panel(others).panel(needed);
    let caption = "Three tiers with 8 of 16 lanes, whose parts are planned on the arrivals, beside a \
                   neighbour that sends more than the whole pool serves.";
    Ok(Part { file: "cascade", caption, table, figure, checks: checks(points) })
}

/// A row for each variant, load and tier: the worst of the seeds.
fn table(points: &[Point]) -> Table {
    let columns =
        ["shaping", "load", "tier", "needed_lanes", "granted_lanes", "promised", "within_least"];
    let mut table = Table::new(columns);
    let all = variants().flat_map(|variant| LOADS.map(|load| (variant, load)));
    for (variant, load) in all {
        let here =
            |point: &&Point| point.recombination == variant && point.load.total_cmp(&load).is_eq();
        let here = points.iter().filter(here);
        let needed = here.clone().map(|point| point.needed).fold(0.0, f64::max);
        for (at, tier) in promise().tiers().iter().enumerate() {
            let within = here.clone().map(|point| point.within[at]).fold(1.0, f64::min);
            table.push([
                name(variant).into(),
                load.into(),
                tier.to_string().into(),
                needed.into(),
                GRANTED.into(),
                tier.fraction().as_f64().into(),
                within.into(),
            ]);
        }
    }
    table
}
