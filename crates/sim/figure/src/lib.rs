//! Results as CSV, figures and reports from that CSV, and the statistics in them.
//!
//! A [`Table`] holds one observation a row and is written as CSV; a [`Figure`] is drawn from such a
//! table as SVG; [`report_html`] binds figures and tables into one page. All three give the same
//! bytes for the same input on every platform, so that they can be committed and compared. The rest
//! are statistics that every experiment needs: [`Estimate`], [`percentile`], [`ccdf`],
//! [`LatencyRecorder`]; and [`Progress`] on a terminal.
//!
//! It deliberately knows nothing of what it shows, runs nothing and reads no clock (progress
//! aside).
//!
//! The SVG writer is our own. That of the `plotters` crate rounds positions to whole pixels, cuts a
//! dashed line into a path for each dash, goes through the platform's logarithm and lays legends
//! out over the curves; without font files it guesses the sizes of texts, as we do, but with them
//! it is not the same everywhere.
//!
//! ```
//! use ripstop_figure::{Axis, Figure, Panel, Series, Table};
//!
//! let mut table = Table::new(["policy", "rate_per_s", "mean_ms"]);
//! table.push(["fixed".into(), 10.0.into(), 205.2.into()]);
//! table.push(["fixed".into(), 20.0.into(), 221.9.into()]);
//! let table = Table::from_csv(&table.to_csv())?;
//!
//! let mut panel = Panel::new("", Axis::linear("rate, requests/s"), Axis::linear("mean, ms"));
//! for (name, points) in table.series("policy", "rate_per_s", "mean_ms")? {
//!     panel = panel.series(Series::line(name, points).markers());
//! }
//! let svg = Figure::new("Delay against rate").panel(panel).svg();
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), ripstop_figure::TableError>(())
//! ```

mod folder;
mod latency;
mod number;
mod plot;
mod progress;
mod report;
mod statistics;
mod table;

pub use folder::ready_folder;
pub use latency::LatencyRecorder;
pub use plot::{Axis, Figure, Panel, Series};
pub use progress::Progress;
pub use report::report_html;
pub use statistics::{Estimate, ccdf, deviation, mean, percentile, t_quantile};
pub use table::{Cell, Points, Table, TableError};
