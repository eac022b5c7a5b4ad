use crate::{
    Check, Expected,
    tofec::{
        harmonic::{GAP_LEAST_BOUND, widest},
        task_log::Log,
    },
};

/// Figure 6: what is fitted to the log is what its delays were drawn from.
pub(super) fn fits(logs: &[Log]) -> Vec<Check> {
    let mut checks = Vec::new();
    for log in logs {
        let truth = log.preset.shifted_exponential().expect("the presets of 2013 are");
        let (model, literal) = (log.fit.model, log.fit.literal);
        for bytes in [500_000, 3_000_000] {
            let at = format!("{} MB", bytes as f64 / 1e6);
            let mean =
                |of: ripstop_delay::ShiftedExponential| of.shift_at(bytes) + of.excess_at(bytes);
            checks.extend(
                [
                    Check::new(
                        6,
                        "fitted mean of a task over the true one",
                        mean(model) / mean(truth),
                        Expected::within(1.0, 0.02),
                    )
                    .at(at.clone()),
                    Check::new(
                        6,
                        "fitted deviation of a task over the true one",
                        model.excess_at(bytes) / truth.excess_at(bytes),
                        Expected::within(1.0, 0.04),
                    )
                    .at(at.clone()),
                    Check::new(
                        6,
                        "deviation of the literal fit over the true one",
                        literal.excess_at(bytes) / truth.excess_at(bytes),
                        Expected::Near { value: 0.59, tolerance: 0.03 },
                    )
                    .at(at),
                ]
                .map(|check| check.with(log.preset)),
            );
        }
        let at_zero = [model.shift_ms + model.mean_ms, model.mean_ms];
        let least = at_zero.into_iter().fold(f64::INFINITY, f64::min);
        checks.push(
            Check::new(6, "least of the fitted lines at size 0, ms", least, Expected::AtLeast(1.0))
                .with(log.preset),
        );
    }
    checks
}

/// Figure 5: the service delay is an order statistic.
pub(super) fn services(logs: &[Log]) -> Vec<Check> {
    let mut checks = Vec::new();
    for log in logs {
        for (n, played, by_model) in log.service_percentiles(99.0) {
            let claim = format!("p99 of 3 of {n} chunks over the order statistic's");
            let check = Check::new(5, claim, played / by_model, Expected::within(1.0, 0.04));
            checks.push(check.with(log.preset));
        }
    }
    checks
}

/// Figure 7: how far the bound is off.
pub(super) fn gap() -> Vec<Check> {
    let (n, k, gap) = widest();
    let near = Expected::Between(GAP_LEAST_BOUND - 1e-5, GAP_LEAST_BOUND);
    vec![
        Check::new(7, "widest gap between sum and bound: below 1 − γ = 0.4228", gap, near)
            .at(format!("({n},{k})")),
    ]
}
