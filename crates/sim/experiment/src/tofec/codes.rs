//! Figure 10.

use super::{
    paper::{PRESETS, RATES_PER_S},
    point::Points,
};
use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};

const SHOWN: [(&str, &str); 2] = [("tofec", "TOFEC"), ("greedy", "greedy")];

/// How often each k served, by policy and rate.
pub(super) fn table(points: &Points) -> Table {
    let mut table = Table::new(["delays", "policy", "rate_per_s", "k", "share"]);
    for preset in PRESETS {
        for (policy, name) in SHOWN {
            for rate in RATES_PER_S {
                let shares = points.get(preset, policy, rate).shares();
                for (k, share) in (1_u64..).zip(shares) {
                    table.push([
                        preset.name().into(),
                        name.into(),
                        rate.into(),
                        k.into(),
                        share.into(),
                    ]);
                }
            }
        }
    }
    table
}

/// A panel for each policy, k = 1 at the bottom as in the paper.
pub(super) fn draw(table: &Table, title: String) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 400);
    for (_, name) in SHOWN {
        let own = table.only("policy", name)?;
        let x = Axis::linear("rate, requests/s").from(0.0).to(76.0);
        let mut panel = Panel::new(name, x, Axis::linear("share of requests").from(0.0).to(1.0));
        for (k, points) in own.series("k", "rate_per_s", "share")? {
            panel = panel.series(Series::area(format!("k = {k}"), points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}
