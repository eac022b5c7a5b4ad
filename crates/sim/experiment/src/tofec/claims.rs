//! What must hold of the figures.

mod adaptive;
mod fixed;
mod mean;
mod model;
mod reference;

use super::{paper::PRESETS, point::Points, surge::Surge, task_log::Log};
use crate::Check;

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
