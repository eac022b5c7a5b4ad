//! Objects over stripes: write, read, copy, sweep, check, rebuild.
//!
//! A [`Store`] splits what it is given into stripes, has a pool write them, and makes them visible by
//! one change of the catalog. It knows nothing of S3's protocol, and nothing of lanes and codes.
//!
//! **Invariant:** nothing visible points at a stripe of which fewer than K fragments are durable.
//! **Invariant:** every object and bucket is told of in the headers of one stripe's fragments
//! (`told_by`), so that a lost catalog can be made anew.

mod body;
mod check;
mod clock;
mod error;
mod identity;
mod mend;
mod read;
mod rebuild;
mod record;
mod store;
mod sweep;
mod upload;
mod write;

pub use body::Body;
pub use check::{CheckOptions, CheckReport, Finding, Flaw};
pub use error::{StoreError, WriteError};
pub use identity::identity;
pub use rebuild::{RebuildReport, rebuild};
pub use store::{Settings, Store, Target};
pub use upload::PartSeal;
