//! Objects over stripes: write, read, copy, delete.
//!
//! A [`Store`] splits what it is given into stripes, has a pool write them, and makes them visible
//! by one change of the catalog. It deliberately knows nothing about S3's protocol, lanes or codes,
//! and does nothing beside requests: who keeps it ([`Keeping`]) does.
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

mod admission;
mod body;
mod bucket;
mod clock;
mod commit;
mod copy;
mod copying_turns;
mod cut;
mod deletion;
mod deletions;
mod error;
mod extents;
mod identity;
mod intake;
mod keeping;
mod lineage;
mod narrow;
mod object;
mod pack;
mod packing;
mod quota;
mod read;
mod record;
mod relocation;
mod retention_clock;
mod settings;
mod store;
mod stranger;
mod strays;
mod stripe;
mod target;
mod upload;
mod version;
mod write;

pub use body::{Body, BodyLen};
pub use deletion::Deletion;
pub use error::{StoreError, WriteError};
pub use extents::EXTENTS_MAX;
pub use identity::{adopt, identity, identity_or};
pub use keeping::Keeping;
pub use lineage::Lineage;
pub use narrow::narrowed;
pub use pack::{
    Batch, DIRECTORY_LEN_MAX, Deed, Done, MEMBERS_MAX, Member, PackDirectory, PackEntry,
    PackLayout, PackMark, lay_out,
};
pub use packing::{PackCounts, PackSettings};
pub use quota::Quotas;
pub use record::Telling;
pub use settings::StoreSettings;
pub use store::Store;
pub use stranger::POOL_NAME_PREFIX;
pub use strays::{Strays, is_spread, spot};
pub use stripe::stripe_record;
pub use target::{StoredObject, Target};
pub use upload::PartSeal;
pub use version::Removed;
