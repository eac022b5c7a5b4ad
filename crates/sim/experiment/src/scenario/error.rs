use crate::{ImpossibleCode, ParsePolicyError, WorkloadError};
use ripstop_delay::{ParsePresetError, RecordedError};
use ripstop_model::CodeError;
use std::path::PathBuf;

/// The text is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not the TOML that was expected.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A policy that there is not.
    #[error(transparent)]
    Policy(#[from] ParsePolicyError),
    /// A policy with a code that the pool has not.
    #[error(transparent)]
    Impossible(#[from] ImpossibleCode),
    /// A storage code that is none.
    #[error("code: {0}")]
    Code(CodeError),
    /// A delay that there is not.
    #[error("node {number}: {source}")]
    Preset {
        /// Counted from 1.
        number: usize,
        /// What it is not.
        source: ParsePresetError,
    },
    /// A file of delays that could not be read.
    #[error("{path:?}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of delays that is none.
    #[error("{path:?}: {source}")]
    Recorded {
        /// Which.
        path: PathBuf,
        /// Why.
        source: RecordedError,
    },
    /// A log that cannot be replayed.
    #[error("{path:?}: {source}")]
    Trace {
        /// Which.
        path: PathBuf,
        /// Why.
        source: WorkloadError,
    },
    /// A value that cannot be.
    #[error("{0}")]
    Value(String),
}
