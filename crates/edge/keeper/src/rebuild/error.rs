use super::scratch::ScratchError;
use ripstop_catalog::CatalogError;
use thiserror::Error;

/// Why a catalog was not rebuilt.
#[derive(Debug, Error)]
pub enum RebuildError {
    /// The catalog refused a change.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// What was put aside could not be written or read.
    #[error(transparent)]
    PutAside(#[from] ScratchError),
    /// What was put aside is not what was written.
    #[error("the scratch folder does not hold what was written to it")]
    Scratch,
    /// Different stores have equally many of the nodes.
    #[error(
        "equally many nodes hold mostly fragments of store {one:016x} and of store {other:016x}: leave the \
         nodes of other stores out of the configuration"
    )]
    WhichStore {
        /// One store's number.
        one: u64,
        /// Another's.
        other: u64,
    },
}
