use crate::extents::EXTENTS_MAX;
use ripstop_catalog::{CatalogError, ObjectVersion, Refusal};
use ripstop_gateway::Cause;
use ripstop_model::StripeId;
use ripstop_runtime::{FailedStripe, RECORD_LEN_MAX, Setback};
use std::{sync::Arc, time::Duration};
use thiserror::Error;

/// When what is too much now may be tried again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How often something is told again whose stamp turns out to be behind what it replaces.
pub(crate) const STAMPS_MAX: usize = 8;

/// Why the store did not do what it was asked. Nothing visible has changed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The catalog's objection.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Too many requests wait already: try again later.
    #[error("too busy")]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// Too few nodes serve now: trying again later may help.
    #[error("too few nodes serve stripe {stripe}")]
    Unavailable {
        /// The stripe that could not be written or read.
        stripe: StripeId,
    },
    /// Too many fragments are missing or damaged to recover the bytes.
    #[error("stripe {stripe} is lost: fewer than K of its strips are whole")]
    Lost {
        /// The stripe.
        stripe: StripeId,
    },
    /// The object would lie in more pieces than its record has room for.
    #[error("an object in {extents} pieces; {EXTENTS_MAX} at most can be kept")]
    Extents {
        /// How many.
        extents: usize,
    },
    /// What is to be kept of the object does not fit the headers of its fragments.
    #[error("an object's record of {len} bytes; {RECORD_LEN_MAX} at most can be kept")]
    RecordTooLong {
        /// Bytes that it has.
        len: usize,
    },
    /// A stripe is in a pool that is not configured.
    #[error("stripe {stripe} is in pool {pool}, which is not configured")]
    NoSuchPool {
        /// The stripe.
        stripe: StripeId,
        /// The pool's name, or its number as long as that is not known.
        pool: String,
    },
    /// There is no such version of the key.
    #[error("no such version")]
    NoSuchVersion,
    /// What was asked for is a delete marker.
    #[error("version {version} is a delete marker")]
    Marker {
        /// Which.
        version: ObjectVersion,
        /// Whether what the key stands for was asked for, and not this version.
        is_latest: bool,
        /// When it was made, milliseconds since 1970.
        modified_ms: u64,
    },
    /// The body did not have the length that was announced.
    #[error("body of {got} bytes, announced as {announced}")]
    Length {
        /// Bytes that came.
        got: u64,
        /// Bytes that were announced.
        announced: u64,
    },
}

impl StoreError {
    /// The same for each of several callers that waited for one thing.
    pub(crate) fn for_each_of(self, callers: usize) -> Vec<Self> {
        let shared = Arc::new(self);
        let each = || match *shared {
            Self::Busy { retry_after } => Self::Busy { retry_after },
            Self::Unavailable { stripe } => Self::Unavailable { stripe },
            Self::Lost { stripe } => Self::Lost { stripe },
            Self::Catalog(_)
            | Self::Extents { .. }
            | Self::RecordTooLong { .. }
            | Self::NoSuchPool { .. }
            | Self::NoSuchVersion
            | Self::Marker { .. }
            | Self::Length { .. } => CatalogError::Unavailable(Box::new(shared.clone())).into(),
        };
        (0..callers).map(|_| each()).collect()
    }
}

/// Why a write that reads a body failed: the body's own reason, or the store's.
#[derive(Debug, Error)]
pub enum WriteError<E> {
    /// The body failed, or did not pass its own checks.
    #[error("body: {0}")]
    Body(E),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<E> From<CatalogError> for WriteError<E> {
    fn from(error: CatalogError) -> Self {
        Self::Store(error.into())
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Catalog(refusal.into())
    }
}

impl From<FailedStripe> for StoreError {
    fn from(failed: FailedStripe) -> Self {
        let stripe = failed.id;
        match failed.setback {
            Setback::Rejected { retry_after } => Self::Busy { retry_after },
            Setback::Failed(Cause::Lost) => Self::Lost { stripe },
            Setback::Failed(Cause::Unavailable | Cause::TimedOut | Cause::Abandoned) => {
                Self::Unavailable { stripe }
            }
        }
    }
}
