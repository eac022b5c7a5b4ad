use core::time::Duration;

/// The estimate moves by one part of this many of itself.
const STEP: u64 = 16;
/// The least step, nanoseconds.
const STEP_MIN: u64 = 20_000;
const WHOLE: u64 = 1_000_000_000;

/// The time from a request's start to its answer that a given share of requests keep to: it rises a
/// step with each that takes longer and falls with each that does not, so that both balance there
/// (stochastic approximation after Robbins and Monro 1951).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceTime {
    /// Billionths.
    share: u64,
    /// Nanoseconds; 0 before the first. In whole ones, and a step for each request: a sketch of the
    /// estimator counts, and a moving average has no quantile; what was recorded went by this.
    estimate: u64,
}

impl ServiceTime {
    /// Of a promise that this fraction (billionths) be within a bound: half of the rest is left to
    /// those that service makes late, half to those that have to wait for longer.
    pub(crate) fn for_fraction(billionths: u32) -> Self {
        let share = WHOLE - (WHOLE - u64::from(billionths)) / 2;
        Self { share: share.min(WHOLE / 1000 * 995), estimate: 0 }
    }

    pub(crate) fn learn(&mut self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX >> 1);
        if self.estimate == 0 {
            self.estimate = took;
            return;
        }
        let step = (self.estimate / STEP).max(STEP_MIN);
        let part = |share: u64| (u128::from(step) * u128::from(share) / u128::from(WHOLE)) as u64;
        self.estimate = if took > self.estimate {
            self.estimate.saturating_add(part(self.share))
        } else {
            self.estimate.saturating_sub(part(WHOLE - self.share))
        };
    }

    pub(crate) const fn estimate(self) -> Duration {
        Duration::from_nanos(self.estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_quantile_and_follows_it() {
        let mut service = ServiceTime::for_fraction(900_000_000);
        assert_eq!(service.estimate(), Duration::ZERO);
        // 0..1000 ms in a scrambled order.
        for scale in [1, 3] {
            for i in 0..20_000_u64 {
                service.learn(Duration::from_millis(i * 7919 % 1000 * scale));
            }
            let found = service.estimate().as_secs_f64() / scale as f64;
            assert!((0.86..0.999).contains(&found), "{found} for 0.95");
        }
    }
}
