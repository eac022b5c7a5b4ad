//! A tenant that is alone gets the whole pool, whatever it was granted.

use super::pool::{LANES, LIMITS, VARIANTS, by_class, name, policy, setting, with};
use crate::{Check, Course, Expected, Part, Run, Tenants, sweep};
use core::num::NonZero;
use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError, mean};
use ripstop_gateway::Recombination;

const SPAN_S: u64 = 60;
/// The first seconds, while it is not known what a request costs, do not count.
const FROM_S: u64 = 10;
/// Shares of full capacity that it asks for.
const LOADS: [f64; 6] = [0.3, 0.6, 0.9, 1.2, 1.5, 2.0];
/// Lanes that it was granted; the others have the rest.
const GRANTED: f64 = 4.0;

/// Answers per second of each seed, by variant and load.
pub(super) struct Idle {
    recombination: Option<Recombination>,
    load: f64,
    answered_per_s: f64,
    full_per_s: f64,
}

pub(super) fn runs(seeds: u64) -> u64 {
    (VARIANTS.len() * LOADS.len()) as u64 * seeds
}

pub(super) fn play(
    seeds: u64,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Idle> {
    let others = f64::from(LANES) - GRANTED;
    let promise = "0.9:200ms,0.99:1s";
    let pool = setting(&[("alone", promise, GRANTED, None), ("idle", promise, others, None)]);
    let full_per_s = pool.capacity_per_s();
    let points: Vec<_> =
        VARIANTS.iter().flat_map(|&variant| LOADS.map(|load| (variant, load))).collect();
    let jobs: Vec<_> =
        points.iter().flat_map(|point| (1..=seeds).map(move |seed| (*point, seed))).collect();
    let work = |&((recombination, share), seed): &((Option<Recombination>, f64), u64)| {
        let load = &by_class(&[&[(SPAN_S, share * full_per_s)], &[(SPAN_S, 0.0)]]);
        let (setting, policy) = (&with(&pool, recombination), &policy());
        let (limits, memory, warmup, keep_courses) = (LIMITS, 0.99, 0, true);
        let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
        let within = |course: &&Course| {
            let at = course.arrived.as_nanos() + course.took_ns;
            (FROM_S..SPAN_S).contains(&(at / 1_000_000_000))
        };
        run.play().courses.iter().filter(within).count() as f64 / (SPAN_S - FROM_S) as f64
    };
    let answered = sweep(&jobs, threads, work, done);
    let point = |(&(recombination, load), answered): (&(Option<Recombination>, f64), &[f64])| {
        let answered_per_s = mean(answered).unwrap_or(f64::NAN);
        Idle { recombination, load, answered_per_s, full_per_s }
    };
    points.iter().zip(answered.chunks(seeds as usize)).map(point).collect()
}

fn checks(idles: &[Idle]) -> Vec<Check> {
    let at = |variant, load: f64| {
        let here =
            |idle: &&Idle| idle.recombination == variant && idle.load.total_cmp(&load).is_eq();
        idles.iter().find(here).map_or(f64::NAN, |idle| idle.answered_per_s)
    };
    let check = |variant: Option<Recombination>| {
        let ratio = |load: f64| (at(variant, load) / at(None, load), load);
        let worst = LOADS.iter().map(|&load| ratio(load)).min_by(|a, b| a.0.total_cmp(&b.0));
        let (worst, load) = worst.unwrap_or((f64::NAN, f64::NAN));
        let claim = "answers a second of a tenant alone, over those without a shaper (least)";
        let place = format!("{} at {:.0} %", Tenants::recombination_name(variant), load * 100.0);
        Check::new(4, claim, worst, Expected::AtLeast(0.97)).at(place)
    };
    VARIANTS.into_iter().flatten().map(|variant| check(Some(variant))).collect()
}

pub(super) fn part(idles: &[Idle]) -> Result<Part, TableError> {
    let mut table = Table::new(["shaping", "load", "asked_per_s", "answered_per_s"]);
    for idle in idles {
        let asked = idle.load * idle.full_per_s;
        let row = [idle.load, asked, idle.answered_per_s].map(Into::into);
        table.push(core::iter::once(name(idle.recombination).into()).chain(row));
    }
    let x = Axis::linear("asked, requests/s").from(0.0);
    let y = Axis::linear("answered, requests/s").from(0.0);
    let full = idles.first().map_or(0.0, |idle| idle.full_per_s);
    let mut panel = Panel::new("", x, y)
        .rule_y(full, "16 lanes, without redundancy")
        .rule_y(full * GRANTED / f64::from(LANES), "4 lanes, granted");
    for (variant, points) in table.series("shaping", "asked_per_s", "answered_per_s")? {
        panel = panel.series(Series::line(variant, points).markers());
    }
    let figure = Figure::new("A tenant alone in the pool").panel(panel);
    let caption = "A tenant with 4 of 16 lanes, the others idle.";
    Ok(Part { file: "conservation", caption, table, figure, checks: checks(idles) })
}
