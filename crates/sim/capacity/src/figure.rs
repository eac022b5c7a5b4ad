//! The paper's figures, drawn from the tables that are written beside them.

use ripstop_figure::{Axis, Cell, Figure, Panel, Points, Series, Table, TableError};
use ripstop_shaping::{Arrivals, MinMaxLoad, window_counts};
use std::time::Duration;

/// Windows on Fig. 2 at most.
const WINDOWS_MAX: u64 = 300;

const CAPACITY: &str = "capacity, requests/s";

/// Requests of each window around the busiest one, and how many of them the min–max load heuristic
/// keeps.
pub(crate) fn window_table(arrivals: Arrivals<'_>, load: &MinMaxLoad, window: Duration) -> Table {
    let counts = window_counts(arrivals, window);
    let busiest = counts.iter().rev().max_by_key(|(_, count)| *count).map_or(0, |(at, _)| *at);
    let last = counts.last().map_or(0, |(at, _)| *at);
    let first = busiest.saturating_sub(WINDOWS_MAX / 2).min(last.saturating_sub(WINDOWS_MAX - 1));
    let mut table = Table::new(["time_s", "requests", "kept"]);
    let mut counts = counts.iter().skip_while(|(at, _)| *at < first).peekable();
    for number in first..=last.min(first + WINDOWS_MAX - 1) {
        let here = counts.next_if(|(at, _)| *at == number).map_or(0, |(_, count)| *count);
        let time_s = number as f64 * window.as_secs_f64();
        table.push([time_s.into(), here.into(), here.min(load.cap).into()]);
    }
    table
}

/// Fig. 2: arrivals per window, with the cut.
pub(crate) fn window_figure(table: &Table, cap: u64, window: &str) -> Result<Figure, TableError> {
    let times = table.numbers("time_s")?;
    let points: Points = times.into_iter().zip(table.numbers("requests")?).collect();
    let (x, y) = (Axis::linear("time, s"), Axis::linear("requests").from(0.0));
    let panel = Panel::new("", x, y).series(Series::step("arrivals", points));
    let panel = panel.rule_y(cap as f64, format!("cut at {cap}"));
    Ok(Figure::new(format!("Arrivals per window of {window}")).panel(panel))
}

/// Fig. 3: arrival, response and service curves, before and after decomposition.
pub(crate) fn curve_figure(table: &Table, capacity: u64) -> Result<Figure, TableError> {
    let title = format!("Around the worst moment, at {capacity} requests/s");
    let mut figure = Figure::new(title);
    for (of, title) in [("all", "all requests"), ("primary", "after decomposition: the first tier")]
    {
        let (x, y) = (Axis::linear("time, ms"), Axis::linear("requests").from(0.0));
        let mut panel = Panel::new(title, x, y);
        for (name, points) in table.only("requests", of)?.series("curve", "time_ms", "count")? {
            panel = panel.series(Series::step(name, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// Fig. 4: the min–max load heuristic against decomposition.
pub(crate) fn min_max_figure(table: &Table, share: &str) -> Result<Figure, TableError> {
    let (x, y) = (Axis::log("bound, ms"), Axis::linear(CAPACITY).from(0.0));
    let mut panel = Panel::new("", x, y);
    for (name, points) in table.series("decomposition", "bound_ms", "capacity_per_s")? {
        panel = panel.series(Series::line(name, points).markers());
    }
    Ok(Figure::new(format!("Capacity for {share} of requests within a bound")).panel(panel))
}

/// The table of Fig. 4.
pub(crate) fn min_max_table(bounds: &[(f64, u64, u64)]) -> Table {
    let mut table = Table::new(["decomposition", "bound_ms", "capacity_per_s"]);
    for (bound_ms, rtt, mml) in bounds {
        for (name, capacity) in [("RTT", rtt), ("MML", mml)] {
            let row: [Cell; 3] = [name.into(), (*bound_ms).into(), (*capacity).into()];
            table.push(row);
        }
    }
    table
}

/// Figs. 5–10: capacity against fraction, whole and its last percent.
pub(crate) fn fraction_figure(table: &Table) -> Result<Figure, TableError> {
    let mut figure = Figure::new("Capacity against the fraction within a bound");
    for from in [90.0, 99.0] {
        let x = Axis::linear("requests within the bound, %").from(from).to(100.0);
        let mut panel = Panel::new(format!("{from}–100 %"), x, Axis::linear(CAPACITY).from(0.0));
        for (name, points) in table.series("bound", "fraction_percent", "capacity_per_s")? {
            let points: Points = points.into_iter().filter(|(share, _)| *share >= from).collect();
            panel = panel.series(Series::line(name, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// Figs. 11 and 12: distributions of response times.
pub(crate) fn distribution_figure(
    title: &str,
    table: &Table,
    rules: &[(f64, String)],
) -> Result<Figure, TableError> {
    let (x, y) = (Axis::log("response time, ms"), Axis::linear("requests, %").from(0.0).to(100.0));
    let mut panel = Panel::new("", x, y);
    for (name, points) in table.series("scheduler", "response_ms", "within_percent")? {
        panel = panel.series(Series::step(name, points));
    }
    for (bound_ms, label) in rules {
        panel = panel.rule_x(*bound_ms, label.clone());
    }
    Ok(Figure::new(title).panel(panel))
}
