//! Settings that nobody tuned to: stores, writers and loads that were drawn.

use super::point::{
    Batching, Budget, Measure, Measured, NATURAL, OURS, Setting, check, count, find, play, worst,
};
use crate::Store;
use core::num::NonZero;
use libm::{exp, log, round};
use ripstop_delay::Dice;
use ripstop_experiment::{Check, Expected, Part};
use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};

const SETTINGS: u64 = 24;
const SEED: u64 = 2026;
/// Between which they are drawn, the first three by their logarithms.
const FIXED_MS: (f64, f64) = (0.5, 50.0);
const EACH_MS: (f64, f64) = (0.01, 0.2);
const WRITERS: (f64, f64) = (1.0, 48.0);
const DEVIATION: (f64, f64) = (0.1, 0.6);
const LOAD: (f64, f64) = (0.05, 0.9);
/// Every third store slows down, by up to this share for each batch; every third has a part that
/// overlaps.
const SLOWDOWN: (f64, f64) = (0.01, 0.06);
const OVERLAP: (f64, f64) = (0.1, 0.9);
/// Fixed intervals, in cycles without one.
const SCANNED: [f64; 12] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.15, 1.35, 1.7];

/// A setting, and which share of the capacity is asked for.
fn setting(number: u64) -> (Setting, f64) {
    let mut dice = Dice::numbered(SEED, number);
    let mut between = |(low, high): (f64, f64)| low + (high - low) * dice.uniform();
    let mut by_logarithm = |(low, high): (f64, f64)| exp(between((log(low), log(high))));
    let (fixed_ms, each_ms) = (by_logarithm(FIXED_MS), by_logarithm(EACH_MS));
    let writers = round(by_logarithm(WRITERS)) as u32;
    let (deviation, load) = (between(DEVIATION), between(LOAD));
    let slowdown = if number % 3 == 1 { between(SLOWDOWN) } else { 0.0 };
    let overlap = if number % 3 == 2 { between(OVERLAP) } else { 0.0 };
    let store = Store { fixed_ms, each_ms, deviation, slowdown, overlap };
    // A writer alone cannot use what it lets others have.
    let capacity = store.capacity_per_s().min(f64::from(writers) * 1e3 / each_ms);
    (Setting { store, writers, load_per_s: load * capacity, keys: 10_000_000 }, load)
}

fn points() -> Vec<(Setting, Vec<Batching>)> {
    let point = |number| {
        let setting = setting(number).0;
        let cycle = setting.run(Budget { seeds: 1, cycles: 1.0 }).cycle_ms();
        let mut scanned: Vec<u64> =
            SCANNED.iter().map(|cycles| round(cycles * cycle) as u64).collect();
        scanned.dedup();
        let fixed = scanned.into_iter().map(Batching::Fixed);
        (setting, [NATURAL, OURS].into_iter().chain(fixed).collect())
    };
    (0..SETTINGS).map(point).collect()
}

pub(super) fn runs(budget: Budget) -> u64 {
    count(&points(), budget)
}

pub(super) fn part(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Result<Part, TableError> {
    let points = points();
    let played = play(&points, budget, threads, done);
    let mut table = Table::new([
        "setting",
        "fixed_ms",
        "each_ms",
        "deviation",
        "slowdown",
        "overlap",
        "writers",
        "load_share",
        "load_per_s",
        "measure",
        "ours_ms",
        "natural_ms",
        "best_ms",
        "best_interval_ms",
        "ours_interval_ms",
        "over_best",
    ]);
    for (number, ((setting, _), measured)) in points.iter().zip(&played).enumerate() {
        for measure in Measure::ALL {
            let Some(best) = measure.best(measured) else { continue };
            let of = |batching| find(measured, batching);
            let ms = |of: Option<&Measured>| of.and_then(|it| measure.of(it)).map(|it| it.mean);
            let Store { fixed_ms, each_ms, deviation, slowdown, overlap } = setting.store;
            let over = of(OURS).and_then(|ours| measure.ratio(ours, best)).map(|it| it.mean);
            table.push([
                (number + 1).into(),
                fixed_ms.into(),
                each_ms.into(),
                deviation.into(),
                slowdown.into(),
                overlap.into(),
                u64::from(setting.writers).into(),
                self::setting(number as u64).1.into(),
                setting.load_per_s.into(),
                measure.name().into(),
                ms(of(OURS)).into(),
                ms(of(NATURAL)).into(),
                ms(Some(best)).into(),
                best.interval_ms.into(),
                of(OURS).map(|it| it.interval_ms).into(),
                over.filter(|it| it.is_finite()).into(),
            ]);
        }
    }
    let x = Axis::linear("load, share of the capacity").from(0.0).to(1.0);
    let y = Axis::linear("over the best fixed interval's").from(0.0);
    let mut panel = Panel::new("", x, y).rule_y(1.1, "10 % more");
    for (name, points) in table.series("measure", "load_share", "over_best")? {
        panel = panel.series(Series::points(name, points));
    }
    Ok(Part {
        file: "drawn",
        caption: "Stores, writers and loads that were drawn: latency over that of the best fixed interval.",
        checks: checks(&points, &played),
        figure: Figure::new("Drawn settings").panel(panel),
        table,
    })
}

fn checks(points: &[(Setting, Vec<Batching>)], played: &[Vec<Measured>]) -> Vec<Check> {
    let mut checks = Vec::new();
    for measure in Measure::ALL {
        let against = |other: fn(Measure, &[Measured]) -> Option<&Measured>| {
            worst(points.iter().zip(played).enumerate().filter_map(|(number, (_, measured))| {
                let (ours, other) = (find(measured, OURS)?, other(measure, measured)?);
                Some((measure.ratio(ours, other)?, format!("setting {}", number + 1)))
            }))
        };
        let name = measure.name();
        if let Some(found) = against(Measure::best) {
            let claim =
                format!("modelled, drawn settings: {name} over the best fixed interval's (worst)");
            checks.push(check(5, claim, found, Expected::AtMost(1.1)));
        }
        if let Some(found) = against(|_, measured| find(measured, NATURAL)) {
            let claim = format!("modelled, drawn settings: {name} over natural batching's (worst)");
            checks.push(check(5, claim, found, Expected::AtMost(1.05)));
        }
    }
    checks
}
