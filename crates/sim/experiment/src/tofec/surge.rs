//! Figure 11.

use super::{
    paper::{PRESETS, limits},
    point::setting,
    style::style,
};
use crate::{Budget, Course, Load, PolicyChoice, Process, Run, sweep};
use core::{num::NonZero, time::Duration};
use ripstop_delay::Preset;
use ripstop_figure::{Axis, Estimate, Figure, Panel, Series, Table, TableError};

/// Who meets the surge.
const POLICIES: [(&str, &str); 5] = [
    ("tofec", "TOFEC"),
    ("tofec-multi", "TOFEC, multi-server"),
    ("greedy", "greedy"),
    ("ideal", "ideal, told the rates"),
    ("backfill", "Backfill"),
];
/// Seconds and requests per second of each phase.
const PHASES: [(u64, f64); 3] = [(200, 10.0), (200, 80.0), (200, 10.0)];
/// When the surge is over, seconds.
const OVER_S: f64 = 400.0;
/// Runs for each seed of the budget: a surge is one event a run, so that much luck is in it.
const RUNS_PER_SEED: u64 = 4;
/// So few requests in the system are no backlog: at 10/s there is one on average.
const DRAINED: usize = 2;

/// What came of one run.
#[derive(Clone, PartialEq, Debug)]
struct Weathered {
    /// By window: mean delay of those that arrived in it (milliseconds), and mean k.
    windows: Vec<Option<(f64, f64)>>,
    /// By window: requests in the system when it begins.
    present: Vec<f64>,
    /// From the end of the surge until hardly a request is left, seconds.
    drained_s: f64,
    /// Requests in the system when the surge ends.
    left: f64,
}

/// A policy's runs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Surge {
    pub(super) preset: Preset,
    pub(super) policy: &'static str,
    name: &'static str,
    runs: Vec<Weathered>,
}

/// Runs it takes.
pub(super) fn runs(budget: Budget) -> u64 {
    (PRESETS.len() * POLICIES.len()) as u64 * seeds(budget)
}

fn seeds(budget: Budget) -> u64 {
    budget.seeds * RUNS_PER_SEED
}

/// Plays the surge with every policy.
pub(super) fn play(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Surge> {
    let plans: Vec<_> =
        PRESETS.into_iter().flat_map(|preset| POLICIES.map(|policy| (preset, policy))).collect();
    let jobs: Vec<_> =
        plans.iter().flat_map(|plan| (1..=seeds(budget)).map(move |seed| (*plan, seed))).collect();
    let work =
        |&((preset, (policy, _)), seed): &((Preset, (&str, &str)), u64)| one(preset, policy, seed);
    let results = sweep(&jobs, threads, work, done);
    let mut results = results.into_iter();
    let surges = plans.iter().map(|&(preset, (policy, name))| {
        let runs = results.by_ref().take(seeds(budget) as usize).collect();
        Surge { preset, policy, name, runs }
    });
    surges.collect()
}

/// Windows of the table: 5 s each, and 1 s each around the end of the surge.
fn windows() -> Vec<(f64, f64)> {
    let wide = (0..120).map(|at| (5.0 * f64::from(at), 5.0)).filter(|(from, _)| !zoomed(*from));
    let narrow = (395..440).map(|at| (f64::from(at), 1.0));
    let mut all: Vec<_> = wide.chain(narrow).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all
}

fn zoomed(at_s: f64) -> bool {
    (395.0..440.0).contains(&at_s)
}

fn one(preset: Preset, policy: &str, seed: u64) -> Weathered {
    let phase =
        |&(seconds, rate): &(u64, f64)| (Duration::from_secs(seconds), Process::Poisson(rate));
    let policy: PolicyChoice = policy.parse().expect("it is a policy");
    let run = Run {
        setting: &setting(preset),
        load: &Load::Phases(PHASES.iter().map(phase).collect()),
        policy: &policy,
        limits: limits(),
        memory: 0.99,
        seed,
        warmup: 0,
        keep_courses: true,
    };
    summary(&run.play().courses)
}

fn arrived_s(course: &Course) -> f64 {
    course.arrived.as_nanos() as f64 / 1e9
}

/// Courses are in the order of arrival.
fn summary(courses: &[Course]) -> Weathered {
    let mut left_s: Vec<f64> =
        courses.iter().map(|course| arrived_s(course) + course.took_ns as f64 / 1e9).collect();
    left_s.sort_by(f64::total_cmp);
    let present = |at: f64| {
        let came = courses.partition_point(|course| arrived_s(course) <= at);
        came - left_s.partition_point(|left| *left <= at)
    };
    let window = |(from, length): (f64, f64)| {
        let first = courses.partition_point(|course| arrived_s(course) < from);
        let end = courses.partition_point(|course| arrived_s(course) < from + length);
        let own = &courses[first..end];
        let mean = |of: fn(&Course) -> f64| own.iter().map(of).sum::<f64>() / own.len() as f64;
        let ms = |course: &Course| course.took_ns as f64 / 1e6;
        (!own.is_empty()).then(|| (mean(ms), mean(|course| f64::from(course.k))))
    };
    let drained = left_s.iter().filter(|&&at| at > OVER_S).find(|&&at| present(at) <= DRAINED);
    Weathered {
        windows: windows().into_iter().map(window).collect(),
        present: windows().into_iter().map(|(from, _)| present(from) as f64).collect(),
        drained_s: drained.map_or(f64::NAN, |at| at - OVER_S),
        left: present(OVER_S) as f64,
    }
}

impl Surge {
    /// Seconds from the end of the surge until hardly a request is left, run by run.
    pub(super) fn drained_s(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.drained_s).collect()
    }

    /// Requests in the system when the surge ends.
    pub(super) fn left(&self) -> Estimate {
        let left: Vec<f64> = self.runs.iter().map(|run| run.left).collect();
        Estimate::of(&left).expect("there is a run")
    }
}

/// Delay, k and requests in the system by time, means over the runs.
pub(super) fn table(surges: &[Surge]) -> Table {
    let columns =
        ["delays", "policy", "from_s", "length_s", "mean_ms", "half_width_ms", "k", "present"];
    let mut table = Table::new(columns);
    for surge in surges {
        for (at, (from, length)) in windows().into_iter().enumerate() {
            let own: Vec<_> = surge.runs.iter().filter_map(|run| run.windows[at]).collect();
            let delays: Vec<f64> = own.iter().map(|(ms, _)| *ms).collect();
            let ks: Vec<f64> = own.iter().map(|(_, k)| *k).collect();
            let present: Vec<f64> = surge.runs.iter().map(|run| run.present[at]).collect();
            let delay = Estimate::of(&delays);
            let half = delay.map(|delay| delay.half_width).filter(|half| half.is_finite());
            table.push([
                surge.preset.name().into(),
                surge.name.into(),
                from.into(),
                length.into(),
                delay.map(|delay| delay.mean).into(),
                half.into(),
                ripstop_figure::mean(&ks).into(),
                ripstop_figure::mean(&present).into(),
            ]);
        }
    }
    table
}

/// Delay, k, the end of the surge from near, requests in the system.
pub(super) fn draw(table: &Table, title: String) -> Result<Figure, TableError> {
    let seconds = || Axis::linear("arrival, s");
    let near = || seconds().from(395.0).to(440.0);
    let panels = [
        ("delay", "mean_ms", seconds().from(0.0).to(600.0), Axis::log("mean delay, ms").from(50.0)),
        ("k", "k", seconds().from(0.0).to(600.0), Axis::linear("mean k").from(0.0).to(6.0)),
        ("delay after the surge", "mean_ms", near(), Axis::log("mean delay, ms").from(50.0)),
        ("requests in the system", "present", near(), Axis::linear("requests").from(0.0)),
    ];
    let mut figure = Figure::new(title).size(1000, 800);
    for (name, column, x, y) in panels {
        let mut panel = Panel::new(name, x, y);
        for (policy, points) in table.series("policy", "from_s", column)? {
            let style = style(&policy);
            panel = panel.series(Series::line(policy, points).style(style));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::Timestamp;

    #[test]
    fn a_surge_is_drained_when_two_requests_are_left() {
        let course = |arrived: u64, left: u64| {
            let arrived = Timestamp::from_nanos(arrived * 1_000_000_000);
            let took_ns = left * 1_000_000_000 - arrived.as_nanos();
            Course { arrived, took_ns, n: 2, k: 1, request: arrived.as_nanos(), class: 0 }
        };
        let found =
            summary(&[course(390, 402), course(391, 403), course(398, 404), course(399, 407)]);
        assert!(
            (found.left - 4.0).abs() < 1e-9 && (found.drained_s - 3.0).abs() < 1e-9,
            "{found:?}"
        );
        let at = windows().iter().position(|(from, _)| (from - 398.0).abs() < 1e-9).unwrap();
        assert_eq!(found.windows[at], Some((6000.0, 1.0)));
        assert_eq!((found.windows[0], found.present[at]), (None, 3.0));
    }

    #[test]
    fn windows_follow_one_another_without_gaps() {
        let windows = windows();
        for pair in windows.windows(2) {
            assert!((pair[0].0 + pair[0].1 - pair[1].0).abs() < 1e-9, "{pair:?}");
        }
        let last = windows.last().unwrap();
        assert!((last.0 + last.1 - 600.0).abs() < 1e-9);
    }
}
