use super::mean::{MEAN, mean_of};
use crate::{
    Check, Expected,
    tofec::point::{ALONE_PER_S, OVERLOAD_PER_S, Points, setting},
};
use ripstop_delay::Preset;
use ripstop_figure::Estimate;

/// Shares of the capacity that replication and k = 6 keep with each preset: equations (3) and (4).
const SHARES: [(Preset, f64, f64); 2] =
    [(Preset::S3In2013A, 0.71, 0.33), (Preset::S3In2013B, 0.68, 0.29)];

/// Figure 1, and what figure 8 says of fixed codes.
pub(super) fn checks(points: &Points, preset: Preset) -> Vec<Check> {
    let capacity = |policy: &str| points.get(preset, policy, OVERLOAD_PER_S).capacity_per_s();
    let full = capacity("fixed(1,1)");
    let share = |policy: &str| {
        let own = capacity(policy);
        Estimate { mean: own.mean / full.mean, half_width: own.half_width / full.mean, ..own }
    };
    let percents = |share: f64| Expected::Near { value: share, tolerance: 0.015 };
    let kept = SHARES.into_iter().find(|(of, ..)| *of == preset);
    let (_, replication, k6) = kept.expect("both presets are listed");
    // The policy never goes below n = 7, where the price of one more task is still finite.
    let near_30 = Expected::Near { value: 0.3, tolerance: 0.03 };
    // The fit of preset a gives 145 ms.
    let replication_ms = Expected::within(151.0, 0.05);
    let best = points.best_fixed(preset, 2.0, MEAN);
    let best_code = best.policy.code().expect("a fixed code");
    let best_is_largest = f64::from(u8::from((best_code.n(), best_code.k()) == (12, 6)));
    let alone = |policy| mean_of(points, preset, policy, ALONE_PER_S);
    let checks = [
        Check::new(
            1,
            "(12,6) is the best fixed code at 2/s (1: yes)",
            best_is_largest,
            Expected::AtLeast(1.0),
        )
        .at(format!("best: {best_code}")),
        Check::of(
            1,
            "share of the capacity that (12,6) keeps",
            share("fixed(12,6)"),
            Expected::AtMost(0.5),
        ),
        Check::of(1, "full capacity, requests/s", full, Expected::within(78.0, 0.01)),
        Check::new(
            1,
            "the same by equation (4)",
            setting(preset).capacity_per_s(),
            Expected::within(78.0, 0.01),
        ),
        Check::of(
            8,
            "basic (1,1) alone, mean ms",
            alone("fixed(1,1)"),
            Expected::within(205.0, 0.01),
        ),
        Check::of(8, "replication (2,1) alone, mean ms", alone("fixed(2,1)"), replication_ms),
        Check::of(
            8,
            "share of the capacity that replication keeps",
            share("fixed(2,1)"),
            percents(replication),
        ),
        Check::of(8, "share of the capacity that (6,6) keeps", share("fixed(6,6)"), percents(k6)),
        Check::of(
            8,
            "share of the capacity that fixed dimension k=6 keeps",
            share("fixed-dimension"),
            near_30,
        ),
    ];
    checks.into_iter().map(|check| check.with(preset)).collect()
}
