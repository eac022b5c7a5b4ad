use super::survival::Survival;
use alloc::boxed::Box;

/// How many bins there are, and the ratio of their bounds: from 1 ms to 23 s.
pub(super) const BINS: usize = 72;
const RATIO: f64 = 1.15;
/// Tasks that ended from which on older ones are forgotten by halves.
const FORGET_ABOVE: f64 = 4000.0;
/// Tasks at risk below which longer delays do not count for a size's own mean and deviation. One request
/// whose tasks were late together would be taken for a tenth of all, where most tasks are cancelled early.
const AT_RISK_MIN: f64 = 6.0;

/// The delays of tasks with chunks of nearly one size: how many ended in each bin, and how many were
/// cancelled while they would have.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    /// The size of the first of them, bytes.
    pub bytes: f64,
    /// Tasks that ended, older ones counted for less.
    pub ended: f64,
    bins: Box<[Bin; BINS]>,
    /// Trimmed mean of the delays when they were looked at last, milliseconds.
    pub mean_ms: f64,
    /// Trimmed deviation likewise.
    pub deviation_ms: f64,
}

/// One bin of delays.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bin {
    pub ended: f64,
    pub cancelled: f64,
}

/// The bin that a delay belongs to.
pub(super) fn bin_of(ms: f64) -> usize {
    if ms <= 1.0 {
        return 0;
    }
    ((libm::log(ms) / libm::log(RATIO)) as usize + 1).min(BINS - 1)
}

/// Where a bin begins, milliseconds.
pub(super) fn begin_of(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { libm::exp(libm::log(RATIO) * (bin - 1) as f64) }
}

impl Histogram {
    pub(super) fn new(bytes: f64) -> Self {
        let bins = Box::new([Bin::default(); BINS]);
        Self { bytes, ended: 0.0, bins, mean_ms: 0.0, deviation_ms: 0.0 }
    }

    pub(super) fn bins(&self) -> &[Bin; BINS] {
        &self.bins
    }

    pub(super) fn add(&mut self, ms: f64, finished: bool) {
        let bin = &mut self.bins[bin_of(ms)];
        if !finished {
            bin.cancelled += 1.0;
            return;
        }
        bin.ended += 1.0;
        self.ended += 1.0;
        if self.ended > FORGET_ABOVE {
            self.ended /= 2.0;
            for bin in self.bins.iter_mut() {
                bin.ended /= 2.0;
                bin.cancelled /= 2.0;
            }
        }
    }

    /// Looks at mean and deviation anew. What only few tasks exceed is left out of both, so that a
    /// straggler does not bend the lines through them.
    pub(super) fn renew(&mut self) {
        let survival = Survival::of(&self.bins, AT_RISK_MIN);
        self.mean_ms = survival.trimmed(0.05).0;
        self.deviation_ms = survival.trimmed(0.1).1;
    }
}
