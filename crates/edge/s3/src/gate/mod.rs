//! Who is let to what: what buckets say of it, what requests have, and what comes of both.

mod bucket;
mod decide;
mod facts;
mod giving;
mod judge;
mod known;
mod ownership;

pub(crate) use bucket::{
    ACL, BucketAccess, OWNERSHIP, OWNERSHIP_REMOVED, POLICY, PUBLIC_ACCESS_BLOCK,
};
pub(crate) use decide::{Gate, Need};
pub(crate) use facts::{Circumstances, Signing};
pub use giving::give_bucket;
pub(crate) use judge::{list_of, owner_of};
pub(crate) use known::KnownAccess;
pub use ownership::ObjectOwnership;
pub(crate) use ownership::PublicAccessBlock;
