//! Figures 8 and 9.

use super::{
    paper::{PRESETS, RATES_PER_S},
    point::{ADAPTIVE, METRICS, Metric, Points, setting},
    style::style,
};
use ripstop_figure::{Axis, Cell, Figure, Panel, Series, Table, TableError};

const COLUMNS: [&str; 8] =
    ["delays", "policy", "metric", "rate_per_s", "load", "value_ms", "half_width_ms", "code"];

/// The fixed codes that the paper names, and how.
const NAMED: [(&str, &str); 2] =
    [("fixed(1,1)", "basic (1,1)"), ("fixed(2,1)", "replication (2,1)")];

const BEST: &str = super::style::BEST_FIXED;

/// Figure 9 says how much delays deviate.
const DEVIATION: (&str, Metric) = ("standard deviation", |delays| delays.deviation_ms);

/// Delays by policy, metric and rate, with confidence intervals.
pub(super) fn delay_table(points: &Points) -> Table {
    let everyone = ADAPTIVE.into_iter().chain(NAMED);
    table(points, &METRICS, &everyone.collect::<Vec<_>>())
}

/// Deviations by policy and rate, with confidence intervals.
pub(super) fn deviation_table(points: &Points) -> Table {
    let shown = ["tofec", "tofec-multi", "greedy", "backfill"];
    let policies = ADAPTIVE.into_iter().filter(|(policy, _)| shown.contains(policy));
    table(points, &[DEVIATION], &policies.collect::<Vec<_>>())
}

fn table(points: &Points, metrics: &[(&str, Metric)], policies: &[(&str, &str)]) -> Table {
    let mut table = Table::new(COLUMNS);
    for preset in PRESETS {
        let capacity = setting(preset).capacity_per_s();
        for &(metric_name, metric) in metrics {
            let mut push = |name: &str, rate: f64, value: ripstop_figure::Estimate, code: Cell| {
                table.push([
                    preset.name().into(),
                    name.into(),
                    metric_name.into(),
                    rate.into(),
                    (rate / capacity).into(),
                    value.mean.into(),
                    Some(value.half_width).filter(|half| half.is_finite()).into(),
                    code,
                ]);
            };
            for rate in RATES_PER_S {
                let best = points.best_fixed(preset, rate, metric);
                let code = best.policy.code().map_or(Cell::Missing, |code| code.to_string().into());
                push(BEST, rate, best.estimate(metric), code);
            }
            for &(policy, name) in policies {
                let found = |&rate: &f64| Some((rate, points.find(preset, policy, rate)?));
                for (rate, point) in RATES_PER_S.iter().filter_map(found) {
                    push(name, rate, point.estimate(metric), Cell::Missing);
                }
            }
        }
    }
    table
}

/// Four panels, as in the paper.
pub(super) fn draw_delays(table: &Table, title: String) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 860);
    for ((metric, _), most) in METRICS.into_iter().zip([400.0, 400.0, 800.0, 1200.0]) {
        let own = table.only("metric", metric)?;
        figure = figure.panel(panel(&own, metric, most)?);
    }
    Ok(figure)
}

/// A panel for each preset.
pub(super) fn draw_deviation(table: &Table, title: &str) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 420);
    for preset in PRESETS {
        let own = table.only("delays", preset.name())?;
        figure = figure.panel(panel(&own, preset.name(), 200.0)?);
    }
    Ok(figure)
}

fn panel(table: &Table, title: &str, most_ms: f64) -> Result<Panel, TableError> {
    let x = Axis::linear("rate, requests/s").from(0.0).to(80.0);
    let mut panel = Panel::new(title, x, Axis::linear("delay, ms").from(0.0).to(most_ms));
    let halves = table.series("policy", "rate_per_s", "half_width_ms")?;
    for (name, points) in table.series("policy", "rate_per_s", "value_ms")? {
        let own = halves.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, own)| own);
        let band = points.iter().zip(own).map(|(&(x, y), &(_, half))| (x, y - half, y + half));
        let style = style(&name);
        let line = Series::line(name, points.clone()).markers().style(style);
        panel = panel.series(line.band(band.collect()));
    }
    Ok(panel)
}
