use super::mean::MEAN;
use crate::{
    Check, Expected,
    tofec::point::{Metric, Points},
};
use ripstop_delay::Preset;

/// Rate, policy (empty: the best fixed code for each metric), mean and, where it is known, p99.
type Row = (f64, &'static str, f64, Option<f64>);

/// Two independent simulations, 25,000 requests a point.
const OF_B: [Row; 9] = [
    (10.0, "", 100.0, None),
    (10.0, "tofec", 102.0, Some(227.0)),
    (10.0, "greedy", 145.0, Some(514.0)),
    (20.0, "", 116.0, None),
    (20.0, "tofec", 119.0, Some(280.0)),
    (20.0, "greedy", 178.0, Some(558.0)),
    (40.0, "", 170.0, None),
    (40.0, "tofec", 182.0, Some(439.0)),
    (40.0, "greedy", 210.0, Some(598.0)),
];

/// One independent simulation, 60,000 requests a point.
const OF_A: [Row; 12] = [
    (10.0, "", 100.8, Some(188.8)),
    (10.0, "tofec", 100.9, Some(197.0)),
    (30.0, "", 142.1, Some(319.9)),
    (30.0, "tofec", 141.2, Some(326.9)),
    (40.0, "", 156.8, Some(379.3)),
    (40.0, "tofec", 170.4, Some(399.5)),
    (50.0, "", 208.0, Some(634.8)),
    (50.0, "tofec", 200.2, Some(514.8)),
    (60.0, "", 217.4, Some(649.7)),
    (60.0, "tofec", 238.6, Some(639.6)),
    (70.0, "", 246.3, Some(685.8)),
    (70.0, "tofec", 287.6, Some(763.1)),
];

/// The same of Backfill: rate, mean and p99.
const BACKFILL: [(f64, f64, f64); 6] = [
    (10.0, 99.2, 193.7),
    (30.0, 131.6, 310.7),
    (40.0, 151.6, 375.6),
    (50.0, 173.0, 450.4),
    (60.0, 196.2, 548.6),
    (70.0, 235.1, 670.4),
];

const P99: Metric = |delays| delays.p99_ms;
/// How far apart two simulations may be.
const MEAN_SHARE: f64 = 0.03;
const P99_SHARE: f64 = 0.06;

/// Means and 99th percentiles beside those that others found.
pub(super) fn checks(points: &Points, preset: Preset) -> Vec<Check> {
    let rows = if preset == Preset::S3In2013A { &OF_A[..] } else { &OF_B[..] };
    let mut checks = Vec::new();
    for &(rate, policy, mean, p99) in rows {
        let metrics = [("mean", MEAN, Some(mean), MEAN_SHARE), ("p99", P99, p99, P99_SHARE)];
        for (name, metric, expected, share) in metrics {
            let Some(expected) = expected else { continue };
            let point = match policy {
                "" => points.best_fixed(preset, rate, metric),
                policy => points.get(preset, policy, rate),
            };
            let who = if policy.is_empty() { "best fixed code" } else { policy };
            let claim = format!("reference: {who} at {rate}/s, {name} ms");
            let expected = Expected::within(expected, share);
            checks.push(
                Check::of(8, claim, point.estimate(metric), expected).at(point.policy.to_string()),
            );
        }
    }
    for (rate, mean, p99) in BACKFILL.into_iter().filter(|_| preset == Preset::S3In2013A) {
        let metrics = [("mean", MEAN, mean, MEAN_SHARE), ("p99", P99, p99, P99_SHARE)];
        for (name, metric, expected, share) in metrics {
            let found = points.get(preset, "backfill", rate).estimate(metric);
            let claim = format!("reference: backfill at {rate}/s, no slower in {name} ms");
            checks.push(Check::of(8, claim, found, Expected::AtMost(expected * (1.0 + share))));
        }
    }
    checks.into_iter().map(|check| check.with(preset)).collect()
}
