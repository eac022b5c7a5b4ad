use crate::{DelayModel, Luck, StorageOperation, model::milliseconds};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Delays of at least a shift, plus an exponential part; both grow with the size.
///
/// For B megabytes: D(B) = Δ̄ + Δ̃·B + Exp(mean Ψ̄ + Ψ̃·B) (TOFEC, equation 1). Every operation
/// alike.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ShiftedExponential {
    /// Δ̄, milliseconds.
    pub shift_ms: f64,
    /// Δ̃, milliseconds per 10^6 bytes.
    pub shift_ms_per_mb: f64,
    /// Ψ̄, milliseconds.
    pub mean_ms: f64,
    /// Ψ̃, milliseconds per 10^6 bytes.
    pub mean_ms_per_mb: f64,
}

impl ShiftedExponential {
    /// S3 in 2013, first of two fits to TOFEC's published means.
    pub const S3_2013_A: Self =
        Self { shift_ms: 40.0, shift_ms_per_mb: 15.0, mean_ms: 43.0, mean_ms_per_mb: 25.6 };

    /// S3 in 2013, second of two fits to TOFEC's published means.
    pub const S3_2013_B: Self =
        Self { shift_ms: 5.0, shift_ms_per_mb: 30.0, mean_ms: 95.5, mean_ms_per_mb: 5.0 };

    /// With every delay this many times as long.
    #[must_use]
    pub const fn scaled(&self, factor: f64) -> Self {
        Self {
            shift_ms: self.shift_ms * factor,
            shift_ms_per_mb: self.shift_ms_per_mb * factor,
            mean_ms: self.mean_ms * factor,
            mean_ms_per_mb: self.mean_ms_per_mb * factor,
        }
    }

    /// Δ(B), the least delay of a chunk of `bytes` bytes, milliseconds.
    pub const fn shift_at(&self, bytes: u64) -> f64 {
        self.shift_ms + self.shift_ms_per_mb * megabytes(bytes)
    }

    /// Ψ(B), mean and deviation of what a chunk of `bytes` bytes takes beyond the least,
    /// milliseconds.
    pub const fn excess_at(&self, bytes: u64) -> f64 {
        self.mean_ms + self.mean_ms_per_mb * megabytes(bytes)
    }
}

/// Units of 10^6 bytes.
const fn megabytes(bytes: u64) -> f64 {
    bytes as f64 * 1e-6
}

impl DelayModel for ShiftedExponential {
    fn sample(&mut self, _: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration {
        milliseconds(self.shift_at(bytes) + self.excess_at(bytes) * luck.exponential())
    }

    fn mean_ms(&self, _: StorageOperation, bytes: u64) -> f64 {
        self.shift_at(bytes) + self.excess_at(bytes)
    }
}
