//! What a row may have beside the names of its object.

/// A column that is there if it is asked for, in the order of S3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Column {
    Size,
    LastModifiedDate,
    ETag,
    StorageClass,
    IsMultipartUploaded,
    ReplicationStatus,
    EncryptionStatus,
    ObjectLockRetainUntilDate,
    ObjectLockMode,
    ObjectLockLegalHoldStatus,
    IntelligentTieringAccessTier,
    BucketKeyStatus,
    ChecksumAlgorithm,
}

use Column::{
    BucketKeyStatus, ChecksumAlgorithm, ETag, EncryptionStatus, IntelligentTieringAccessTier,
    IsMultipartUploaded, LastModifiedDate, ObjectLockLegalHoldStatus, ObjectLockMode,
    ObjectLockRetainUntilDate, ReplicationStatus, Size, StorageClass,
};

/// All of them by their names, which head them.
const ALL: [(&str, Column); 13] = [
    ("Size", Size),
    ("LastModifiedDate", LastModifiedDate),
    ("ETag", ETag),
    ("StorageClass", StorageClass),
    ("IsMultipartUploaded", IsMultipartUploaded),
    ("ReplicationStatus", ReplicationStatus),
    ("EncryptionStatus", EncryptionStatus),
    ("ObjectLockRetainUntilDate", ObjectLockRetainUntilDate),
    ("ObjectLockMode", ObjectLockMode),
    ("ObjectLockLegalHoldStatus", ObjectLockLegalHoldStatus),
    ("IntelligentTieringAccessTier", IntelligentTieringAccessTier),
    ("BucketKeyStatus", BucketKeyStatus),
    ("ChecksumAlgorithm", ChecksumAlgorithm),
];

/// Columns of S3's that are not here.
const ELSEWHERE: [&str; 3] = ["LifecycleExpirationDate", "ObjectAccessControlList", "ObjectOwner"];

impl Column {
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(given, _)| *given == name).map(|(_, column)| *column)
    }

    /// Whether S3 has a column of that name that is not here.
    pub(super) fn is_elsewhere(name: &str) -> bool {
        ELSEWHERE.contains(&name)
    }

    pub(super) fn name(self) -> &'static str {
        ALL.iter().find(|(_, column)| *column == self).map_or("", |(name, _)| name)
    }

    /// Whether the object must be looked at for it: listings do not tell it.
    pub(super) const fn needs_object(self) -> bool {
        match self {
            Size
            | LastModifiedDate
            | ETag
            | StorageClass
            | ReplicationStatus
            | IntelligentTieringAccessTier
            | ChecksumAlgorithm => false,
            IsMultipartUploaded
            | EncryptionStatus
            | ObjectLockRetainUntilDate
            | ObjectLockMode
            | ObjectLockLegalHoldStatus
            | BucketKeyStatus => true,
        }
    }
}
