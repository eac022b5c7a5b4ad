use crate::{
    Applied, Bucket, CatalogError, Change, GatewayId, GatewayRecord, Held, Lease, Leftover,
    Listing, ListingRequest, Object, ObjectVersion, Outcome, Session, Stripe, Tombstone, Upload,
    UploadedPart, Usage, Vouched, Watermark,
};
use async_trait::async_trait;
use ripstop_model::{NodeId, StripeId};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Each question once: it becomes a [`Query`], a [`Reply`], and a method of [`Catalog`].
macro_rules! questions {
    ($($(#[$doc:meta])*
        $method:ident as $Name:ident($($field:ident: $kind:ty),*) -> $answer:ty;)*
    ) => {
        /// Everything that a catalog can be asked. Each stands for the method of [`Catalog`] of
        /// that name.
        #[derive(Clone, Copy, Debug)]
        #[expect(missing_docs, reason = "the method of the same name is documented")]
        pub enum Query<'a> {
            $($Name { $($field: $kind),* },)*
        }

        /// What a [`Query`] of the same name is answered.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "the method of the same name is documented")]
        pub enum Reply {
            $($Name($answer),)*
        }

        impl Query<'_> {
            /// The names of all queries.
            pub const NAMES: [&'static str; [$(stringify!($method)),*].len()] =
                [$(stringify!($method)),*];

            /// Where its name is among [`Self::NAMES`].
            pub fn index(&self) -> usize {
                enum Index { $($Name),* }
                match self {
                    $(Self::$Name { .. } => Index::$Name as usize,)*
                }
            }
        }

        /// What is stored where: an implementation commits, and answers queries; everything else
        /// is made of these two.
        ///
        /// Durable: when [`Catalog::commit`] answers, a crash at any later moment leaves the change
        /// in force. Reads see every change that was answered before they began. Pages are bounded
        /// by their `max`.
        #[async_trait]
        pub trait Catalog: Send + Sync + fmt::Debug {
            /// Applies changes at `now_ms` (milliseconds since 1970), in their order and in one
            /// transaction, each on top of those before it; answers each. One that is refused
            /// changes nothing, and the rest go on. Fails as a whole, or not at all.
            async fn commit(
                &self,
                now_ms: u64,
                changes: Vec<Change>,
            ) -> Result<Vec<Outcome>, CatalogError>;

            /// Answers a query with the [`Reply`] of its name.
            async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError>;

            /// Applies one change.
            async fn commit_one(
                &self,
                now_ms: u64,
                change: Change,
            ) -> Result<Applied, CatalogError> {
                let outcome = self.commit(now_ms, vec![change]).await?.pop();
                Ok(outcome.expect("each change has an outcome")?)
            }

            $($(#[$doc])*
            #[allow(
                clippy::needless_lifetimes,
                clippy::elidable_lifetime_names,
                reason = "some name nothing that is borrowed"
            )]
            fn $method<'a>(&'a self, $($field: $kind),*) -> Lookup<'a, $answer> {
                Lookup::new(self.read(Query::$Name { $($field),* }), |answer| {
                    if let Reply::$Name(answer) = answer { Some(answer) } else { None }
                })
            })*
        }
    };
}

questions! {
    /// A bucket by name.
    bucket as Bucket(name: &'a str) -> Option<Bucket>;
    /// Buckets by name, ascending, after `after`; fewer than `max` where their records are longer
    /// than [`BUCKETS_LEN_MAX`] together, but one at least if there is any.
    buckets as Buckets(after: &'a str, max: usize) -> Vec<Bucket>;
    /// What a bucket holds; nothing if it is not there.
    usage as Usage(bucket: &'a str) -> Usage;
    /// What all buckets hold, by name, ascending, after `after`.
    usages as Usages(after: &'a str, max: usize) -> Vec<(String, Usage)>;
    /// The object that a key stands for. If it has at most [`LOCATED_EXTENTS_MAX`] extents its
    /// stripes come along, each once, in the order of its extents; of a larger one, none do.
    object as Object(bucket: &'a str, key: &'a str) -> Option<Located>;
    /// The latest of a key's versions, which may be a delete marker; where its bucket keeps none,
    /// the object that it stands for.
    current as Current(bucket: &'a str, key: &'a str) -> Option<Located>;
    /// A bucket, and the [`Catalog::current`] of one of its keys at that moment or later: never
    /// before, so that who may see what the key stands for can be read from the bucket.
    bucket_with as BucketWith(bucket: &'a str, key: &'a str)
        -> Box<(Option<Bucket>, Option<Located>)>;
    /// A page of the versions of a bucket's keys, the latest of each first, grouped by a delimiter
    /// like objects; fails with `NoSuchBucket`.
    versions as Versions(request: &'a ListingRequest) -> Listing;
    /// A page of a bucket's keys in byte order, grouped by a delimiter; fails with `NoSuchBucket`.
    list as List(request: &'a ListingRequest) -> Listing;
    /// An upload by id.
    upload as Upload(id: &'a str) -> Option<Upload>;
    /// Parts of an upload with numbers above `after`, ascending; fewer than `max` where their
    /// records are longer than [`PARTS_LEN_MAX`] together, but one at least if there is any.
    parts as Parts(id: &'a str, after: u16, max: usize) -> Vec<UploadedPart>;
    /// A page of a bucket's uploads by (key, id), grouped by a delimiter like objects; fails with
    /// `NoSuchBucket`.
    uploads as Uploads(request: &'a ListingRequest) -> Listing;
    /// Some stripes by id; `None` where there is none (or it is garbage).
    stripes as Stripes(ids: &'a [StripeId]) -> Vec<Option<Stripe>>;
    /// The same, with what holds them.
    held as Held(ids: &'a [StripeId]) -> Vec<Option<Held>>;
    /// Stripes in force with ids above `after`, ascending.
    stripes_after as StripesAfter(after: StripeId, max: usize) -> Vec<(StripeId, Stripe)>;
    /// Garbage that has been due since before (not at) `due_ms`, by stripe id above `after`.
    garbage as Garbage(due_ms: u64, after: StripeId, max: usize) -> Vec<(StripeId, Stripe)>;
    /// Whether a stripe is garbage.
    is_garbage as IsGarbage(id: StripeId) -> bool;
    /// Leftovers since before (not at) `due_ms`, in order, after `after`.
    leftovers as Leftovers(due_ms: u64, after: Option<Leftover>, max: usize) -> Vec<Leftover>;
    /// Whether a copy of a fragment is a leftover.
    is_leftover as IsLeftover(copy: Leftover) -> bool;
    /// That a key's object was deleted, if that is still told; with an empty key, that a bucket
    /// was.
    tombstone as Tombstone(bucket: &'a str, key: &'a str) -> Option<Tombstone>;
    /// Of which keys (bucket and key, in that order) above `after` a stripe tells what is no longer
    /// so.
    outlived_by as OutlivedBy(stripe: StripeId, after: (&'a str, &'a str), max: usize)
        -> Vec<(String, String)>;
    /// Which stripes above `after` tell of a key what is no longer so.
    outlived_at as OutlivedAt(at: (&'a str, &'a str), after: StripeId, max: usize)
        -> Vec<StripeId>;
    /// What each session may still be writing, and which were given up, by session.
    watermarks as Watermarks() -> Vec<(Session, Watermark)>;
    /// What each gateway told of itself last, by its number.
    gateways as Gateways() -> Vec<(GatewayId, GatewayRecord)>;
    /// Who has a lease, or had it last.
    lease as Lease(name: &'a str) -> Option<Lease>;
    /// Which names of stripes it knows, whether it holds them or not.
    vouched as Vouched() -> Vouched;
    /// Fails if what is on disk is not what was written. Reads all of it.
    verify as Verify() -> ();
    /// Every node that was ever named.
    nodes as Nodes() -> Vec<(String, NodeId)>;
}

/// Extents of an object, at most, whose stripes are looked up together with it: a range of a large
/// object needs few of them.
pub const LOCATED_EXTENTS_MAX: usize = 64;

/// Most bytes of the records of buckets that are read together, unless a single one is longer.
pub const BUCKETS_LEN_MAX: usize = 512 << 10;

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
    /// Which version it is, if it was found as the latest in a bucket that keeps them.
    pub version: Option<ObjectVersion>,
}

type Reading<'a> = Pin<Box<dyn Future<Output = Result<Reply, CatalogError>> + Send + 'a>>;

/// A query under way: resolves to what its answer holds.
#[must_use = "a future does nothing by itself"]
pub struct Lookup<'a, T> {
    reading: Reading<'a>,
    held: fn(Reply) -> Option<T>,
}

impl<'a, T> Lookup<'a, T> {
    pub(crate) fn new(reading: Reading<'a>, held: fn(Reply) -> Option<T>) -> Self {
        Self { reading, held }
    }
}

impl<T> Future for Lookup<'_, T> {
    type Output = Result<T, CatalogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let held = self.held;
        let held = |answer| held(answer).expect("a catalog answers what it was asked");
        self.reading.as_mut().poll(context).map_ok(held)
    }
}

impl<T> fmt::Debug for Lookup<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").finish_non_exhaustive()
    }
}
