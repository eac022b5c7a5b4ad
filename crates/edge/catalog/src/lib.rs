//! What is stored where: buckets, objects, stripes, uploads, garbage.
//!
//! [`Catalog`] is the seam: atomic [`Change`]s, durable when answered, and queries that see every
//! answered change. [`Embedded`] keeps it in one file; [`Grouped`] above it lets callers share
//! commits. Another implementation is right if it passes `conformance` (feature of that name),
//! which drives it beside a naive model.
//! The catalog counts who holds each stripe: what nobody holds any more becomes garbage in the
//! transaction that let go of it.
//!
//! It deliberately does not store or delete bytes at nodes, does not know S3's rules for names,
//! does not keep versions of objects, and does not remember ended uploads.
//!
//! ```
//! use ripstop_catalog::{Bucket, Catalog, Change, Embedded, CatalogSettings, Stripe};
//! use ripstop_model::StripeId;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ripstop_catalog::CatalogError> {
//! let catalog = Embedded::in_memory(CatalogSettings::default())?;
//! let told_by = StripeId::new(1_700_000_000_000, 7);
//! let nodes = vec![Some(0), None, None];
//! let stripe =
//!     Stripe { pool: 0, n: 3, k: 2, payload_len: 0, header_len: 512, nodes, ..Stripe::default() };
//! let created_ms = 1_700_000_000_000;
//! let bucket = Bucket { name: "photos".into(), created_ms, told_by, ..Bucket::default() };
//! let change = Change::CreateBucket { bucket, stripes: vec![(told_by, stripe)] };
//! catalog.commit_one(1_700_000_000_000, change).await?;
//! assert!(catalog.bucket("photos").await?.is_some());
//! # Ok(())
//! # }
//! ```

mod audit;
mod carry;
mod catalog;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod embedded;
mod error;
mod grouped;
mod in_turn;
mod key;
mod listing;
#[cfg(any(test, feature = "conformance"))]
mod model;
mod rollup;
mod sealed;
mod shown;
mod versions;

pub use audit::{Audit, AuditFinding, Audited, FINDINGS_MAX, Recount};
pub use carry::{
    CARRIED_BYTES_MAX, CARRIED_ROWS_MAX, RowCount, RowSink, RowSource, carry, count_rows,
};
pub use catalog::{
    BUCKETS_LEN_MAX, Catalog, LOCATED_EXTENTS_MAX, Located, Lookup, PARTS_LEN_MAX, Query, Reply,
};
#[cfg(any(test, feature = "disk"))]
pub use embedded::PowerCutDisk;
pub use embedded::{
    CatalogSettings, Copied, Durability, Embedded, EmbeddedRows, Extracted, FilledFile, HEADER_LEN,
    Health, Inspection, Reading, Snapshot, Trouble, copy, verify,
};
pub use error::CatalogError;
pub use grouped::{AtOnce, CHANGES_WAITING_MAX, Gather, Gathered, Grouped, LastCommit, Verdict};
pub use in_turn::{InTurn, MayPass, Retries, Transaction, commit_in_turn};
pub use key::{object_bucket, object_key, split_object_key};
pub use listing::{
    ListedObject, ListedUpload, ListedVersion, Listing, ListingRequest, PAGE_LEN_MAX,
};
#[cfg(any(test, feature = "conformance"))]
pub use model::{Model, State};
pub use ripstop_object::{
    Account, Applied, Attributes, BUCKET_DOCUMENTS_LEN_MAX, Bucket, BucketDocuments,
    CIPHER_BLOCK_LEN, CIPHER_BLOCK_TAG_LEN, Change, Checksum, ChecksumAlgorithm, Condition,
    Encryption, EncryptionMethod, Extent, GATEWAY_FORGOTTEN_MS, GATEWAYS_MAX, Garbage,
    GatewayClaim, GatewayId, GatewayRecord, Held, Lease, Leftover, Limit, Object, ObjectLock,
    ObjectVersion, Outcome, Part, Place, Quota, RETIRED_MAX, Refusal, Release, Retention,
    RetentionMode, SALT_LEN, SESSIONS_MAX, Salt, Session, Stamp, Stripe, Tombstone, Upload,
    UploadedPart, Usage, VersionId, Versioning, Vouched, Watermark, Writes, bucket_of,
    decrypted_len, encrypted_len, split_version_name, version_name, versions_of,
};
pub use rollup::{Page, Source, page, rolled_up};
pub use sealed::{seal, unseal};
pub use versions::{AllVersions, Come, Latest, VersionRow, escaped};
