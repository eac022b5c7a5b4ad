//! What is configured of buckets as it was last read, so that an answer costs no look at its bucket.

use crate::{lifecycle, logging, notification};
use ripstop_catalog::Bucket;
use ripstop_lifecycle::Rules;
use ripstop_store::Store;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a bucket is believed to be as it was. What another gateway is told is heeded here that
/// much later.
const FRESH: Duration = Duration::from_secs(10);
/// Most buckets that are remembered; beyond, all are forgotten.
const BUCKETS_MAX: usize = 4096;
/// The same of bytes of their documents.
const BYTES_MAX: usize = 8 << 20;

/// What is configured of a bucket that answers about it go by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Known {
    /// By which its objects grow old.
    pub(crate) rules: Option<Rules>,
    /// Where its access log goes.
    pub(crate) log: Option<logging::Destination>,
    /// Who is told what happens in it.
    pub(crate) subscriptions: Vec<notification::Subscription>,
}

impl Known {
    fn of(bucket: &Bucket) -> Self {
        let document = |name| bucket.documents.get(name);
        Self {
            rules: document(lifecycle::DOCUMENT).and_then(lifecycle::stored),
            log: document(logging::DOCUMENT).and_then(|it| logging::stored(it, &bucket.name)),
            subscriptions: document(notification::DOCUMENT)
                .map(notification::stored)
                .unwrap_or_default(),
        }
    }
}

/// The same of buckets by their names.
#[derive(Debug, Default)]
pub(crate) struct KnownBuckets(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    seen: BTreeMap<String, Seen>,
    /// Bytes of the documents that what is known was read from.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Seen {
    /// `None` of a bucket of which nothing is configured, or which is not there.
    known: Option<Arc<Known>>,
    since: Instant,
    bytes: usize,
}

impl All {
    fn forget(&mut self, bucket: &str) {
        self.bytes -= self.seen.remove(bucket).map_or(0, |seen| seen.bytes);
    }

    fn remember(&mut self, bucket: &str, seen: Seen) {
        self.forget(bucket);
        if self.seen.len() >= BUCKETS_MAX || self.bytes + seen.bytes > BYTES_MAX {
            *self = Self::default();
        }
        self.bytes += seen.bytes;
        self.seen.insert(bucket.to_owned(), seen);
    }
}

impl KnownBuckets {
    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bucket may be other than it was from now on.
    pub(crate) fn forget(&self, bucket: &str) {
        self.all().forget(bucket);
    }

    /// What is configured of a bucket, if anything is.
    pub(crate) async fn of(&self, store: &Store, bucket: &str) -> Option<Arc<Known>> {
        let now = ripstop_host::now();
        let seen = self.all().seen.get(bucket).cloned();
        if let Some(seen) = seen
            && now.saturating_duration_since(seen.since) < FRESH
        {
            return seen.known;
        }
        let found = store.bucket(bucket).await.ok();
        let known = found.as_ref().map(Known::of).filter(|known| *known != Known::default());
        let bytes = known.as_ref().and(found).map_or(0, |found| found.documents.byte_len());
        let known = known.map(Arc::new);
        self.all().remember(bucket, Seen { known: known.clone(), since: now, bytes });
        known
    }
}
