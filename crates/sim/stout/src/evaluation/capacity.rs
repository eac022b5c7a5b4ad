//! The greatest load that each batching serves.

use super::point::{
    ADAPTIVE, Batching, Budget, EVERY_MS, Measured, OURS, Setting, check, count, play,
};
use crate::Store;
use core::num::NonZero;
use ripstop_experiment::{Expected, Part};
use ripstop_figure::{Axis, Estimate, Figure, Panel, Series, Table, TableError};

/// Writes a second; the store could serve 20,000 in batches without end.
const LOADS: [f64; 16] = [
    100.0, 200.0, 400.0, 800.0, 1600.0, 3000.0, 4500.0, 6000.0, 8000.0, 10_000.0, 12_000.0,
    14_000.0, 16_000.0, 17_000.0, 18_000.0, 19_000.0,
];
const WRITERS: [u32; 3] = [1, 8, 32];
const KEYS: u64 = 10_000;

type Points = Vec<(Setting, Vec<Batching>)>;

fn batchings() -> Vec<Batching> {
    let slides = EVERY_MS.map(Batching::Every);
    [Batching::Named("none")].into_iter().chain(slides).chain(ADAPTIVE).collect()
}

fn points() -> Points {
    let setting = |writers, load_per_s| {
        let store = Store::SERIAL;
        (Setting { store, writers, load_per_s, keys: KEYS }, batchings())
    };
    WRITERS.into_iter().flat_map(|writers| LOADS.map(|load| setting(writers, load))).collect()
}

/// Whether a load is served takes fewer cycles to see than how fast.
fn shorter(budget: Budget) -> Budget {
    Budget { cycles: 0.5 * budget.cycles, seeds: 1 }
}

pub(super) fn runs(budget: Budget) -> u64 {
    count(&points(), shorter(budget))
}

pub(super) fn part(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Result<Part, TableError> {
    let points = points();
    let played = play(&points, shorter(budget), threads, done);
    let served = |writers: u32, batching: Batching| {
        let here = points.iter().zip(&played).filter(|((it, _), _)| it.writers == writers);
        let serves = |measured: &[Measured]| {
            measured.iter().any(|it| it.batching == batching && !it.is_saturated)
        };
        // Up to the first that it does not serve.
        let served = here.take_while(|(_, measured)| serves(measured));
        served.last().map_or(0.0, |((setting, _), _)| setting.load_per_s)
    };
    let mut table = Table::new(["batching", "writers", "served_per_s"]);
    for batching in batchings() {
        for writers in WRITERS {
            let served = served(writers, batching);
            table.push([batching.name().into(), u64::from(writers).into(), served.into()]);
        }
    }
    let x = Axis::log("writers");
    let mut panel = Panel::new("", x, Axis::linear("served, writes/s").from(0.0));
    for (name, points) in table.series("batching", "writers", "served_per_s")? {
        panel = panel.series(Series::line(name, points).markers());
    }
    let over = |writers: u32, others: &[Batching]| {
        let best = others.iter().map(|it| served(writers, *it)).fold(0.0, f64::max);
        let mean = served(writers, OURS) / best.max(LOADS[0]);
        (Estimate { mean, half_width: 0.0, count: 1 }, format!("one at a time, {writers} writers"))
    };
    let slides = EVERY_MS.map(Batching::Every);
    let checks = WRITERS.into_iter().flat_map(|writers| {
        let claim = "modelled: capacity over that of the best of the slides' fixed intervals";
        let tuned = "the same, over that of every 20 ms, tuned for latency (3 in the paper)";
        [
            check(3, claim, over(writers, &slides), Expected::AtLeast(1.0)),
            check(3, tuned, over(writers, &slides[1..2]), Expected::AtLeast(1.0)),
        ]
    });
    Ok(Part {
        file: "capacity",
        caption: "The greatest load that is served, of those tried, against the number of writers.",
        checks: checks.collect(),
        figure: Figure::new("Capacity: one at a time").panel(panel),
        table,
    })
}
