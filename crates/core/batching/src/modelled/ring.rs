//! How long a batch waits at a store that m writers share, each with one batch at most.
//!
//! Writers that hold batches back equally long come in an order that never changes: the n-th batch
//! begins when the one before has been served, or when its writer, whose last one was the (n−m)-th,
//! has held it back for long enough. So it waits where the services of the m − 1 others, with what
//! the store idles between them, take longer than it was held. Let S and σ be mean and deviation of
//! a service, δ = held − (m−1)·S, and s = σ·√(m−1). Then
//!
//! ```text
//! wait = s·(h(x) − x),   variance s²·(1 − h(x)·(h(x) − x)),   x = δ/s,
//! ```
//!
//! which are mean and variance of a normal variable with mean −δ and deviation s, given that it is
//! positive; h is the normal distribution's hazard. Why: if services were exponential, the number
//! of batches not at the store would be Poisson with mean held/S, cut off at m (the machine
//! repairman, whatever the law of the time held), which for many writers is that cut-off normal
//! variable; and the limit for many writers depends on the services by their mean and variance
//! only. At both ends the formula is exact for many writers: for δ far below 0 the store never
//! idles, and the wait is −δ; far above, gaps between batches diffuse freely, and it is s²/δ.

use super::normal::{hazard, hazard_inverse};
use libm::sqrt;

/// For few writers the wait is shorter than the formula's, which is for many: rings that were
/// played show s less by this share over the square root of the writers.
const FEW: f64 = 0.4;

/// Those who share a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    /// Writers besides this one.
    pub(super) others: f64,
    /// Squared coefficient of variation of a service.
    pub(super) variation: f64,
}

/// What a batch waits at the store.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct Wait {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Ring {
    /// The variation that counts: where batches are held until somebody comes, which is this share
    /// of them, they come to the store like a Poisson stream, and not like one another's ends.
    pub(super) fn with_lone(self, lone: f64) -> Self {
        let variation = (1.0 - lone) * self.variation + lone * 0.5 * (1.0 + self.variation);
        Self { variation, ..self }
    }

    /// The wait for services of this mean when batches are held for so long.
    pub(super) fn wait(&self, service: f64, held: f64) -> Wait {
        let deviation = self.deviation(service);
        if deviation <= 0.0 {
            let mean = (self.others * service - held).max(0.0);
            return Wait { mean, variance: 0.0 };
        }
        let x = (held - self.others * service) / deviation;
        let hazard = hazard(x);
        Self::of(deviation, hazard, x)
    }

    /// The wait when the cycle of each writer is so long; none if the store cannot serve all in
    /// that time. The cycle is what all services take, and s·h(x).
    pub(super) fn wait_in_cycle(&self, service: f64, cycle: f64) -> Option<Wait> {
        let slack = cycle - (self.others + 1.0) * service;
        if slack <= 0.0 {
            return None;
        }
        let deviation = self.deviation(service);
        if deviation <= 0.0 {
            return Some(Wait::default());
        }
        let hazard = slack / deviation;
        Some(Self::of(deviation, hazard, hazard_inverse(hazard)))
    }

    fn deviation(&self, service: f64) -> f64 {
        let few = 1.0 - FEW / sqrt(self.others + 1.0);
        service * sqrt(self.variation * self.others) * few
    }

    fn of(deviation: f64, hazard: f64, x: f64) -> Wait {
        let over = (hazard - x).max(0.0);
        let variance = deviation * deviation * (1.0 - hazard * over).clamp(0.0, 1.0);
        Wait { mean: deviation * over, variance }
    }
}

#[cfg(test)]
mod tests;
