use crate::Refusal;
use thiserror::Error;

/// Why the catalog did not do as asked. Nothing has changed, except as `Unavailable` says.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// What was asked may not be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What is on disk is not what was written.
    #[error("catalog corrupt: {reason}")]
    Corrupt {
        /// What does not hold.
        reason: String,
    },
    /// The disk, or the database, failed. Whether a change that is answered so is in force is
    /// unknown until the catalog is opened again.
    #[error("catalog unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
