//! Latency against load, for each kind of store and number of writers.

use super::point::{
    ADAPTIVE, Batching, Budget, EVERY_MS, Measure, Measured, NATURAL, OURS, Setting, check, count,
    find, play, worst,
};
use crate::Store;
use core::num::NonZero;
use ripstop_experiment::{Check, Expected, Part};
use ripstop_figure::{Axis, Cell, Estimate, Figure, Panel, Series, Table, TableError};

/// Writes a second of all writers; the last is 90 % of what the store can serve.
pub(super) const LOADS: [f64; 7] = [50.0, 500.0, 2000.0, 8000.0, 12_000.0, 16_000.0, 18_000.0];
pub(super) const WRITERS: [u32; 4] = [1, 2, 8, 32];
const KEYS: u64 = 10_000;
/// Kinds of stores: what they are called, the files of mean and 99th percentile, what those show.
const STORES: [(&str, Store, [&str; 2], [&str; 2]); 3] = [
    (
        "one at a time",
        Store::SERIAL,
        ["mean-serial", "p99-serial"],
        [
            "Mean latency of writes, a store that serves one batch at a time; a line ends where it saturates.",
            "99th percentile of the same.",
        ],
    ),
    (
        "slowing down",
        Store::SLOWING,
        ["mean-slowing", "p99-slowing"],
        [
            "Mean latency, a store that each waiting batch slows down by 5 %.",
            "99th percentile of the same.",
        ],
    ),
    (
        "side by side",
        Store::PARALLEL,
        ["mean-parallel", "p99-parallel"],
        [
            "Mean latency, a store that serves all batches side by side.",
            "99th percentile of the same.",
        ],
    ),
];
pub(super) const BEST: &str = "best fixed";

type Points = Vec<(Setting, Vec<Batching>)>;

/// All that is compared under a setting.
pub(super) fn batchings(setting: &Setting) -> Vec<Batching> {
    let slides = EVERY_MS.map(Batching::Every);
    let all = [Batching::Named("none")].into_iter().chain(slides).chain(ADAPTIVE);
    all.chain(setting.scanned()).collect()
}

fn points(store: Store) -> Points {
    let setting = |writers, load_per_s| Setting { store, writers, load_per_s, keys: KEYS };
    let settings = WRITERS.into_iter().flat_map(|writers| LOADS.map(|load| setting(writers, load)));
    settings.map(|setting| (setting, batchings(&setting))).collect()
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
    for (name, store, files, captions) in STORES {
        let points = points(store);
        let played = play(&points, budget, threads, done);
        let table = table(&points, &played);
        let mut checks = bounds(1, name, &points, &played);
        if store == Store::SERIAL {
            checks.extend(slides(&points, &played));
        }
        for ((measure, file), caption) in Measure::ALL.into_iter().zip(files).zip(captions) {
            let figure = figure(&table, measure, &format!("{} latency: {name}", measure.name()))?;
            let table = table.clone();
            let checks = core::mem::take(&mut checks);
            parts.push(Part { file, caption, table, figure, checks });
        }
    }
    Ok(parts)
}

/// A row for each point, and one for the best fixed interval by each measure.
pub(super) fn table(points: &Points, played: &[Vec<Measured>]) -> Table {
    let mut table = Table::new([
        "writers",
        "keys",
        "load_per_s",
        "batching",
        "interval_ms",
        "mean_ms",
        "mean_half_width_ms",
        "p99_ms",
        "p99_half_width_ms",
        "batches_per_s",
        "left_share",
    ]);
    for ((setting, _), measured) in points.iter().zip(played) {
        let best = Measure::Mean.best(measured).map(|best| (BEST.to_owned(), best));
        let named = measured.iter().map(|it| (it.batching.name(), it));
        for (name, measured) in named.chain(best) {
            let [mean, p99] = Measure::ALL.map(|measure| measure.of(measured));
            let half = |of: Option<Estimate>| -> Cell {
                of.map(|it| it.half_width).filter(|half| half.is_finite()).into()
            };
            let interval = Some(measured.interval_ms).filter(|_| mean.is_some());
            table.push([
                u64::from(setting.writers).into(),
                setting.keys.into(),
                setting.load_per_s.into(),
                name.into(),
                interval.into(),
                mean.map(|it| it.mean).into(),
                half(mean),
                p99.map(|it| it.mean).into(),
                half(p99),
                measured.batches_per_s.into(),
                measured.left_share.into(),
            ]);
        }
    }
    table
}

/// A panel for each number of writers.
pub(super) fn figure(table: &Table, measure: Measure, title: &str) -> Result<Figure, TableError> {
    let column = match measure {
        Measure::Mean => "mean_ms",
        Measure::P99 => "p99_ms",
    };
    let mut figure = Figure::new(title);
    for writers in WRITERS {
        let only = table.only("writers", u64::from(writers))?;
        let title = if writers == 1 { "1 writer".to_owned() } else { format!("{writers} writers") };
        let x = Axis::log("load, writes/s");
        let mut panel = Panel::new(title, x, Axis::log(format!("{}, ms", measure.name())));
        let shown = only.series("batching", "load_per_s", column)?;
        let shown = shown.into_iter().filter(|(name, _)| !name.starts_with("fixed "));
        for (style, (name, points)) in shown.enumerate() {
            panel = panel.series(Series::line(name, points).markers().style(style));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// What must hold of ours, at every load.
pub(super) fn bounds(
    figure: u8,
    store: &str,
    points: &Points,
    played: &[Vec<Measured>],
) -> Vec<Check> {
    let mut checks = Vec::new();
    for writers in WRITERS {
        for measure in Measure::ALL {
            let against = |other: fn(Measure, &[Measured]) -> Option<&Measured>| {
                let here = points.iter().zip(played).filter(|(it, _)| it.0.writers == writers);
                worst(here.filter_map(|((setting, _), measured)| {
                    let (ours, other) = (find(measured, OURS)?, other(measure, measured)?);
                    let place = format!("{store}, {writers} writers, {}/s", setting.load_per_s);
                    Some((measure.ratio(ours, other)?, place))
                }))
            };
            let best = against(Measure::best);
            let natural = against(|_, measured| find(measured, NATURAL));
            let name = measure.name();
            for (found, expected, than) in
                [(best, 1.1, "the best fixed interval"), (natural, 1.05, "natural batching")]
            {
                let claim = format!("modelled: {name} over that of {than} (worst)");
                let found = found.unwrap_or((NOTHING, "nothing to compare with".to_owned()));
                checks.push(check(figure, claim, found, Expected::AtMost(expected)));
            }
        }
    }
    checks
}

const NOTHING: Estimate = Estimate { mean: f64::NAN, half_width: 0.0, count: 0 };

/// What the slides say, of eight writers.
fn slides(points: &Points, played: &[Vec<Measured>]) -> Vec<Check> {
    let at = |load: f64| {
        let here = points.iter().zip(played);
        let mut here = here.filter(|((it, _), _)| it.writers == 8 && it.load_per_s <= load);
        here.next_back().map(|(_, measured)| measured)
    };
    let over = |load: f64, one: Batching, other: Batching| {
        let measured = at(load)?;
        let ratio = Measure::Mean.ratio(find(measured, one)?, find(measured, other)?)?;
        Some((ratio, format!("one at a time, 8 writers, {load}/s")))
    };
    let over_best = |name: &'static str| {
        let here = points.iter().zip(played).filter(|((it, _), _)| it.writers == 8);
        worst(here.filter_map(|((setting, _), measured)| {
            let best = Measure::Mean.best(measured)?;
            let ratio = Measure::Mean.ratio(find(measured, Batching::Named(name))?, best)?;
            let place = format!("one at a time, 8 writers, {}/s", setting.load_per_s);
            Some((ratio, place))
        }))
    };
    let stout = Batching::Named("stout");
    let rows = [
        (
            "a fixed interval tuned for throughput, every 160 ms: mean over ours at light load (34 in the paper)",
            over(50.0, Batching::Every(160), OURS),
            Expected::AtLeast(5.0),
        ),
        (
            "stout as published drifts to its cap: mean over natural batching's at light load",
            over(50.0, stout, NATURAL),
            Expected::AtLeast(10.0),
        ),
        (
            "stout with decisions over ten batches does not: the same",
            over(50.0, Batching::Named("stout-10"), NATURAL),
            Expected::AtMost(1.5),
        ),
        (
            "stout as published is not within 10 % of the best fixed interval: mean over its (worst)",
            over_best("stout"),
            Expected::AtLeast(1.1),
        ),
        (
            "nor is stout with decisions over ten batches",
            over_best("stout-10"),
            Expected::AtLeast(1.1),
        ),
    ];
    let checks = rows.into_iter().map(|(claim, found, expected)| {
        check(1, claim, found.unwrap_or((NOTHING, String::new())), expected)
    });
    checks.collect()
}
