//! How fast requests arrive.

use ripstop_estimator::MovingAverage;
use ripstop_model::Timestamp;

/// Over how many arrivals the pace is averaged.
const SPANS: [f64; 4] = [16.0, 64.0, 256.0, 1024.0];
/// A shorter average counts where it differs from the longer by this many standard errors.
const SURE: f64 = 3.0;

/// Arrivals whose time together is compared with what the pace makes it.
const GROUP: u32 = 8;
/// How much such a group counts.
const GROUP_WEIGHT: f64 = 1.0 / 128.0;
/// How many arrivals come at once at most, as a power of 2.
const UNEVEN: f64 = 3.0;

/// The pace of arrivals: averaged over as many of them as go on at the same pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    arrivals: f64,
    last: Timestamp,
    gaps_ms: [MovingAverage; SPANS.len()],
    /// Arrivals of this group, and since when.
    group: u32,
    since: Timestamp,
    /// Variance of a group's time over that of random arrivals, smoothed.
    uneven: MovingAverage,
    batch: i8,
}

impl Default for Pace {
    fn default() -> Self {
        let (gaps_ms, uneven) = ([MovingAverage::default(); SPANS.len()], MovingAverage::new(1.0));
        let (last, since) = (Timestamp::ZERO, Timestamp::ZERO);
        Self { arrivals: 0.0, last, gaps_ms, group: 0, since, uneven, batch: 0 }
    }
}

impl Pace {
    pub(super) fn arrive(&mut self, now: Timestamp) {
        let gap_ms = now.since(self.last).as_secs_f64() * 1000.0;
        self.last = now;
        self.arrivals += 1.0;
        for (span, gap) in SPANS.iter().zip(&mut self.gaps_ms) {
            gap.add(1.0 / span.min(self.arrivals), gap_ms);
        }
        self.group += 1;
        if self.group < GROUP {
            return;
        }
        let (group, group_ms) = (f64::from(GROUP), now.since(self.since).as_secs_f64() * 1000.0);
        (self.group, self.since) = (0, now);
        if self.arrivals > group {
            let off = group_ms * self.rate_per_ms() - group;
            self.uneven.add(GROUP_WEIGHT, off * off / group);
            // Of what arrives unevenly, tasks of random lengths make half as uneven.
            let uneven = libm::log2(f64::midpoint(1.0, self.uneven.get()));
            self.batch = libm::round(uneven.clamp(0.0, UNEVEN)) as i8;
        }
    }

    /// How many requests come at once, as a power of 2: 0 at random, more in bursts that go by
    /// before the pace has followed them.
    pub(super) fn batch(&self) -> i8 {
        self.batch
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
