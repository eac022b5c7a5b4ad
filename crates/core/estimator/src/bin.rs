//! The bins that delays are counted in.

/// How many bins there are, and the ratio of their bounds: from 1 ms to 23 s.
pub(crate) const BINS: usize = 72;
pub(crate) const RATIO: f64 = 1.15;

/// One bin of delays.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Bin {
    pub(crate) ended: f64,
    pub(crate) cancelled: f64,
}

/// The bin that a delay belongs to.
pub(crate) fn bin_of(ms: f64) -> usize {
    if ms <= 1.0 {
        return 0;
    }
    ((libm::log(ms) / libm::log(RATIO)) as usize + 1).min(BINS - 1)
}

/// Where a bin begins, milliseconds.
pub(crate) fn begin_of(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { libm::exp(libm::log(RATIO) * (bin - 1) as f64) }
}
