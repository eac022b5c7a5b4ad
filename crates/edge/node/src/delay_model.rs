//! How long storage takes: pure functions of an operation, its size and dice, without clock or I/O.
//!
//! ```
//! use ripstop_node::{Operation, delay_model::{Dice, Preset}};
//! let mut model = "s3-2025".parse::<Preset>().expect("a preset's name").model();
//! let delay = model.sample(Operation::Get, 1 << 20, &mut Dice::new(1));
//! assert!(delay.as_millis() > 10);
//! ```

mod dice;
mod exponential;
mod mixture;
mod recorded;
#[cfg(test)]
mod tests;

pub use dice::Dice;
pub use exponential::ShiftedExponential;
pub use mixture::{Lognormal, Mixture, Straggler};
pub use recorded::{Recorded, RecordedError, Replay};

use crate::Operation;
use core::{fmt, str::FromStr, time::Duration};

/// A source of delays.
pub trait DelayModel: Send + fmt::Debug {
    /// How long the next `operation` on `bytes` bytes takes from start to end. Equal models with
    /// equal dice, asked the same, answer the same.
    fn sample(&mut self, operation: Operation, bytes: u64, dice: &mut Dice) -> Duration;
}

/// Models with a name, for configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// S3 in 2013, as TOFEC saw it, first fit: [`ShiftedExponential::S3_2013_A`].
    S3In2013A,
    /// S3 in 2013, as TOFEC saw it, second fit: [`ShiftedExponential::S3_2013_B`].
    S3In2013B,
    /// S3 in 2025: [`Mixture::S3_2025`].
    S3In2025,
    /// S3 in 2025, seen from a busy host: [`Mixture::S3_2025_BUSY`].
    S3In2025Busy,
}

impl Preset {
    /// Each of them.
    pub const ALL: [Self; 4] =
        [Self::S3In2013A, Self::S3In2013B, Self::S3In2025, Self::S3In2025Busy];

    /// Its name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3In2013A => "s3-2013-a",
            Self::S3In2013B => "s3-2013-b",
            Self::S3In2025 => "s3-2025",
            Self::S3In2025Busy => "s3-2025-busy",
        }
    }

    /// The model it stands for.
    pub fn model(self) -> Box<dyn DelayModel> {
        match self {
            Self::S3In2013A => Box::new(ShiftedExponential::S3_2013_A),
            Self::S3In2013B => Box::new(ShiftedExponential::S3_2013_B),
            Self::S3In2025 => Box::new(Mixture::S3_2025),
            Self::S3In2025Busy => Box::new(Mixture::S3_2025_BUSY),
        }
    }
}

/// No preset has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a delay preset: those are s3-2013-a, s3-2013-b, s3-2025 and s3-2025-busy")]
pub struct ParsePresetError;

impl FromStr for Preset {
    type Err = ParsePresetError;
    fn from_str(name: &str) -> Result<Self, ParsePresetError> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or(ParsePresetError)
    }
}

/// A duration of so many milliseconds, at least 0 and at most the longest there is.
fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX)
}
