//! What a store holds, as records: buckets, objects, stripes, uploads; and the changes to them.
//!
//! Plain data that any catalog keeps, whatever it keeps it in, and [`decide`]: what changes do to
//! it, the one copy of a catalog's rules. It deliberately does not know how records are stored (the
//! numbers of their fields are in `edge/form`), nor S3's rules for names, and it reads and writes
//! nothing: rows are looked at through [`Rows`], and what is to be written is data ([`Writes`]).
//!
//! ```
//! use ripstop_model::StripeId;
//! use ripstop_object::{Condition, Object, Refusal, Stamp};
//!
//! let told_by = StripeId::new(1_700_000_000_000, 7);
//! let object = Object { told_by, ..Object::default() };
//! assert_eq!(object.stamp(), Stamp { when: 1_700_000_000_000 << 16, stripe: told_by });
//! assert_eq!(Condition::Absent.check(Some(&object)), Err(Refusal::ConditionFailed));
//! ```
#![no_std]

extern crate alloc;

mod change;
mod decide;
mod encryption;
mod gateway;
mod lease;
mod lock;
mod named;
mod object;
mod quota;
mod refusal;
mod row;
mod rows;
mod session;
mod stamp;
mod stripe;
mod stripe_id;
mod unknown;
mod upload;
mod usage;
mod version;
mod versioning;
mod writes;

pub use change::{Change, Condition};
pub use decide::decide;
pub use encryption::{
    CIPHER_BLOCK_LEN, CIPHER_BLOCK_TAG_LEN, Encryption, EncryptionMethod, SALT_LEN, Salt,
    decrypted_len, encrypted_len,
};
pub use gateway::{GATEWAY_FORGOTTEN_MS, GATEWAYS_MAX, GatewayClaim, GatewayId, GatewayRecord};
pub use lease::{Lease, RETIRED_MAX, Watermark};
pub use lock::{ObjectLock, Release, Retention, RetentionMode};
pub use named::{FoundRow, Named};
pub use object::{
    Attributes, BUCKET_DOCUMENTS_LEN_MAX, Bucket, BucketDocuments, Checksum, ChecksumAlgorithm,
    Extent, Object, Part,
};
pub use quota::Quota;
pub use refusal::{Applied, Outcome, Refusal};
pub use row::{Account, Garbage, Held, Place};
pub use rows::{Absence, Inconsistent, Rows};
pub use session::{SESSIONS_MAX, Session, Vouched};
pub use stamp::{Stamp, Tombstone};
pub use stripe::{Leftover, Stripe};
pub use unknown::Unknown;
pub use upload::{Upload, UploadedPart};
pub use usage::{Limit, Usage};
pub use version::{
    ObjectVersion, VersionId, bucket_of, split_version_name, version_name, versions_begin,
    versions_end, versions_of, versions_prefix,
};
pub use versioning::Versioning;
pub use writes::{Row, Writes};
