use crate::{
    outliers::Outliers,
    survival::{Served, steps},
};

/// Delays above this quantile are dropped before the model is fitted (TOFEC, section III).
pub const KEPT: f64 = 0.9;

/// Where tasks were cancelled, delays are also dropped from where fewer than this many tasks of
/// their size were still served: what is left of the sample says too little about longer ones.
pub const AT_RISK_MIN: usize = 20;

/// A size is left out if cancelling leaves less than this quantile of its delays known.
pub const KEPT_MIN: f64 = 0.2;

/// Mean and deviation of a size's delays below some quantile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Trimmed {
    /// The quantile, of the delays that are no outliers.
    pub(crate) kept: f64,
    pub(crate) mean_ms: f64,
    pub(crate) deviation_ms: f64,
}

impl Trimmed {
    /// Of sorted times, those below the quantile `keep` of what are no outliers, if enough of them
    /// finished. Of n tasks that all finished, the ⌊n/10⌋ slowest are dropped with [`KEPT`].
    pub(crate) fn of(
        sorted: impl ExactSizeIterator<Item = Served>,
        keep: f64,
        outliers: Outliers,
    ) -> Option<Self> {
        let usual = 1.0 - outliers.quick - outliers.slow;
        let (mut quick, mut kept, mut mean, mut squares) = (outliers.quick, 0.0, 0.0, 0.0);
        for step in steps(sorted) {
            let known = !step.censored || step.at_risk >= AT_RISK_MIN;
            if kept >= keep * usual - 1e-9 || !known {
                break;
            }
            if quick >= step.mass {
                quick -= step.mass;
                continue;
            }
            kept += step.mass;
            let from_old_mean = step.served.ms() - mean;
            mean += from_old_mean * step.mass / kept;
            squares += step.mass * from_old_mean * (step.served.ms() - mean);
        }
        (kept >= KEPT_MIN * usual).then(|| Self {
            kept: kept / usual,
            mean_ms: mean,
            deviation_ms: libm::sqrt((squares / kept).max(0.0)),
        })
    }

    /// Δ and Ψ of the shifted exponential of which this is mean and deviation below the quantile.
    ///
    /// Of an exponential with mean 1, the part below its quantile p, x = −ln(1−p), has the mean
    /// 1 − x(1−p)/p and the variance 1 − x²(1−p)/p².
    pub(crate) fn shift_and_excess(&self) -> (f64, f64) {
        let cut = 1.0 - self.kept;
        if cut < 1e-9 {
            return ((self.mean_ms - self.deviation_ms).max(0.0), self.deviation_ms);
        }
        let x = -libm::log(cut);
        let mean = 1.0 - x * cut / self.kept;
        let variance = 1.0 - x * x * cut / (self.kept * self.kept);
        let excess = self.deviation_ms / libm::sqrt(variance);
        ((self.mean_ms - mean * excess).max(0.0), excess)
    }
}
