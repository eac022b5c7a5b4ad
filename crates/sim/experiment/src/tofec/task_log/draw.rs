use crate::tofec::{paper::PRESETS, task_log::CORRELATIONS};
use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};

fn share_longer() -> Axis {
    Axis::log("share of delays that are longer").from(1e-4).to(1.0)
}

/// A panel for each preset.
pub(in crate::tofec) fn draw_delays(table: &Table, title: &str) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 440);
    for preset in PRESETS {
        let own = table.only("delays", preset.name())?;
        let x = Axis::linear("task delay, ms").from(0.0);
        let mut panel = Panel::new(preset.name(), x, share_longer());
        for (name, points) in own.series("chunk_mb", "delay_ms", "share_longer")? {
            panel = panel.series(Series::step(name, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// A panel for each preset and layout.
pub(in crate::tofec) fn draw_services(table: &Table, title: &str) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 760);
    for preset in PRESETS {
        for (layout, _) in CORRELATIONS {
            let own = table.only("delays", preset.name())?.only("layout", layout)?;
            let x = Axis::linear("service delay, ms").from(0.0).to(1000.0);
            let mut panel = Panel::new(format!("{}, {layout}", preset.name()), x, share_longer());
            for (name, points) in own.series("code", "delay_ms", "share_longer")? {
                panel = panel.series(Series::step(name, points));
            }
            figure = figure.panel(panel);
        }
    }
    Ok(figure)
}

/// Mean and deviation beside each other.
pub(in crate::tofec) fn draw_sizes(table: &Table, title: String) -> Result<Figure, TableError> {
    let mut figure = Figure::new(title).size(1000, 440);
    for (column, label) in [("mean_ms", "mean, ms"), ("deviation_ms", "standard deviation, ms")] {
        let x = Axis::linear("chunk size, MB").from(0.0).to(3.0);
        let mut panel = Panel::new("", x, Axis::linear(label).from(0.0));
        for (name, points) in table.series("curve", "chunk_mb", column)? {
            let is_measured = name.starts_with("measured");
            let shape = if is_measured { Series::points } else { Series::line };
            panel = panel.series(shape(name, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}
