use crate::{
    Applied, Bucket, CatalogError, Change, Held, Lease, Leftover, Listing, ListingRequest, Object,
    Outcome, Session, Stripe, Tombstone, Upload, UploadedPart, Usage, Vouched, Watermark,
};
use async_trait::async_trait;
use ripstop_model::{NodeId, StripeId};
use std::fmt;

/// What is stored where. Durable: when [`Catalog::commit`] answers, a crash at any later moment
/// leaves the change in force.
///
/// Reads see every change that was answered before they began. Pages are bounded by their `max`.
#[async_trait]
pub trait Catalog: Send + Sync + fmt::Debug {
    /// Applies changes at `now_ms` (milliseconds since 1970), in their order and in one
    /// transaction, each on top of those before it; answers each. One that is refused changes
    /// nothing, and the rest go on. Fails as a whole, or not at all.
    async fn commit(&self, now_ms: u64, changes: Vec<Change>)
    -> Result<Vec<Outcome>, CatalogError>;

    /// Applies one change.
    async fn commit_one(&self, now_ms: u64, change: Change) -> Result<Applied, CatalogError> {
        let outcome = self.commit(now_ms, vec![change]).await?.pop();
        Ok(outcome.expect("each change has an outcome")?)
    }

    /// A bucket by name.
    async fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError>;
    /// All buckets by name, ascending, after `after`.
    async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError>;

    /// What a bucket holds; nothing if it is not there.
    async fn usage(&self, bucket: &str) -> Result<Usage, CatalogError>;
    /// What all buckets hold, by name, ascending, after `after`.
    async fn usages(&self, after: &str, max: usize) -> Result<Vec<(String, Usage)>, CatalogError>;

    /// The object that a key stands for. If it has at most [`LOCATED_EXTENTS_MAX`] extents its
    /// stripes come along, each once, in the order of its extents; of a larger one, none do.
    async fn object(&self, bucket: &str, key: &str) -> Result<Option<Located>, CatalogError>;
    /// A page of a bucket's keys in byte order, grouped by a delimiter; fails with `NoSuchBucket`.
    async fn list(&self, request: &ListingRequest) -> Result<Listing, CatalogError>;

    /// An upload by id.
    async fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError>;
    /// Parts of an upload with numbers above `after`, ascending; fewer than `max` where their
    /// records are longer than [`PARTS_LEN_MAX`] together, but one at least if there is any.
    async fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, CatalogError>;
    /// A page of a bucket's uploads by (key, id), grouped by a delimiter like objects; fails with
    /// `NoSuchBucket`.
    async fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError>;

    /// Some stripes by id; `None` where there is none (or it is garbage).
    async fn stripes(&self, ids: &[StripeId]) -> Result<Vec<Option<Stripe>>, CatalogError>;
    /// The same, with what holds them.
    async fn held(&self, ids: &[StripeId]) -> Result<Vec<Option<Held>>, CatalogError>;
    /// Stripes in force with ids above `after`, ascending.
    async fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError>;
    /// Garbage that has been due since before (not at) `due_ms`, by stripe id above `after`.
    async fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError>;
    /// Whether a stripe is garbage.
    async fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError>;
    /// Leftovers since before (not at) `due_ms`, in order, after `after`.
    async fn leftovers(
        &self,
        due_ms: u64,
        after: Option<Leftover>,
        max: usize,
    ) -> Result<Vec<Leftover>, CatalogError>;
    /// Whether a copy of a fragment is a leftover.
    async fn is_leftover(&self, copy: Leftover) -> Result<bool, CatalogError>;
    /// That a key's object was deleted, if that is still told; with an empty key, that a bucket
    /// was.
    async fn tombstone(&self, bucket: &str, key: &str) -> Result<Option<Tombstone>, CatalogError>;
    /// Of which keys (bucket and key, in that order) above `after` a stripe tells what is no longer
    /// so.
    async fn outlived_by(
        &self,
        stripe: StripeId,
        after: (&str, &str),
        max: usize,
    ) -> Result<Vec<(String, String)>, CatalogError>;
    /// Which stripes above `after` tell of a key what is no longer so.
    async fn outlived_at(
        &self,
        at: (&str, &str),
        after: StripeId,
        max: usize,
    ) -> Result<Vec<StripeId>, CatalogError>;
    /// What each session may still be writing, and which were given up, by session.
    async fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError>;
    /// Who has a lease, or had it last.
    async fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError>;
    /// Which names of stripes it knows, whether it holds them or not.
    async fn vouched(&self) -> Result<Vouched, CatalogError>;
    /// Fails if what is on disk is not what was written. Reads all of it.
    async fn verify(&self) -> Result<(), CatalogError>;
    /// Every node that was ever named.
    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError>;
}

/// Extents of an object, at most, whose stripes are looked up together with it: a range of a large
/// object needs few of them.
pub const LOCATED_EXTENTS_MAX: usize = 64;

/// Most bytes of the records of parts that are read together, unless a single one is longer.
pub const PARTS_LEN_MAX: usize = 512 << 10;

/// An object and, unless they are many, the stripes its extents name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The object.
    pub object: Object,
    /// Its stripes in the order of their first use by an extent; none if there are too many
    /// extents.
    pub stripes: Vec<(StripeId, Stripe)>,
}
