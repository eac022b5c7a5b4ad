//! A point of a figure: a run with every seed, under some batching.

use crate::{Run, Store};
use core::{num::NonZero, time::Duration};
use ripstop_batching::ControllerSettings;
use ripstop_experiment::{Check, Expected, sweep};
use ripstop_figure::Estimate;

/// How much is played.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    /// Runs for each point, with the seeds 1 to this.
    pub seeds: u64,
    /// Cycles of all writers that each run measures at least.
    pub cycles: f64,
}

/// Intervals of the slides, which depart whatever is outstanding.
pub(super) const EVERY_MS: [u64; 5] = [10, 20, 40, 80, 160];
/// Intervals among which the best is found afterwards; none is the first.
const SCANNED_MS: [u64; 16] =
    [0, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 450, 700, 1000, 1500, 2200];
/// Those are not tried that are longer than this many cycles without an interval, nor shorter than
/// this part of one.
const SCANNED_CYCLES: (f64, f64) = (0.04, 2.0);
/// What is always tried.
const SCANNED_ALWAYS_MS: u64 = 35;

/// What decides when batches depart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Batching {
    /// A controller.
    Named(&'static str),
    /// Every interval of this many milliseconds.
    Every(u64),
    /// This many milliseconds after each end.
    Fixed(u64),
}

impl Batching {
    pub(super) fn name(self) -> String {
        match self {
            Self::Named(name) => name.to_owned(),
            Self::Every(ms) => format!("every {ms} ms"),
            Self::Fixed(ms) => format!("fixed {ms} ms"),
        }
    }

    pub(super) fn of(self, run: Run) -> Run {
        let (controller, ms) = match self {
            Self::Named(name) => (name, 0),
            Self::Every(ms) => ("fixed-every", ms),
            Self::Fixed(ms) => ("fixed", ms),
        };
        let settings = ControllerSettings { interval: Duration::from_millis(ms), ..run.settings };
        Run { controller, settings, ..run }
    }
}

/// Controllers that are compared, but for the fixed intervals.
pub(super) const NATURAL: Batching = Batching::Named("natural");
pub(super) const OURS: Batching = Batching::Named("modelled");
pub(super) const ADAPTIVE: [Batching; 4] =
    [NATURAL, Batching::Named("stout"), Batching::Named("stout-10"), OURS];

/// A setting under which batchings are compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Setting {
    pub(super) store: Store,
    pub(super) writers: u32,
    pub(super) load_per_s: f64,
    pub(super) keys: u64,
}

impl Setting {
    pub(super) fn run(&self, budget: Budget) -> Run {
        let Self { store, writers, load_per_s, keys } = *self;
        let cycles = budget.cycles;
        Run { writers, load_per_s, keys, cycles, ..Run::new(store, "natural") }
    }

    /// Fixed intervals that may be the best, no interval first.
    pub(super) fn scanned(&self) -> Vec<Batching> {
        let cycle = self.run(Budget { seeds: 1, cycles: 1.0 }).cycle_ms();
        let (least, most) = SCANNED_CYCLES;
        let may_be = |ms: &u64| {
            let cycles = *ms as f64 / cycle;
            *ms == 0
                || *ms <= SCANNED_ALWAYS_MS && cycles <= 1e3
                || (least..=most).contains(&cycles)
        };
        SCANNED_MS.into_iter().filter(may_be).map(Batching::Fixed).collect()
    }
}

/// What came of a point.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    pub(super) batching: Batching,
    /// Of each seed.
    pub(super) mean_ms: Vec<f64>,
    pub(super) p99_ms: Vec<f64>,
    pub(super) is_saturated: bool,
    pub(super) batches_per_s: f64,
    pub(super) left_share: f64,
    pub(super) interval_ms: f64,
}

impl Measured {
    /// The mean over seeds of the mean, and of the 99th percentile; none where writes waited ever
    /// longer.
    pub(super) fn mean(&self) -> Option<Estimate> {
        Estimate::of(&self.mean_ms).filter(|_| !self.is_saturated)
    }

    pub(super) fn p99(&self) -> Option<Estimate> {
        Estimate::of(&self.p99_ms).filter(|_| !self.is_saturated)
    }
}

/// Plays settings under batchings, every one with every seed.
pub(super) fn play(
    points: &[(Setting, Vec<Batching>)],
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Vec<Measured>> {
    let jobs: Vec<(Run, u64)> = points
        .iter()
        .flat_map(|(setting, batchings)| batchings.iter().map(|it| it.of(setting.run(budget))))
        .flat_map(|run| (1..=budget.seeds).map(move |seed| (run, seed)))
        .collect();
    let work = |(run, seed): &(Run, u64)| {
        let outcome = run.play(*seed);
        let percentile = outcome.latency.percentile_ms(99.0);
        let mean = outcome.latency.mean_ms().unwrap_or(f64::NAN);
        let numbers = [
            mean,
            percentile.unwrap_or(f64::NAN),
            outcome.batches as f64 / outcome.measured_s,
            outcome.left_share(),
            outcome.interval_ms,
        ];
        (numbers, outcome.is_saturated)
    };
    let played = sweep(&jobs, threads, work, done);
    let mut seeds = played.chunks(budget.seeds as usize);
    let mut of = |batching: &Batching| {
        let played = seeds.next().expect("every point was played");
        let column = |at: usize| played.iter().map(|it| it.0[at]).collect::<Vec<f64>>();
        let average = |at: usize| column(at).iter().sum::<f64>() / played.len() as f64;
        Measured {
            batching: *batching,
            mean_ms: column(0),
            p99_ms: column(1),
            is_saturated: played.iter().any(|it| it.1),
            batches_per_s: average(2),
            left_share: average(3),
            interval_ms: average(4),
        }
    };
    points.iter().map(|(_, batchings)| batchings.iter().map(&mut of).collect()).collect()
}

/// How many runs [`play`] takes.
pub(super) fn count(points: &[(Setting, Vec<Batching>)], budget: Budget) -> u64 {
    points.iter().map(|(_, batchings)| batchings.len() as u64).sum::<u64>() * budget.seeds
}

/// One of the two measures that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Measure {
    Mean,
    P99,
}

impl Measure {
    pub(super) const ALL: [Self; 2] = [Self::Mean, Self::P99];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P99 => "p99",
        }
    }

    pub(super) fn of(self, measured: &Measured) -> Option<Estimate> {
        match self {
            Self::Mean => measured.mean(),
            Self::P99 => measured.p99(),
        }
    }

    fn seeds(self, measured: &Measured) -> &[f64] {
        match self {
            Self::Mean => &measured.mean_ms,
            Self::P99 => &measured.p99_ms,
        }
    }

    /// The best of the fixed intervals by this measure.
    pub(super) fn best(self, measured: &[Measured]) -> Option<&Measured> {
        let fixed = measured.iter().filter(|it| matches!(it.batching, Batching::Fixed(_)));
        let known = fixed.filter_map(|it| Some((self.of(it)?.mean, it)));
        known.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, best)| best)
    }

    /// One over the other, seed by seed; none if the other is saturated, infinite if only this one
    /// is.
    pub(super) fn ratio(self, one: &Measured, other: &Measured) -> Option<Estimate> {
        if other.is_saturated {
            return None;
        }
        if one.is_saturated {
            return Some(Estimate { mean: f64::INFINITY, half_width: 0.0, count: 1 });
        }
        let ratios = self.seeds(one).iter().zip(self.seeds(other)).map(|(one, other)| one / other);
        Estimate::of(&ratios.collect::<Vec<_>>())
    }
}

pub(super) fn find(measured: &[Measured], batching: Batching) -> Option<&Measured> {
    measured.iter().find(|it| it.batching == batching)
}

/// The greatest of some ratios, where each has its place; none of none.
pub(super) fn worst(
    ratios: impl IntoIterator<Item = (Estimate, String)>,
) -> Option<(Estimate, String)> {
    ratios.into_iter().max_by(|one, other| one.0.mean.total_cmp(&other.0.mean))
}

pub(super) fn check(
    figure: u8,
    claim: impl Into<String>,
    (found, place): (Estimate, String),
    expected: Expected,
) -> Check {
    let half_width = Some(found.half_width).filter(|half| half.is_finite());
    let (claim, found, preset) = (claim.into(), found.mean, None);
    Check { figure, claim, preset, found, half_width, expected, place }
}
