//! A policy against its rivals in settings that were drawn: where it is worse than it may be.

use super::{
    generator::{Drawn, codes},
    verdict::{MEAN_MAX, P99_MAX},
};
use crate::{Budget, Layout, Outcome, PolicyChoice, Run, sweep};
use core::num::NonZero;
use ripstop_figure::{Cell, Estimate, Table};
use ripstop_model::Code;
use std::collections::BTreeMap;

/// Rivals beside the fixed code that is best on average.
const RIVALS: [&str; 3] = ["tofec", "tofec-multi", "hedge-p95"];
/// Fixed codes that are played with every seed: the best of all in one short run.
const CODES_KEPT: usize = 4;
/// How much shorter that run is, and its seed.
const SCREENED: (u64, u64) = (4, 1 << 32);
/// A minute that takes this many times as long on average as under the best fixed code is a
/// runaway, if it has enough requests to tell.
const RUNAWAY: f64 = 3.0;
const MINUTE_MIN: f64 = 30.0;
const MINUTE_NS: u64 = 60_000_000_000;

/// Columns of [`field`].
const COLUMNS: [&str; 14] = [
    "number",
    "setting",
    "policy",
    "mean_ms",
    "mean_ratio",
    "mean_ratio_low",
    "mean_ratio_high",
    "mean_rival",
    "p99_ms",
    "p99_ratio",
    "p99_ratio_low",
    "p99_ratio_high",
    "p99_rival",
    "runaways",
];

/// What came of one run.
struct Played {
    mean_ms: f64,
    p99_ms: f64,
    /// Requests that arrived in each minute, and what they took together, nanoseconds.
    minutes: BTreeMap<u64, (f64, f64)>,
}

impl Played {
    fn of(outcome: &Outcome) -> Self {
        let delays = outcome.delay();
        let mut minutes = BTreeMap::<u64, (f64, f64)>::new();
        for course in &outcome.courses {
            let minute = minutes.entry(course.arrived.as_nanos() / MINUTE_NS).or_default();
            *minute = (minute.0 + 1.0, minute.1 + course.took_ns as f64);
        }
        Self { mean_ms: delays.mean_ms, p99_ms: delays.p99_ms, minutes }
    }

    /// Minutes that took too long beside the same of a rival.
    fn runaways(&self, rival: &Self) -> usize {
        let is_one = |(minute, &(count, sum)): (&u64, &(f64, f64))| {
            let beside = rival.minutes.get(minute);
            beside.is_some_and(|&(others, theirs)| {
                count >= MINUTE_MIN && sum / count > RUNAWAY * theirs / others
            })
        };
        self.minutes.iter().filter(|&minute| is_one(minute)).count()
    }
}

/// Plays each of `policies` and its rivals in each setting, with the seeds from 1 on: a row for
/// each setting and policy. Ratios are those of means over seeds to the rival with the lowest, of
/// mean and of p99 by itself; their bounds are those of 95 % confidence, from the ratios by seed.
/// The first tenth of each run does not count. `done` is called after each setting.
pub fn field(
    settings: &[Drawn],
    policies: &[PolicyChoice],
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Table {
    let jobs: Vec<(usize, &Drawn)> = settings.iter().enumerate().collect();
    let rows =
        sweep(&jobs, threads, |&(number, drawn)| bout(number, drawn, policies, budget), done);
    let mut table = Table::new(COLUMNS);
    rows.into_iter().flatten().for_each(|row| table.push(row));
    table
}

fn play(drawn: &Drawn, policy: &PolicyChoice, seed: u64, warmup: u64) -> Played {
    let (setting, load, limits) = (&drawn.arena.setting, &drawn.load, drawn.limits);
    let (memory, keep_courses) = (0.99, true);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    Played::of(&run.play())
}

/// The fixed codes that do best in one short run.
fn best_codes(drawn: &Drawn, budget: Budget) -> Vec<PolicyChoice> {
    let short = budget.requests / SCREENED.0;
    let load = drawn.load.shortened(short);
    let drawn = Drawn { load, ..drawn.clone() };
    let mut codes: Vec<_> = codes(&drawn.arena.setting, drawn.limits)
        .into_iter()
        .map(|code| {
            let policy = PolicyChoice::fixed(code);
            (play(&drawn, &policy, SCREENED.1, short / 10).mean_ms, policy)
        })
        .collect();
    codes.sort_by(|a, b| a.0.total_cmp(&b.0));
    codes.into_iter().take(CODES_KEPT).map(|(_, policy)| policy).collect()
}

/// Whether a rival stays within the bounds of all codes. The hedge knows of none: it always has one
/// task more than are needed.
fn is_allowed(drawn: &Drawn, rival: &str) -> bool {
    let setting = &drawn.arena.setting;
    let k = if setting.layout == Layout::Spread { setting.code.k() } else { 1 };
    let hedged = |code: &Code| (code.n(), code.k()) == (k + 1, k);
    rival != "hedge-p95" || codes(setting, drawn.limits).iter().any(hedged)
}

fn average(runs: &[Played], of: fn(&Played) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

fn bout(number: usize, drawn: &Drawn, policies: &[PolicyChoice], budget: Budget) -> Vec<Vec<Cell>> {
    let warmup = (drawn.load.requests() / 10.0) as u64;
    let seeds = |policy: &PolicyChoice| -> Vec<Played> {
        (1..=budget.seeds).map(|seed| play(drawn, policy, seed, warmup)).collect()
    };
    let mean = |runs: &[Played]| average(runs, |run| run.mean_ms);
    let p99 = |runs: &[Played]| average(runs, |run| run.p99_ms);
    let fixed = best_codes(drawn, budget).into_iter().map(|code| (code.to_string(), seeds(&code)));
    let best = fixed.min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1))).expect("a pool has codes");
    let named = |name: &&str| ((*name).to_owned(), seeds(&name.parse().expect("it is a policy")));
    let others = RIVALS.iter().filter(|name| is_allowed(drawn, name));
    let rivals: Vec<_> = core::iter::once(best).chain(others.map(named)).collect();
    let least = |of: &dyn Fn(&[Played]) -> f64| {
        rivals.iter().min_by(|a, b| of(&a.1).total_cmp(&of(&b.1))).expect("there are rivals")
    };
    let (by_mean, by_p99) = (least(&mean), least(&p99));
    let row = |policy: &PolicyChoice| {
        let own = seeds(policy);
        let runaways: usize =
            own.iter().zip(&rivals[0].1).map(|(own, fixed)| own.runaways(fixed)).sum();
        let mut row: Vec<Cell> = vec![
            number.into(),
            drawn.arena.name.as_str().into(),
            policy.to_string().into(),
            mean(&own).into(),
        ];
        row.extend(ratio(&own, by_mean, |run| run.mean_ms));
        row.push(p99(&own).into());
        row.extend(ratio(&own, by_p99, |run| run.p99_ms));
        row.push(runaways.into());
        row
    };
    policies.iter().map(row).collect()
}

/// The ratio to a rival, its confidence, and the rival.
fn ratio(own: &[Played], rival: &(String, Vec<Played>), of: fn(&Played) -> f64) -> [Cell; 4] {
    let by_seed: Vec<f64> =
        own.iter().zip(&rival.1).map(|(own, rival)| libm::log(of(own) / of(rival))).collect();
    let estimate = Estimate::of(&by_seed).filter(|estimate| estimate.half_width.is_finite());
    let end = |of: fn(&Estimate) -> f64| Cell::from(estimate.as_ref().map(|it| libm::exp(of(it))));
    let ratio = average(own, of) / average(&rival.1, of);
    [ratio.into(), end(Estimate::low), end(Estimate::high), rival.0.as_str().into()]
}

/// What a field's table says of one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Stand {
    /// Settings that were played.
    pub settings: usize,
    /// Of them, those in which mean and p99 are within their bounds.
    pub within: usize,
    /// Those in which one is beyond its bound with 95 % confidence.
    pub beyond: usize,
    /// Minutes that ran away.
    pub runaways: usize,
    /// Geometric means of the ratios of means and of p99s.
    pub ratios: (f64, f64),
    /// The rows, the worst excess over a bound first.
    pub worst: Vec<Vec<Cell>>,
}

/// How a policy did in a [`field`].
pub fn stand(table: &Table, policy: &str) -> Stand {
    let at = |name: &str| table.index(name).expect("fields have this column");
    let number = |row: &[Cell], name: &str| row[at(name)].number().unwrap_or(f64::NAN);
    let own = |row: &&Vec<Cell>| row[at("policy")].shown() == policy;
    let mut worst: Vec<Vec<Cell>> = table.rows().iter().filter(own).cloned().collect();
    let excess = |row: &[Cell], mean: &str, p99: &str| {
        f64::max(number(row, mean) / MEAN_MAX, number(row, p99) / P99_MAX)
    };
    let over = |row: &Vec<Cell>| excess(row, "mean_ratio", "p99_ratio");
    worst.sort_by(|a, b| over(b).total_cmp(&over(a)));
    let settings = worst.len();
    let count = |is: &dyn Fn(&Vec<Cell>) -> bool| worst.iter().filter(|row| is(row)).count();
    let middle = |name: &str| {
        libm::exp(
            worst.iter().map(|row| libm::log(number(row, name))).sum::<f64>() / settings as f64,
        )
    };
    Stand {
        settings,
        within: count(&|row| over(row) <= 1.0),
        beyond: count(&|row| excess(row, "mean_ratio_low", "p99_ratio_low") > 1.0),
        runaways: worst.iter().map(|row| number(row, "runaways") as usize).sum(),
        ratios: (middle("mean_ratio"), middle("p99_ratio")),
        worst,
    }
}
