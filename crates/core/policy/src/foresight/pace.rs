//! How fast requests arrive.

use ripstop_estimator::MovingAverage;
use ripstop_model::Timestamp;

/// Over how many arrivals the pace is averaged.
const SPANS: [f64; 4] = [16.0, 64.0, 256.0, 1024.0];
/// A shorter average counts where it differs from the longer by this many standard errors.
const SURE: f64 = 3.0;

/// The pace of arrivals: averaged over as many of them as go on at the same pace.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pace {
    arrivals: f64,
    last: Timestamp,
    gaps_ms: [MovingAverage; SPANS.len()],
}

impl Pace {
    pub(super) fn arrive(&mut self, now: Timestamp) {
        let gap_ms = now.since(self.last).as_secs_f64() * 1000.0;
        self.last = now;
        self.arrivals += 1.0;
        for (span, gap) in SPANS.iter().zip(&mut self.gaps_ms) {
            gap.add(1.0 / span.min(self.arrivals), gap_ms);
        }
    }

    /// Requests per millisecond.
    pub(super) fn rate_per_ms(&self) -> f64 {
        let [.., longest] = self.gaps_ms;
        let mut gap_ms = longest.get();
        for (span, gap) in SPANS.iter().zip(&self.gaps_ms).rev().skip(1) {
            // Of an exponential average that weighs the last by 1/span, gaps being exponential.
            let error = libm::sqrt(0.5 / span);
            let is_other = libm::fabs(libm::log(gap.get() / gap_ms)) > SURE * error;
            if is_other && self.arrivals > *span {
                gap_ms = gap.get();
            }
        }
        if gap_ms > 0.0 { 1.0 / gap_ms } else { 0.0 }
    }
}
