use super::mean::{MEAN, greatest, mean_of};
use crate::{
    Check, Expected,
    tofec::{
        paper::RATES_PER_S,
        point::{ALONE_PER_S, METRICS, Metric, OVERLOAD_PER_S, Points},
        surge::Surge,
    },
};
use ripstop_delay::Preset;
use ripstop_figure::Estimate;

/// 45 % of the capacity: as far as light to medium load goes.
const MEDIUM_PER_S: f64 = 35.0;

fn up_to(most: f64) -> impl Iterator<Item = f64> + Clone {
    RATES_PER_S.into_iter().filter(move |&rate| rate <= most)
}

fn at(rate: f64) -> String {
    format!("{rate}/s")
}

/// Figures 8, 9 and 10.
pub(super) fn checks(points: &Points, preset: Preset) -> Vec<Check> {
    let mut checks = gains(points, preset);
    let published =
        Beside { policy: "tofec", name: "TOFEC", up_to_per_s: MEDIUM_PER_S, most: 1.06 };
    let (policy, name) = ("tofec-multi", "multi-server TOFEC");
    let ours = Beside { policy, name, up_to_per_s: 74.0, most: 1.06 };
    checks.extend(published.checks(points, preset, "the best fixed code", None));
    checks.extend(published.checks(points, preset, "the fixed code best in mean", Some(MEAN)));
    checks.extend(ours.checks(points, preset, "the best fixed code", None));
    checks.extend(deviations(points, preset));
    checks.extend(compositions(points, preset));
    checks.into_iter().map(|check| check.with(preset)).collect()
}

/// What adapting is good for.
fn gains(points: &Points, preset: Preset) -> Vec<Check> {
    let gain = |rate: f64| {
        let tofec = points.get(preset, "tofec", rate);
        tofec.ratio(points.get(preset, "fixed(1,1)", rate), MEAN)
    };
    let capacity = |policy: &str| points.get(preset, policy, OVERLOAD_PER_S).capacity_per_s();
    let full = capacity("fixed(1,1)").mean;
    let kept = |figure: &str, policy: &str| {
        let own = capacity(policy);
        let share = Estimate { mean: own.mean / full, half_width: own.half_width / full, ..own };
        Check::of(
            8,
            format!("share of the capacity that {figure} keeps"),
            share,
            Expected::AtLeast(0.98),
        )
    };
    vec![
        Check::of(
            8,
            "TOFEC alone, mean ms",
            mean_of(points, preset, "tofec", ALONE_PER_S),
            Expected::within(84.0, 0.01),
        ),
        Check::of(8, "basic over TOFEC in mean at 2/s", gain(2.0), Expected::AtLeast(2.3)),
        Check::of(8, "the same alone", gain(ALONE_PER_S), Expected::within(2.44, 0.02)),
        kept("TOFEC", "tofec"),
        kept("multi-server TOFEC", "tofec-multi"),
        kept("greedy", "greedy"),
        kept("Backfill", "backfill"),
    ]
}

/// A policy to be held against fixed codes, up to a rate.
#[derive(Clone, Copy)]
struct Beside {
    policy: &'static str,
    name: &'static str,
    up_to_per_s: f64,
    /// How much slower it may be.
    most: f64,
}

impl Beside {
    /// The policy over a fixed code, metric by metric: the worst rate. The code is the one that is
    /// best at that rate by the metric `by`, or by each metric itself if there is none.
    fn checks(self, points: &Points, preset: Preset, whom: &str, by: Option<Metric>) -> Vec<Check> {
        let Self { policy, name, up_to_per_s, most } = self;
        let over = |(metric_name, metric): (&str, Metric)| {
            let best = |rate: f64| points.best_fixed(preset, rate, by.unwrap_or(metric));
            let ratio = |rate: f64| best(rate).ratio(points.get(preset, policy, rate), metric);
            let (rate, ratio) = greatest(up_to(up_to_per_s), ratio);
            let claim = format!("{name} over {whom} up to {up_to_per_s}/s, {metric_name}");
            Check::of(8, claim, ratio, Expected::AtMost(most)).at(at(rate))
        };
        METRICS.into_iter().map(over).collect()
    }
}

fn deviations(points: &Points, preset: Preset) -> Vec<Check> {
    let ratio = |rate: f64| {
        let tofec = points.get(preset, "tofec", rate);
        tofec.ratio(points.get(preset, "greedy", rate), |delays| delays.deviation_ms)
    };
    let negative = |rate: f64| {
        let ratio = ratio(rate);
        Estimate { mean: -ratio.mean, ..ratio }
    };
    let ((most_at, most), (least_at, least)) =
        (greatest(up_to(MEDIUM_PER_S), ratio), greatest(up_to(MEDIUM_PER_S), negative));
    let least = Estimate { mean: -least.mean, ..least };
    let range = Expected::Between(1.5, 2.7);
    let claim = |end: &str| format!("deviation of greedy over TOFEC up to {MEDIUM_PER_S}/s, {end}");
    vec![
        Check::of(9, claim("least"), least, range).at(at(least_at)),
        Check::of(9, claim("most"), most, range).at(at(most_at)),
    ]
}

fn compositions(points: &Points, preset: Preset) -> Vec<Check> {
    let neighbours = |rate: f64| {
        let point = points.get(preset, "tofec", rate);
        let pairs = (1..6).map(|k| point.share_of(&[k, k + 1]));
        let most = pairs.max_by(|one, other| one.mean.total_cmp(&other.mean));
        (rate, most.expect("there are pairs"))
    };
    let extremes = |rate: f64| (rate, points.get(preset, "greedy", rate).share_of(&[1, 6]));
    let least = |all: &dyn Fn(f64) -> (f64, Estimate)| {
        let all = RATES_PER_S.into_iter().map(all);
        let least = all.min_by(|one, other| one.1.mean.total_cmp(&other.1.mean));
        least.expect("there are rates")
    };
    let ((tofec_at, tofec), (greedy_at, greedy)) = (least(&neighbours), least(&extremes));
    let claim = |what: &str| format!("share of {what}, least over the rates");
    vec![
        Check::of(10, claim("TOFEC's two commonest neighbours k"), tofec, Expected::AtLeast(0.8))
            .at(at(tofec_at)),
        Check::of(10, claim("greedy's k = 1 and k = 6 together"), greedy, Expected::AtLeast(0.5))
            .at(at(greedy_at)),
    ]
}

/// Figure 11.
pub(super) fn surge_checks(surges: &[Surge]) -> Vec<Check> {
    let mut checks = Vec::new();
    for ideal in surges.iter().filter(|surge| surge.policy == "ideal") {
        let own = surges.iter().filter(|surge| surge.preset == ideal.preset);
        for (policy, name) in [("tofec", "TOFEC"), ("greedy", "greedy")] {
            let surge = own.clone().find(|surge| surge.policy == policy).expect("it was played");
            let pairs = surge.drained_s().into_iter().zip(ideal.drained_s());
            let sooner: Vec<f64> = pairs.map(|(own, ideal)| ideal - own).collect();
            let sooner = Estimate::of(&sooner).expect("there is a run");
            let claim = format!("seconds by which {name} has drained the surge before ideal");
            // Faster beyond doubt: the whole interval.
            let least = if sooner.half_width.is_finite() { sooner.half_width } else { 0.0 };
            let mean = |seconds: Vec<f64>| seconds.iter().sum::<f64>() / seconds.len() as f64;
            let place = format!(
                "{:.1} s with {:.0} left, ideal {:.1} s with {:.0}",
                mean(surge.drained_s()),
                surge.left().mean,
                mean(ideal.drained_s()),
                ideal.left().mean
            );
            checks.push(
                Check::of(11, claim, sooner, Expected::AtLeast(least)).at(place).with(ideal.preset),
            );
        }
    }
    checks
}
