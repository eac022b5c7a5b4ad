//! How plans are played, and how what comes of them is checked.

use crate::{Dispatch, Run};
use core::num::NonZero;
use ripstop_experiment::{Check, Expected, sweep};
use ripstop_figure::{Estimate, TableError, mean};
use ripstop_placement::{Plan, PlanError, Problem};

/// How much is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Runs for each point, with the seeds 1 to this.
    pub seeds: u64,
    /// Requests of each.
    pub requests: usize,
    /// Threads; the outcome does not depend on it. All cores if not given.
    pub threads: Option<NonZero<usize>>,
}

/// Why there is no figure.
#[derive(Debug)]
pub enum FigureError {
    /// The setting has no plan: a mistake in it.
    Plan(PlanError),
    /// The table lacks what is drawn.
    Table(TableError),
}

impl core::fmt::Display for FigureError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Plan(error) => write!(f, "there is no plan: {error}"),
            Self::Table(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for FigureError {}

impl From<PlanError> for FigureError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<TableError> for FigureError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

pub(super) fn check(
    figure: u8,
    claim: &str,
    found: f64,
    expected: Expected,
    place: String,
) -> Check {
    let (preset, half_width, claim) = (None, None, claim.to_owned());
    Check { figure, claim, preset, found, half_width, expected, place }
}

/// One plan under one way to dispatch, played with every seed.
pub(super) struct Played {
    /// Mean latency of all requests.
    pub(super) all: Estimate,
    /// Of each class.
    pub(super) classes: Vec<Estimate>,
}

/// Plays (problem, plan, dispatch) triples with all seeds, on all threads.
pub(super) fn play(budget: Budget, runs: &[(&Problem, &Plan, Dispatch)]) -> Vec<Played> {
    let jobs: Vec<_> =
        runs.iter().flat_map(|run| (1..=budget.seeds).map(move |seed| (*run, seed))).collect();
    let work = |&((problem, plan, dispatch), seed): &((&Problem, &Plan, Dispatch), u64)| {
        let latencies = Run { problem, plan, dispatch }.play(budget.requests, seed);
        let means: Vec<f64> =
            latencies.iter().map(|class| mean(class).unwrap_or(f64::NAN)).collect();
        (mean(&latencies.concat()).unwrap_or(f64::NAN), means)
    };
    let found = sweep(&jobs, budget.threads, work, || ());
    let of = |seeds: &[(f64, Vec<f64>)]| {
        let estimate = |values: Vec<f64>| Estimate::of(&values).expect("there is a seed");
        let all = estimate(seeds.iter().map(|seed| seed.0).collect());
        let classes = 0..seeds[0].1.len();
        let class = |at: usize| estimate(seeds.iter().map(|seed| seed.1[at]).collect());
        Played { all, classes: classes.map(class).collect() }
    };
    found.chunks(budget.seeds as usize).map(of).collect()
}

/// The bound on the mean latency of all requests, with a z for each group: never above the plan's
/// own.
pub(super) fn bound(problem: &Problem, plan: &Plan) -> f64 {
    let class = |at: usize| plan.class_latency(problem, at) * problem.classes[at].rate;
    (0..problem.classes.len()).map(class).sum::<f64>() / problem.rate()
}
