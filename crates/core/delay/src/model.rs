use crate::{Luck, StorageOperation};
use core::{fmt::Debug, time::Duration};

/// A law of delays.
pub trait DelayModel: Send + Debug {
    /// How long the next `operation` on `bytes` bytes takes from start to end. Equal models with
    /// equal luck, asked the same, answer the same; how much luck is thrown does not depend on the
    /// model's parameters.
    fn sample(&mut self, operation: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration;

    /// What `operation` on `bytes` bytes takes on average, milliseconds.
    fn mean_ms(&self, operation: StorageOperation, bytes: u64) -> f64;
}

/// A duration of this many milliseconds, at least 0 and at most what 64 bits of nanoseconds hold.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6 + 0.5) as u64)
}
