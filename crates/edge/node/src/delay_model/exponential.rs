use super::{DelayModel, Dice, milliseconds};
use crate::Operation;
use core::time::Duration;

/// Delays of at least a shift, plus an exponential part; both grow with the size.
///
/// For B megabytes: D(B) = Δ̄ + Δ̃·B + Exp(mean Ψ̄ + Ψ̃·B) (TOFEC, equation 1). Every operation
/// alike.
#[derive(Clone, Copy, PartialEq, Debug)]
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
}

impl DelayModel for ShiftedExponential {
    fn sample(&mut self, _: Operation, bytes: u64, dice: &mut Dice) -> Duration {
        let mb = bytes as f64 / 1e6;
        let shift = self.shift_ms + self.shift_ms_per_mb * mb;
        let mean = self.mean_ms + self.mean_ms_per_mb * mb;
        milliseconds(shift + mean * dice.exponential())
    }
}
