//! Kaplan and Meier: Nonparametric estimation from incomplete observations, 1958.

use crate::Sample;
use core::time::Duration;

/// How long one task was served. Ascending by time; of equal times the finished come first, as they
/// must: what was cancelled then was still at risk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Served(u64);

impl Served {
    pub(crate) fn of(sample: &Sample) -> Self {
        let ns = u64::try_from(sample.served.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX >> 1);
        Self(ns << 1 | u64::from(!sample.finished))
    }

    pub(crate) const fn finished(self) -> bool {
        self.0 & 1 == 0
    }

    pub(crate) const fn time(self) -> Duration {
        Duration::from_nanos(self.0 >> 1)
    }

    pub(crate) const fn ms(self) -> f64 {
        (self.0 >> 1) as f64 * 1e-6
    }
}

/// One finished task in the estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) served: Served,
    /// Share of all tasks that it stands for: its own, and its part of those cancelled before.
    pub(crate) mass: f64,
    /// Share of all tasks that take longer.
    pub(crate) survival: f64,
    /// Tasks that were served at least as long, this among them.
    pub(crate) at_risk: usize,
    /// Whether any was cancelled before.
    pub(crate) censored: bool,
}

/// The steps of the estimate, from `sorted` times. The masses add up to 1 less the last step's
/// survival, which is 0 unless the longest time is a cancelled task's.
pub(crate) fn steps(sorted: impl ExactSizeIterator<Item = Served>) -> impl Iterator<Item = Step> {
    let count = sorted.len();
    let (mut before, mut cancelled) = (1.0, 0);
    sorted.enumerate().filter_map(move |(at, served)| {
        if !served.finished() {
            cancelled += 1;
            return None;
        }
        let at_risk = count - at;
        // Until something is cancelled, exactly what counting says: products would drift.
        let survival = if cancelled == 0 {
            (at_risk - 1) as f64 / count as f64
        } else {
            before * (at_risk - 1) as f64 / at_risk as f64
        };
        let mass = before / at_risk as f64;
        before = survival;
        Some(Step { served, mass, survival, at_risk, censored: cancelled > 0 })
    })
}
