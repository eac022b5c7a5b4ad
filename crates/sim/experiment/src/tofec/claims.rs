//! What must hold of the figures.

mod adaptive;
mod fixed;
mod model;
mod reference;

use super::{
    PRESETS,
    point::{METRICS, Metric, Points},
    surge::Surge,
    task_log::Log,
};
use crate::Check;
use ripstop_delay::Preset;
use ripstop_figure::Estimate;

/// All of it, in the order of the figures.
pub(super) fn all(points: &Points, logs: &[Log], surges: &[Surge]) -> Vec<Check> {
    let mut checks = Vec::new();
    for preset in PRESETS {
        checks.extend(fixed::checks(points, preset));
        checks.extend(adaptive::checks(points, preset));
        checks.extend(reference::checks(points, preset));
    }
    checks.extend(model::services(logs));
    checks.extend(model::fits(logs));
    checks.extend(model::gap());
    checks.extend(adaptive::surge_checks(surges));
    checks.sort_by_key(|check| check.figure);
    checks
}

fn mean_of(points: &Points, preset: Preset, policy: &str, rate_per_s: f64) -> Estimate {
    points.get(preset, policy, rate_per_s).estimate(MEAN)
}

const MEAN: Metric = METRICS[0].1;

/// The rate at which something is greatest, and that.
fn greatest(rates: impl IntoIterator<Item = f64>, of: impl Fn(f64) -> Estimate) -> (f64, Estimate) {
    let all = rates.into_iter().map(|rate| (rate, of(rate)));
    let greatest = all.max_by(|one, other| one.1.mean.total_cmp(&other.1.mean));
    greatest.expect("there are rates")
}
