//! What a duel comes to: the table to keep, the drawings of it, and whether the bounds hold.

use super::{Arena, standings};
use crate::Report;
use ripstop_delay::Preset;
use ripstop_figure::{Axis, Cell, Figure, Panel, Points, Series, Table, TableError};

/// Backfill's mean and p99 may be this many times the best of its rivals' at any load…
pub(super) const MEAN_MAX: f64 = 1.02;
pub(super) const P99_MAX: f64 = 1.04;
/// … and its mean is at most this, somewhere in this range of loads.
const GAIN: f64 = 0.9;
const GAIN_LOADS: (f64, f64) = (0.5, 0.8);

/// Columns of [`summary`].
const COLUMNS: [&str; 13] = [
    "arena",
    "load",
    "backfill_mean_ms",
    "backfill_p99_ms",
    "tofec_mean_ms",
    "tofec_p99_ms",
    "tofec_multi_mean_ms",
    "tofec_multi_p99_ms",
    "best_fixed_mean_ms",
    "best_fixed_mean_code",
    "best_fixed_p99_ms",
    "best_fixed_p99_code",
    "rivals",
];

/// A duel's table in short: a row for each load, with the best fixed code for each measure.
pub fn summary(arena: &Arena, duel: &Table) -> Result<Table, TableError> {
    let mut table = Table::new(COLUMNS);
    for standing in standings(duel, "backfill") {
        let rows = duel.only("load", standing.load)?;
        let (who, mean, p99) =
            (rows.index("policy")?, rows.index("mean_ms")?, rows.index("p99_ms")?);
        let of = |policy: &str, at: usize| -> Cell {
            let row = rows.rows().iter().find(|row| row[who].shown() == policy);
            row.map_or(Cell::Missing, |row| row[at].clone())
        };
        let fixed: Vec<_> =
            rows.rows().iter().filter(|row| row[who].shown().starts_with("fixed")).collect();
        let best = |at: usize| {
            let value = |row: &&&Vec<Cell>| row[at].number().unwrap_or(f64::INFINITY);
            let best = fixed.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
            best.map_or((Cell::Missing, Cell::Missing), |row| (row[at].clone(), row[who].clone()))
        };
        let ((best_mean, mean_code), (best_p99, p99_code)) = (best(mean), best(p99));
        table.push([
            arena.name.as_str().into(),
            standing.load.into(),
            of("backfill", mean),
            of("backfill", p99),
            of("tofec", mean),
            of("tofec", p99),
            of("tofec-multi", mean),
            of("tofec-multi", p99),
            best_mean,
            mean_code,
            best_p99,
            p99_code,
            (fixed.len() + 1).into(),
        ]);
    }
    Ok(table)
}

/// One bound and what was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// Which arena.
    pub arena: String,
    /// What is bounded.
    pub what: &'static str,
    /// The worst (for the gain: the best) ratio to the best rival.
    pub found: f64,
    /// At which load.
    pub load: f64,
    /// The most it may be.
    pub most: f64,
}

impl Bound {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.found <= self.most
    }
}

/// Backfill's ratio to the best of TOFEC and the fixed codes, by load: of means and of p99s.
fn ratios(summary: &Table) -> Result<(Points, Points), TableError> {
    let loads = summary.numbers("load")?;
    let ratio = |measure: &str| -> Result<Points, TableError> {
        let own = summary.numbers(&format!("backfill_{measure}"))?;
        let tofec = summary.numbers(&format!("tofec_{measure}"))?;
        let fixed = summary.numbers(&format!("best_fixed_{measure}"))?;
        let best = tofec.iter().zip(&fixed).map(|(tofec, fixed)| tofec.min(*fixed));
        Ok(loads
            .iter()
            .zip(own.iter().zip(best))
            .map(|(&l, (own, best))| (l, own / best))
            .collect())
    };
    Ok((ratio("mean_ms")?, ratio("p99_ms")?))
}

/// The three bounds of one arena.
pub fn bounds(summary: &Table) -> Result<Vec<Bound>, TableError> {
    let arena = summary.rows().first().map_or(String::new(), |row| row[0].shown());
    let (means, p99s) = ratios(summary)?;
    let worst = |points: &Points| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let within = |(load, _): &&(f64, f64)| (GAIN_LOADS.0..=GAIN_LOADS.1).contains(load);
    let gain = means.iter().filter(within).copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let bound = |what, point: Option<(f64, f64)>, most| {
        let (load, found) = point.unwrap_or((f64::NAN, f64::NAN));
        Bound { arena: arena.clone(), what, found, load, most }
    };
    Ok(vec![
        bound("mean, worst", worst(&means), MEAN_MAX),
        bound("p99, worst", worst(&p99s), P99_MAX),
        bound("mean at 50 to 80 %, best", gain, GAIN),
    ])
}

/// All duels in one table, from [`summary`] each.
pub fn joined(summaries: &[Table]) -> Table {
    let mut table = Table::new(COLUMNS);
    for summary in summaries {
        summary.rows().iter().for_each(|row| table.push(row.iter().cloned()));
    }
    table
}

/// The kept table, two drawings of it and the bounds, as a report.
pub fn report(joined: &Table) -> Result<(Report, Vec<Bound>), TableError> {
    let mut arenas: Vec<String> = Vec::new();
    for row in joined.rows() {
        let name = row[0].shown();
        if arenas.last() != Some(&name) {
            arenas.push(name);
        }
    }
    let mut report = Report::new("Backfill and its rivals", INTRODUCTION);
    let mut all = Vec::new();
    let figure = |title: &str, p99: bool, most: f64| -> Result<Figure, TableError> {
        let mut figure = Figure::new(title);
        for preset in Preset::ALL {
            let y = Axis::linear("ratio to the best rival").from(0.6).to(1.1);
            let x = Axis::linear("load, share of full capacity").from(0.0).to(1.0);
            let mut panel = Panel::new(preset.name(), x, y).rule_y(most, "bound");
            for (at, arena) in arenas.iter().enumerate() {
                let Some(rest) = arena.strip_prefix(preset.name()) else { continue };
                if !(rest.is_empty() || rest.starts_with(' ')) {
                    continue;
                }
                let (means, p99s) = ratios(&joined.only("arena", arena.as_str())?)?;
                let points = if p99 { p99s } else { means };
                let name = if rest.is_empty() { "plain" } else { rest.trim() };
                panel = panel.series(Series::line(name, points).markers().style(at % 4));
            }
            figure = figure.panel(panel);
        }
        Ok(figure)
    };
    let mean = figure("Backfill's mean delay over the best rival's", false, MEAN_MAX)?;
    report.figure("mean", "Mean delay over that of the best of TOFEC and every fixed code", &mean);
    let p99 = figure("Backfill's p99 over the best rival's", true, P99_MAX)?;
    report.figure("p99", "99th percentile over that of the best of the same rivals", &p99);
    let mut table = Table::new(["arena", "what", "ratio", "load", "at_most", "verdict"]);
    for arena in &arenas {
        all.extend(bounds(&joined.only("arena", arena.as_str())?)?);
    }
    for bound in &all {
        table.push([
            bound.arena.as_str().into(),
            bound.what.into(),
            bound.found.into(),
            bound.load.into(),
            bound.most.into(),
            if bound.holds() { "holds" } else { "DOES NOT HOLD" }.into(),
        ]);
    }
    report.long_table("duels", joined.clone());
    report.table("bounds", "What must hold", table);
    Ok((report, all))
}

const INTRODUCTION: &str = "Backfill against TOFEC as published and every fixed code (n,k) with k up to 6 \
and n up to 2k, each load and measure judged against the rival that is best there. 16 lanes, Poisson \
arrivals, requests of 3 MB (mixed: reads and writes of 1 and 8 MB).";
