//! The same with a hundred keys, most of whose writes are collapsed.

use super::{
    latency::{WRITERS, bounds, figure, table},
    point::{ADAPTIVE, Batching, Budget, EVERY_MS, Measure, Setting, count, play},
};
use crate::Store;
use core::num::NonZero;
use ripstop_experiment::Part;
use ripstop_figure::TableError;

/// Writes a second; the last is 160 % of what the store could serve without collapsing.
const LOADS: [f64; 4] = [2000.0, 8000.0, 16_000.0, 32_000.0];
const KEYS: u64 = 100;
const STORES: [(&str, Store, &str, &str); 2] = [
    (
        "one at a time, 100 keys",
        Store::SERIAL,
        "collapsing-serial",
        "Mean latency of writes to 100 keys, a store that serves one batch at a time. From 20,000/s on it could not \
         serve them without collapsing.",
    ),
    (
        "side by side, 100 keys",
        Store::PARALLEL,
        "collapsing-parallel",
        "Mean latency of writes to 100 keys, a store that serves all batches side by side.",
    ),
];

type Points = Vec<(Setting, Vec<Batching>)>;

fn points(store: Store) -> Points {
    let setting = |writers, load_per_s| Setting { store, writers, load_per_s, keys: KEYS };
    let settings = WRITERS.into_iter().flat_map(|writers| LOADS.map(|load| setting(writers, load)));
    let batchings = |setting: Setting| {
        let slides = EVERY_MS.map(Batching::Every).into_iter();
        (setting, slides.chain(ADAPTIVE).chain(setting.scanned()).collect())
    };
    settings.map(batchings).collect()
}

pub(super) fn runs(budget: Budget) -> u64 {
    STORES.iter().map(|(_, store, ..)| count(&points(*store), budget)).sum()
}

pub(super) fn parts(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Result<Vec<Part>, TableError> {
    let mut parts = Vec::new();
    for (name, store, file, caption) in STORES {
        let points = points(store);
        let played = play(&points, budget, threads, done);
        let table = table(&points, &played);
        let figure = figure(&table, Measure::Mean, &format!("mean latency: {name}"))?;
        let checks = bounds(2, name, &points, &played);
        parts.push(Part { file, caption, table, figure, checks });
    }
    Ok(parts)
}
