use crate::{
    Outliers,
    sizes::{SizeTimes, TimesBySize},
    trim::{KEPT, Trimmed},
};
use alloc::vec::Vec;

/// A chunk size takes part in a fit once this many of its tasks have finished.
pub const SIZE_FINISHED_MIN: usize = 10;

/// What one size contributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    pub(crate) finished: usize,
    pub(crate) cancelled: usize,
    /// As the paper has it, so with the outliers.
    pub(crate) trimmed: Trimmed,
    /// What `shift_ms` and `excess_ms` come from.
    pub(crate) bulk: Trimmed,
    pub(crate) shift_ms: f64,
    pub(crate) excess_ms: f64,
}

impl Size {
    /// Those that say enough, ascending, by their delays below a quantile.
    pub(crate) fn all(times: &TimesBySize, keep: f64, outliers: Outliers) -> Vec<Self> {
        times.sizes().filter_map(|times| Self::of(&times, keep, outliers)).collect()
    }

    fn of(size: &SizeTimes<'_>, keep: f64, outliers: Outliers) -> Option<Self> {
        let finished = size.served().filter(|served| served.finished()).count();
        if finished < SIZE_FINISHED_MIN {
            return None;
        }
        let bulk = Trimmed::of(size.served(), keep, outliers)?;
        let (shift_ms, excess_ms) = bulk.shift_and_excess();
        let trimmed = Trimmed::of(size.served(), KEPT, Outliers::NONE)?;
        let cancelled = size.times.len() - finished;
        Some(Self { bytes: size.bytes, finished, cancelled, trimmed, bulk, shift_ms, excess_ms })
    }
}
