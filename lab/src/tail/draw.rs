//! What was measured as a drawing.

use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};

/// The 99th percentile against the load, of a `verdict::table`: a panel for each
/// size; markers for what was seen live, lines through what was predicted for the same requests.
pub(super) fn figure(table: &Table) -> Result<Figure, TableError> {
    let mut sizes = table.numbers("bytes")?;
    sizes.dedup();
    let mut figure = Figure::new("99th percentile: markers live, lines predicted");
    for size in sizes {
        let of_size = table.only("bytes", size)?;
        let mut panel = Panel::new(
            format!("objects of {size} B"),
            Axis::linear("load, share of full capacity").from(0.0).to(1.0),
            Axis::log("99th percentile, ms"),
        );
        for (policy, points) in of_size.series("policy", "load", "predicted_p99_ms")? {
            panel = panel.series(Series::line(policy, points));
        }
        for (policy, points) in of_size.series("policy", "load", "live_p99_ms")? {
            panel = panel.series(Series::points(policy, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}
