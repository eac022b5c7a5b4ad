use crate::{Comparison, Distribution, Study, SweepCell};
use ripstop_figure::{Cell, Table};
use ripstop_shaping::{Bound, CapacityPlan, Fraction};
use std::{collections::BTreeSet, time::Duration};

/// A span in milliseconds.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

/// A share in percent.
pub(crate) fn percent(fraction: Fraction) -> f64 {
    f64::from(fraction.billionths()) / 1e7
}

/// What each tier takes, by each rule: a row for each.
pub(crate) fn plan_table(plans: &[CapacityPlan], requests: u64) -> Table {
    let mut table = Table::new([
        "rule",
        "tier",
        "fraction_percent",
        "bound_ms",
        "capacity_per_s",
        "admitted",
        "admitted_percent",
        "late",
    ]);
    for plan in plans {
        for (at, one) in plan.tiers.iter().enumerate() {
            table.push([
                plan.rule.name().into(),
                (at + 1).into(),
                percent(one.tier.fraction()).into(),
                millis(one.tier.bound()).into(),
                one.capacity.into(),
                one.admitted.into(),
                (one.admitted as f64 * 100.0 / requests as f64).into(),
                one.late.into(),
            ]);
        }
    }
    table
}

/// What the plan's capacity does with decomposition and without: a row for each tier of the
/// promise.
pub(crate) fn comparison_table(plan: &CapacityPlan, comparison: &Comparison) -> Table {
    let mut table = Table::new([
        "fraction_percent",
        "bound_ms",
        "capacity_per_s",
        "decomposed_percent",
        "fcfs_percent",
        "decomposed_reached_ms",
        "fcfs_reached_ms",
        "mml_capacity_per_s",
    ]);
    for (one, min_max) in plan.tiers.iter().zip(&comparison.min_max) {
        let (fraction, bound) = (one.tier.fraction(), one.tier.bound());
        let share = |of: &Distribution| of.share_within(bound) * 100.0;
        let reached = |of: &Distribution| of.quantile(fraction).map(millis);
        table.push([
            percent(fraction).into(),
            millis(bound).into(),
            comparison.capacity.into(),
            share(&comparison.decomposed).into(),
            share(&comparison.undecomposed).into(),
            reached(&comparison.decomposed).into(),
            reached(&comparison.undecomposed).into(),
            (*min_max).into(),
        ]);
    }
    table
}

/// What keeps the promise, and with how much.
pub(crate) fn keeping_table(comparison: &Comparison) -> Table {
    let mut table = Table::new(["scheduler", "capacity_per_s"]);
    for (name, capacity) in comparison.keeping() {
        table.push([name.into(), capacity.into()]);
    }
    table
}

/// The sweep, a row for each cell.
pub(crate) fn sweep_table(study: &Study<'_>, cells: &[SweepCell]) -> Table {
    let mut table = Table::new(["rule", "bound", "bound_ms", "fraction_percent", "capacity_per_s"]);
    for cell in cells {
        table.push([
            study.rule().name().into(),
            Bound(cell.bound).to_string().into(),
            millis(cell.bound).into(),
            percent(cell.fraction).into(),
            cell.capacity.into(),
        ]);
    }
    table
}

/// The sweep in the form of the paper's tables: a row for each bound, a column for each fraction.
pub(crate) fn wide_table(fractions: &[Fraction], cells: &[SweepCell]) -> Table {
    let columns = fractions.iter().map(|fraction| format!("{}%_per_s", percent(*fraction)));
    let mut table = Table::new(std::iter::once("bound_ms".to_owned()).chain(columns));
    for row in cells.chunks(fractions.len().max(1)) {
        let first: Cell = millis(row[0].bound).into();
        table.push(std::iter::once(first).chain(row.iter().map(|cell| cell.capacity.into())));
    }
    table
}

/// Distributions of response times, a row for each point: by half percents, and closer where the
/// tail is.
pub(crate) fn distribution_table(of: &[(&str, u64, &Distribution)]) -> Table {
    let even = (1..200).map(|half| f64::from(half) * 0.005);
    let tail = (50..=200).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 50.0));
    let shares: BTreeSet<_> = even
        .chain(tail)
        .filter_map(|share| Fraction::from_billionths((share * 1e9) as u32))
        .chain([Fraction::ALL])
        .collect();
    let mut table = Table::new(["scheduler", "capacity_per_s", "response_ms", "within_percent"]);
    for (name, capacity, distribution) in of {
        for share in &shares {
            let Some(response) = distribution.quantile(*share) else { continue };
            let row = [millis(response).into(), percent(*share).into()];
            table.push([(*name).into(), (*capacity).into()].into_iter().chain(row));
        }
    }
    table
}
