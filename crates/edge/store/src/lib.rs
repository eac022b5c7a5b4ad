//! Objects over stripes: write, read, copy, move, sweep, check, rebuild.
//!
//! A [`Store`] splits what it is given into stripes, has a pool write them, and makes them visible
//! by one change of the catalog. It deliberately knows nothing about S3's protocol, lanes or codes.
//!
//! ```
//! use bytes::Bytes;
//! use ripstop_store::Body;
//!
//! /// What is put into a store: bytes, and at their end a verdict on all of them.
//! struct Text(Option<&'static str>);
//!
//! impl Body for Text {
//!     type Seal = String;
//!     type Error = std::io::Error;
//!
//!     async fn next(&mut self) -> Option<Result<Bytes, Self::Error>> {
//!         self.0.take().map(|text| Ok(text.into()))
//!     }
//!
//!     fn seal(&mut self) -> Result<String, Self::Error> {
//!         Ok("an etag".into())
//!     }
//! }
//! ```
//!
//! **Invariant:** nothing visible points at a stripe of which fewer than K fragments are durable.
//! **Invariant:** the headers of one stripe's fragments (`told_by`) record each object and bucket,
//! and each deletion, so that a lost catalog can be rebuilt.

mod body;
mod check;
mod clock;
mod complete;
mod copy;
mod cut;
mod deletions;
mod duty;
mod error;
mod expiry;
mod identity;
mod intake;
mod lineage;
mod mend;
mod mover;
mod narrow;
mod quota;
mod read;
mod rebuild;
mod record;
mod store;
mod stranger;
mod sweep;
mod upload;
mod write;

pub use body::Body;
pub use check::{CatalogReport, CheckOptions, CheckReport, Finding, Flaw};
pub use complete::{CompleteReport, complete};
pub use duty::UPKEEP;
pub use error::{StoreError, WriteError};
pub use identity::{identity, identity_or};
pub use mover::MoveProgress;
pub use narrow::narrowed;
pub use quota::Quotas;
pub use rebuild::{
    Named, RebuildError, RebuildProgress, RebuildReport, ScratchError, SurveyedNode, SurveyedPool,
    rebuild,
};
pub use record::EXTENTS_MAX;
pub use store::{Settings, Store, Target};
pub use stranger::POOL_NAME_PREFIX;
pub use upload::PartSeal;
