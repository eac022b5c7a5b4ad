//! Figure 1.

use super::{
    paper::{PRESETS, RATES_PER_S},
    point::{METRICS, Points, setting},
};
use ripstop_figure::{Axis, Figure, Panel, Points as Line, Series, Table, TableError};

const COLUMNS: [&str; 8] =
    ["delays", "code", "n", "k", "rate_per_s", "load", "mean_ms", "half_width_ms"];

/// Codes whose points are marked: the two ends of the trade.
const MARKED: [(&str, &str, usize); 2] =
    [("(1,1)", "(1,1): no coding", 0), ("(12,6)", "(12,6): most chunks, most redundancy", 5)];

/// Where the envelope's colour stands.
const BLACK: usize = 6;

/// Mean delays of all fixed codes at the rates that they keep up with.
pub(super) fn table(points: &Points) -> Table {
    let mut table = Table::new(COLUMNS);
    let (_, mean) = METRICS[0];
    for preset in PRESETS {
        let capacity = setting(preset).capacity_per_s();
        for code in super::point::codes() {
            let policy = format!("fixed{code}");
            for point in points.of(preset, &policy) {
                let rate = point.rate_per_s;
                let estimate = point.estimate(mean);
                table.push([
                    preset.name().into(),
                    code.to_string().into(),
                    code.n().into(),
                    code.k().into(),
                    rate.into(),
                    (rate / capacity).into(),
                    estimate.mean.into(),
                    Some(estimate.half_width).filter(|half| half.is_finite()).into(),
                ]);
            }
        }
    }
    table
}

/// A panel for each preset: a colour for each k, the two ends marked, and the envelope.
pub(super) fn draw(table: &Table, title: &str) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 460);
    for preset in PRESETS {
        let own = table.only("delays", preset.name())?;
        let x = Axis::linear("rate, requests/s").from(0.0).to(80.0);
        let y = Axis::linear("mean delay, ms").from(0.0).to(400.0);
        let mut panel = Panel::new(preset.name(), x, y);
        let mut envelope: Line = Vec::new();
        for k in 1..=6_u64 {
            for (_, points) in own.only("k", k)?.series("code", "rate_per_s", "mean_ms")? {
                for &(rate, mean) in points.iter().filter(|(rate, _)| RATES_PER_S.contains(rate)) {
                    match envelope.iter_mut().find(|(x, _)| x.total_cmp(&rate).is_eq()) {
                        Some((_, least)) => *least = least.min(mean),
                        None => envelope.push((rate, mean)),
                    }
                }
                panel =
                    panel.series(Series::line(format!("k = {k}"), points).style(k as usize - 1));
            }
        }
        panel = panel.series(Series::line("least", envelope).style(BLACK));
        for (code, name, style) in MARKED {
            for (_, points) in own.only("code", code)?.series("code", "rate_per_s", "mean_ms")? {
                panel = panel.series(Series::points(name, points).style(style));
            }
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}
