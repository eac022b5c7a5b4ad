use crate::{DelayModel, Mixture, ShiftedExponential};
use alloc::boxed::Box;
use core::{fmt, str::FromStr};

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

    /// Its parameters, if it is a shifted exponential; those of 2025 are not.
    pub const fn shifted_exponential(self) -> Option<ShiftedExponential> {
        match self {
            Self::S3In2013A => Some(ShiftedExponential::S3_2013_A),
            Self::S3In2013B => Some(ShiftedExponential::S3_2013_B),
            Self::S3In2025 | Self::S3In2025Busy => None,
        }
    }
}

/// No preset has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsePresetError;

impl fmt::Display for ParsePresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a delay preset: those are s3-2013-a, s3-2013-b, s3-2025 and s3-2025-busy")
    }
}

impl core::error::Error for ParsePresetError {}

impl FromStr for Preset {
    type Err = ParsePresetError;
    fn from_str(name: &str) -> Result<Self, ParsePresetError> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or(ParsePresetError)
    }
}
