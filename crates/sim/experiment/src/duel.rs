//! Backfill against its rivals: the best fixed code for each load and measure, and TOFEC.

mod field;
mod generator;
mod newcomer;
mod verdict;

pub use field::{Stand, field, stand};
pub use generator::{Drawn, codes, drawn};
pub use newcomer::newcomer;
pub use verdict::{Bound, bounds, joined, report, summary};

use crate::{Budget, ClassSetting, Delay, Load, PolicyChoice, Process, Run, Setting, sweep};
use core::{num::NonZero, time::Duration};
use ripstop_delay::Preset;
use ripstop_figure::Table;
use ripstop_model::{Code, Operation};
use ripstop_policy::Limits;

/// A pool under which the rivals meet.
#[derive(Clone, Debug)]
pub struct Arena {
    /// What it is called in tables.
    pub name: String,
    /// The pool.
    pub setting: Setting,
}

/// Loads of a duel, as shares of full capacity.
pub fn duel_loads() -> Vec<f64> {
    vec![0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97]
}

/// Rivals that a duel is against beside every fixed code.
const RIVALS: [&str; 4] = ["backfill", "foresight", "tofec", "tofec-multi"];

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
const LANES: u16 = 16;

/// All presets, each plain, with the chunks of a request correlated, with dear cancellations, and
/// with reads and writes of two sizes.
pub fn arenas() -> Vec<Arena> {
    let mut arenas = Vec::new();
    for preset in Preset::ALL {
        let plain = Setting::of_tofec(Delay::Preset(preset), LANES);
        let mut add = |what: &str, setting: Setting| {
            arenas.push(Arena { name: format!("{}{what}", preset.name()), setting });
        };
        add("", plain.clone());
        add(" correlation 0.17", Setting { correlation: 0.17, ..plain.clone() });
        let cancellation = Duration::from_millis(20);
        add(" cancellation 20 ms", Setting { cancellation, ..plain.clone() });
        let kind = |operation, bytes| ClassSetting::new(operation, bytes, 1.0);
        let classes = Operation::ALL
            .into_iter()
            .flat_map(|operation| [1_000_000, 8_000_000].map(|bytes| kind(operation, bytes)))
            .collect();
        add(" mixed", Setting { classes, ..plain });
    }
    arenas
}

/// Plays a duel: a row for each policy and load, each measure the mean over the seeds. Fixed codes
/// that the lanes cannot keep up with are left out. From 90 % load on a run has four times as many
/// requests, because queues forget slowly there; the first tenth does not count. `done` is called
/// after each run.
pub fn duel(
    arena: &Arena,
    budget: Budget,
    loads: &[f64],
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Table {
    let setting = &arena.setting;
    let capacity = setting.capacity_per_s();
    let fixed = lane_times(setting, threads);
    let mut jobs = Vec::new();
    for &load in loads {
        let rivals = RIVALS.map(|name| name.parse().expect("it is a policy"));
        let keeps_up = |&&(_, lane_s): &&(Code, f64)| {
            lane_s * load * capacity < 0.995 * f64::from(setting.lanes())
        };
        let codes = fixed.iter().filter(keeps_up).map(|&(code, _)| PolicyChoice::fixed(code));
        for policy in rivals.into_iter().chain(codes) {
            jobs.extend((1..=budget.seeds).map(|seed| (policy.clone(), load, seed)));
        }
    }
    let played = |(policy, load, seed): &(PolicyChoice, f64, u64)| {
        play(setting, policy, *load, budget.requests, *seed)
    };
    let delays = sweep(&jobs, threads, played, done);
    let mut table =
        Table::new(["arena", "policy", "load", "mean_ms", "p50_ms", "p90_ms", "p99_ms"]);
    for (jobs, delays) in
        jobs.chunks(budget.seeds as usize).zip(delays.chunks(budget.seeds as usize))
    {
        let (policy, load, _) = &jobs[0];
        let mean = |of: fn(&crate::Delays) -> f64| {
            delays.iter().map(of).sum::<f64>() / delays.len() as f64
        };
        table.push([
            arena.name.as_str().into(),
            policy.to_string().into(),
            (*load).into(),
            mean(|d| d.mean_ms).into(),
            mean(|d| d.p50_ms).into(),
            mean(|d| d.p90_ms).into(),
            mean(|d| d.p99_ms).into(),
        ]);
    }
    table
}

/// One run at a share of full capacity.
fn play(
    setting: &Setting,
    policy: &PolicyChoice,
    share: f64,
    requests: u64,
    seed: u64,
) -> crate::Delays {
    let count = requests * if share >= 0.9 { 4 } else { 1 };
    let process = Process::Poisson(share * setting.capacity_per_s());
    let (memory, warmup, keep_courses) = (0.99, count / 10, false);
    let (load, limits) = (&Load::Requests { process, count }, LIMITS);
    Run { setting, load, policy, limits, memory, seed, warmup, keep_courses }.play().delay()
}

/// Mean lane time of a request under each fixed code, seconds, measured where nobody waits.
fn lane_times(setting: &Setting, threads: Option<NonZero<usize>>) -> Vec<(Code, f64)> {
    let codes: Vec<Code> =
        (1..=6).flat_map(|k| (k..=2 * k).filter_map(move |n| Code::new(n, k).ok())).collect();
    let rate = 0.02 * setting.capacity_per_s();
    let load = Load::Requests { process: Process::Poisson(rate), count: 4000 };
    let lane_s = |code: &Code| {
        let (policy, load) = (&PolicyChoice::fixed(*code), &load);
        let (limits, memory, seed, warmup, keep_courses) = (LIMITS, 0.99, 99, 0, false);
        let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
        run.play().tasks.lane_s / 4000.0
    };
    let times = sweep(&codes, threads, lane_s, || ());
    codes.into_iter().zip(times).collect()
}

/// How one policy did at one load of a duel, beside the best of the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// Share of full capacity.
    pub load: f64,
    /// Its mean over the lowest of any rival's.
    pub mean_ratio: f64,
    /// Its p99 over the lowest of any rival's.
    pub p99_ratio: f64,
}

/// How `policy` did in a duel's table against the fixed codes and the other named policies.
pub fn standings(table: &Table, policy: &str) -> Vec<Standing> {
    let column = |name: &str| table.index(name).expect("duels have this column");
    let (who, load) = (column("policy"), column("load"));
    let (mean, p99) = (column("mean_ms"), column("p99_ms"));
    let number = |row: &[ripstop_figure::Cell], at: usize| row[at].number().unwrap_or(f64::NAN);
    let mut standings: Vec<Standing> = Vec::new();
    let own = |row: &&Vec<ripstop_figure::Cell>| row[who].shown() == policy;
    for row in table.rows().iter().filter(own) {
        let at = number(row, load);
        let rivals = table.rows().iter().filter(|other| {
            let name = other[who].shown();
            let counts = name.starts_with("fixed") || name == "tofec";
            number(other, load).to_bits() == at.to_bits() && counts && name != policy
        });
        let (best_mean, best_p99) = rivals.fold((f64::INFINITY, f64::INFINITY), |best, rival| {
            (best.0.min(number(rival, mean)), best.1.min(number(rival, p99)))
        });
        standings.push(Standing {
            load: at,
            mean_ratio: number(row, mean) / best_mean,
            p99_ratio: number(row, p99) / best_p99,
        });
    }
    standings
}
