use crate::{
    Distribution, Sample,
    sizes::{SizeTimes, TimesBySize},
};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_delay::{Recorded, RecordedError, Replay};
use ripstop_model::Operation;

/// A size with cancelled tasks is replayed by this many of its quantiles.
const QUANTILES: usize = 10_000;

/// What delays were, for each operation and chunk size, without a model.
///
/// Sizes are told apart as [`crate::SIZES_MAX`] says.
#[derive(Clone, PartialEq, Debug)]
pub struct Empirical {
    /// Ascending by size; by operation.
    sizes: [Vec<(u64, Distribution)>; Operation::ALL.len()],
}

impl Empirical {
    /// Of these samples; sizes of which no task finished are left out.
    pub fn of(samples: &[Sample]) -> Self {
        let mut times = TimesBySize::default();
        let sizes = Operation::ALL.map(|operation| {
            let samples = samples.iter().copied();
            times.fill(samples.filter(|sample| sample.operation == operation));
            let distribution =
                |size: SizeTimes<'_>| Some((size.bytes, Distribution::of_times(size.served())?));
            times.sizes().filter_map(distribution).collect()
        });
        Self { sizes }
    }

    /// The sizes of an operation, ascending, and their delays.
    pub fn sizes(&self, operation: Operation) -> &[(u64, Distribution)] {
        &self.sizes[operation as usize]
    }

    /// The same delays as a model, which draws them again. What is not known of a size's longest
    /// delays is taken for as long as the longest known: too fast, the more so the more were
    /// cancelled.
    pub fn replay(&self) -> Result<Recorded, RecordedError> {
        let of = |operation: Operation| {
            self.sizes(operation).iter().flat_map(move |(bytes, distribution)| {
                let delays = distribution.replay_delays();
                delays.into_iter().map(move |delay| (operation.into(), *bytes, delay))
            })
        };
        Recorded::new(Operation::ALL.into_iter().flat_map(of), Replay::Sampled)
    }
}

impl Distribution {
    /// Delays, each as likely as any other.
    fn replay_delays(&self) -> Vec<Duration> {
        let count = if self.cancelled() == 0 { self.finished() } else { QUANTILES };
        let known = self.known();
        let quantile = |at: usize| self.quantile(((at as f64 + 0.5) / count as f64).min(known));
        (0..count).filter_map(quantile).collect()
    }
}
