use core::time::Duration;

/// A moving average: what was seen long ago fades.
///
/// It is told with each number how much that counts, or how much what was before does. That is the
/// same but for rounding, which decisions that were recorded depend on.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct MovingAverage(f64);

impl MovingAverage {
    /// One that begins at a number.
    pub const fn new(start: f64) -> Self {
        Self(start)
    }

    /// The average.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Takes in a number that counts for this much, 0 to 1.
    #[inline]
    pub fn add(&mut self, weight: f64, number: f64) {
        self.0 += weight * (number - self.0);
    }

    /// Takes in a number beside which what was before counts for this much, 0 to 1.
    #[inline]
    pub fn fade(&mut self, memory: f64, number: f64) {
        self.0 = memory * self.0 + (1.0 - memory) * number;
    }
}

/// A new span counts for one part of this many.
const WEIGHT: i64 = 16;
/// A span counts as at most this many times the average: one straggler says little of the next.
const OUTLIER: u64 = 4;

/// A moving average of spans in whole nanoseconds, to which none is an outlier for long.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MeanSpan(u64);

impl MeanSpan {
    /// One that has seen nothing.
    pub const NONE: Self = Self(0);

    /// Nanoseconds; none before the first span.
    #[inline]
    pub const fn ns(self) -> Option<u64> {
        if self.0 > 0 { Some(self.0) } else { None }
    }

    /// Takes in a span.
    pub fn add(&mut self, span: Duration) {
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX >> 1).max(1);
        let Some(mean) = self.ns() else {
            self.0 = span;
            return;
        };
        let span = span.min(mean.saturating_mul(OUTLIER));
        let step = (span.cast_signed() - mean.cast_signed()) / WEIGHT;
        self.0 = mean.saturating_add_signed(step).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_what_is_seen() {
        let (mut added, mut faded) = (MovingAverage::new(3.0), MovingAverage::new(3.0));
        for _ in 0..200 {
            added.add(0.1, 7.0);
            faded.fade(0.9, 7.0);
            assert!((added.get() - faded.get()).abs() < 1e-12);
        }
        assert!((added.get() - 7.0).abs() < 1e-6);
    }

    #[test]
    fn a_straggler_moves_a_mean_span_by_a_fifth_at_most() {
        let mut mean = MeanSpan::NONE;
        assert_eq!(mean.ns(), None);
        mean.add(Duration::from_micros(16));
        mean.add(Duration::from_secs(1));
        assert_eq!(mean.ns(), Some(19_000));
        (0..200).for_each(|_| mean.add(Duration::from_nanos(1600)));
        assert!(mean.ns().unwrap().abs_diff(1600) <= 16, "{mean:?}");
        mean.add(Duration::ZERO);
        assert!(mean.ns().is_some());
    }
}
