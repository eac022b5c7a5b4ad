use crate::{
    Outliers,
    sizes::{SizeTimes, TimesBySize},
    trim::{KEPT, Trimmed},
};
use alloc::vec::Vec;

/// A chunk size takes part in a fit once this many of its tasks have finished.
pub const SIZE_FINISHED_MIN: usize = 10;

/// Where outliers are looked for, the law is taken from the delays below this quantile: so far
/// down hardly any slow outlier ends, and beyond it what the law cannot explain shows.
pub(crate) const BULK: f64 = 0.6;

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
    /// Those that say enough, ascending: by the quicker nine tenths of their delays, or, where
    /// outliers are told apart, by those of the bulk that are none.
    pub(crate) fn all(times: &TimesBySize, outliers: Option<Outliers>) -> Vec<Self> {
        times.sizes().filter_map(|times| Self::of(&times, outliers)).collect()
    }

    fn of(size: &SizeTimes<'_>, outliers: Option<Outliers>) -> Option<Self> {
        let finished = size.served().filter(|served| served.finished()).count();
        if finished < SIZE_FINISHED_MIN {
            return None;
        }
        let trimmed = Trimmed::of(size.served(), KEPT, Outliers::NONE)?;
        let bulk = match outliers {
            Some(outliers) => Trimmed::of(size.served(), BULK, outliers)?,
            None => trimmed,
        };
        let (shift_ms, excess_ms) = bulk.shift_and_excess();
        let cancelled = size.times.len() - finished;
        Some(Self { bytes: size.bytes, finished, cancelled, trimmed, bulk, shift_ms, excess_ms })
    }
}
