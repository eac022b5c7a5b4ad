use crate::tofec::point::{METRICS, Metric, Points};
use ripstop_delay::Preset;
use ripstop_figure::Estimate;

pub(super) fn mean_of(points: &Points, preset: Preset, policy: &str, rate_per_s: f64) -> Estimate {
    points.get(preset, policy, rate_per_s).estimate(MEAN)
}

pub(super) const MEAN: Metric = METRICS[0].1;

/// The rate at which something is greatest, and that.
pub(super) fn greatest(
    rates: impl IntoIterator<Item = f64>,
    of: impl Fn(f64) -> Estimate,
) -> (f64, Estimate) {
    let all = rates.into_iter().map(|rate| (rate, of(rate)));
    let greatest = all.max_by(|one, other| one.1.mean.total_cmp(&other.1.mean));
    greatest.expect("there are rates")
}
