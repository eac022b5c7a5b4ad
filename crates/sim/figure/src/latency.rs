use crate::statistics::rank;
use hdrhistogram::Histogram;
use libm::sqrt;
use std::time::Duration;

/// The shortest latency told from zero, and the longest told from longer ones, in nanoseconds.
const BOUNDS_NS: (u64, u64) = (1, 3_600_000_000_000);
/// Significant digits of a latency.
const DIGITS: u8 = 3;

/// Latencies of any number of requests in a fixed amount of memory (some 270 KiB).
///
/// Percentiles are exact to 3 digits up to an hour, finer than the estimator's sketch needs to be
/// for a gateway: figures are compared digit by digit. Mean, deviation and maximum are exact.
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    histogram: Histogram<u64>,
    mean_ns: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
    max_ns: u64,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// Without latencies.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(BOUNDS_NS.0, BOUNDS_NS.1, DIGITS);
        Self {
            histogram: histogram.expect("the bounds are in order, the digits few"),
            mean_ns: 0.0,
            squares: 0.0,
            max_ns: 0,
        }
    }

    /// Takes note of one.
    pub fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanos);
        self.max_ns = self.max_ns.max(nanos);
        // Welford 1962: the mean and the squares in one pass.
        let (value, count) = (nanos as f64, self.histogram.len() as f64);
        let before = value - self.mean_ns;
        self.mean_ns += before / count;
        self.squares += before * (value - self.mean_ns);
    }

    /// Takes over the latencies of another.
    pub fn merge(&mut self, other: &Self) {
        let (ours, theirs) = (self.count() as f64, other.count() as f64);
        if theirs == 0.0 {
            return;
        }
        self.histogram.add(&other.histogram).expect("both have the same bounds");
        self.max_ns = self.max_ns.max(other.max_ns);
        let (apart, all) = (other.mean_ns - self.mean_ns, ours + theirs);
        self.mean_ns += apart * theirs / all;
        self.squares += other.squares + apart * apart * ours * theirs / all;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Their mean in milliseconds; none of nothing.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.mean_ns / 1e6)
    }

    /// Their standard deviation in milliseconds (n − 1); none of fewer than two.
    pub fn deviation_ms(&self) -> Option<f64> {
        let count = self.count();
        (count > 1).then(|| sqrt(self.squares / (count - 1) as f64) / 1e6)
    }

    /// The nearest-rank percentile in milliseconds, as [`percentile`](crate::percentile) has it;
    /// 100 is the exact maximum. None of nothing.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        let wanted = rank(self.count(), percent)?;
        if wanted == self.count() {
            return self.max_ms();
        }
        let mut below = 0;
        for bucket in self.histogram.iter_recorded() {
            below += bucket.count_since_last_iteration();
            if below >= wanted {
                return Some(self.middle_ms(bucket.value_iterated_to()));
            }
        }
        self.max_ms()
    }

    /// The longest in milliseconds; none of nothing.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.max_ns as f64 / 1e6)
    }

    /// The share above each latency that was recorded: (milliseconds, share).
    pub fn ccdf_ms(&self) -> Vec<(f64, f64)> {
        let count = self.count();
        let mut above = count;
        let mut points = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            above -= bucket.count_since_last_iteration();
            points.push((self.middle_ms(bucket.value_iterated_to()), above as f64 / count as f64));
        }
        points
    }

    /// The middle of the values that the histogram does not tell from this one.
    fn middle_ms(&self, value: u64) -> f64 {
        self.histogram.median_equivalent(value).min(self.max_ns) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deviation, mean, percentile};

    /// Latencies between a tenth of a millisecond and a second, most of them short.
    fn samples() -> Vec<f64> {
        (1..=20_000_u32)
            .map(|index| 2000.0 / f64::from(index.wrapping_mul(7919) % 20_011 + 1))
            .collect()
    }

    fn recorder(samples_ms: &[f64]) -> LatencyRecorder {
        let mut recorder = LatencyRecorder::new();
        for sample in samples_ms {
            recorder.record(Duration::from_nanos((sample * 1e6) as u64));
        }
        recorder
    }

    fn near(found: Option<f64>, expected: Option<f64>, tolerance: f64) {
        let (found, expected) = (found.unwrap(), expected.unwrap());
        assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn statistics_are_those_of_the_samples() {
        let mut sorted = samples();
        let recorder = recorder(&sorted);
        near(recorder.mean_ms(), mean(&sorted), 1e-5);
        near(recorder.deviation_ms(), deviation(&sorted), 1e-5);
        sorted.sort_by(f64::total_cmp);
        for percent in [0.0, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0] {
            near(recorder.percentile_ms(percent), percentile(&sorted, percent), 1e-3);
        }
        near(recorder.max_ms(), sorted.last().copied(), 1e-6);
        let (x, share) = recorder.ccdf_ms()[0];
        assert!(x > 0.09 && share < 1.0 && recorder.ccdf_ms().last().unwrap().1 == 0.0);
    }

    #[test]
    fn merging_is_recording_both() {
        let samples = samples();
        let (one, two) = samples.split_at(1234);
        let mut merged = recorder(one);
        merged.merge(&recorder(two));
        merged.merge(&LatencyRecorder::new());
        let mut from_nothing = LatencyRecorder::new();
        from_nothing.merge(&merged);
        let whole = recorder(&samples);
        for recorder in [merged, from_nothing] {
            near(recorder.mean_ms(), whole.mean_ms(), 1e-12);
            near(recorder.deviation_ms(), whole.deviation_ms(), 1e-9);
            assert_eq!(recorder.ccdf_ms(), whole.ccdf_ms());
        }
    }

    #[test]
    fn nothing_has_no_statistics_and_too_much_saturates() {
        let mut recorder = LatencyRecorder::new();
        assert_eq!((recorder.mean_ms(), recorder.percentile_ms(50.0)), (None, None));
        recorder.record(Duration::from_hours(2));
        assert_eq!(recorder.deviation_ms(), None);
        assert_eq!(recorder.max_ms(), Some(7_200_000.0));
        recorder.record(Duration::ZERO);
        recorder.record(Duration::from_secs(8000));
        assert!(recorder.percentile_ms(50.0).unwrap() >= 3_599_000.0);
    }
}
