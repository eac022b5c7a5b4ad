use thiserror::Error;

/// Why the catalog did not do as asked. Nothing has changed, except as `Unavailable` says.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// The bucket is not there.
    #[error("no such bucket")]
    NoSuchBucket,
    /// The bucket is there already.
    #[error("bucket exists")]
    BucketExists,
    /// The bucket still has objects or uploads.
    #[error("bucket not empty")]
    BucketNotEmpty,
    /// The key stands for no object.
    #[error("no such key")]
    NoSuchKey,
    /// The upload is not there (ended, aborted, or never begun).
    #[error("no such upload")]
    NoSuchUpload,
    /// A part was replaced, or is not there.
    #[error("part {number} is not as it was")]
    PartChanged {
        /// The part.
        number: u16,
    },
    /// The change's condition does not hold.
    #[error("condition failed")]
    ConditionFailed,
    /// The change would make the bucket larger than its quota lets it be.
    #[error("the bucket's quota of {limit} is reached")]
    QuotaExceeded {
        /// Which limit is in the way.
        limit: crate::Limit,
    },
    /// An extent names a stripe that is not in force (its object was removed meanwhile).
    #[error("stripe {stripe} is gone")]
    StripeGone {
        /// The stripe.
        stripe: ripstop_model::StripeId,
    },
    /// What is on disk is not what was written.
    #[error("catalog corrupt: {reason}")]
    Corrupt {
        /// What does not hold.
        reason: String,
    },
    /// The disk, or the database, failed. Whether a change that is answered so is in force is unknown
    /// until the catalog is opened again.
    #[error("catalog unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
