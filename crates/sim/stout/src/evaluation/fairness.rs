//! Whether writers get equal shares, also those that came late.

use super::point::{ADAPTIVE, Batching, Budget, OURS, check};
use crate::{Run, Store};
use core::num::NonZero;
use ripstop_batching::{BatchLimits, BatchSettings};
use ripstop_experiment::{Expected, Part, sweep};
use ripstop_figure::{Axis, Estimate, Figure, Panel, Series, Table, TableError};

const WRITERS: [u32; 3] = [2, 8, 32];
/// Writes a second: what the store serves, and more than it can.
const LOADS: [(f64, &str); 2] = [(14_000.0, "latency"), (24_000.0, "answers")];
const JAIN_MIN: f64 = 0.95;

#[derive(Clone, Copy)]
struct Point {
    batching: Batching,
    writers: u32,
    is_late: bool,
    load: (f64, &'static str),
}

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for load in LOADS {
        for is_late in [false, true] {
            for batching in ADAPTIVE {
                points.extend(WRITERS.map(|writers| Point { batching, writers, is_late, load }));
            }
        }
    }
    points
}

pub(super) fn runs(budget: Budget) -> u64 {
    points().len() as u64 * budget.seeds
}

impl Point {
    fn jain(&self, budget: Budget, seed: u64) -> f64 {
        let limits = BatchLimits { waiting_members_max: 4096, ..BatchLimits::default() };
        let (load_per_s, of) = self.load;
        let run = Run {
            writers: self.writers,
            late: if self.is_late { self.writers / 2 } else { 0 },
            load_per_s,
            cycles: budget.cycles,
            batch: BatchSettings { limits, ..BatchSettings::default() },
            is_overloaded: true,
            ..Run::new(Store::SERIAL, "natural")
        };
        let outcome = self.batching.of(run).play(seed);
        if of == "latency" {
            outcome.jain_latency().unwrap_or(0.0)
        } else {
            outcome.jain_answered()
        }
    }
}

pub(super) fn part(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Result<Part, TableError> {
    let points = points();
    let jobs: Vec<_> = points
        .iter()
        .flat_map(|point| (1..=budget.seeds).map(move |seed| (*point, seed)))
        .collect();
    let played = sweep(&jobs, threads, |(point, seed)| point.jain(budget, *seed), done);
    let columns = ["of", "load_per_s", "batching", "late", "writers", "jain", "half_width"];
    let mut table = Table::new(columns);
    let mut checks = Vec::new();
    for (point, seeds) in points.iter().zip(played.chunks(budget.seeds as usize)) {
        let found = Estimate::of(seeds).expect("there is a seed");
        let late = if point.is_late { "half of them late" } else { "all at once" };
        let half = Some(found.half_width).filter(|half| half.is_finite());
        table.push([
            point.load.1.into(),
            point.load.0.into(),
            point.batching.name().into(),
            late.into(),
            u64::from(point.writers).into(),
            found.mean.into(),
            half.into(),
        ]);
        if point.batching == OURS {
            let claim = format!("modelled: Jain's index of {} over writers", point.load.1);
            let place = format!("{} writers, {late}, {}/s", point.writers, point.load.0);
            checks.push(check(4, claim, (found, place), Expected::AtLeast(JAIN_MIN)));
        }
    }
    let mut figure = Figure::new("Jain's index over writers");
    for (load, of) in LOADS {
        let only = table.only("of", of)?.only("late", "half of them late")?;
        let title = format!("of {of} at {load}/s, half of the writers late");
        let y = Axis::linear("Jain's index").from(0.0).to(1.0);
        let mut panel = Panel::new(title, Axis::log("writers"), y).rule_y(JAIN_MIN, "0.95");
        for (name, points) in only.series("batching", "writers", "jain")? {
            panel = panel.series(Series::line(name, points).markers());
        }
        figure = figure.panel(panel);
    }
    let caption = "Jain's index over writers of one store: of their mean latencies at 70 % load, of their answers at \
                   120 %.";
    Ok(Part { file: "fairness", caption, table, figure, checks })
}
