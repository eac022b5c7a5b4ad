use super::{family as of, histogram::Histogram, sheet::Sheet};
use async_trait::async_trait;
use ripstop_catalog::{
    Applied, Bucket, Catalog, CatalogError, Change, Held, Lease, Leftover, Listing, ListingRequest,
    Located, Outcome, Session, Stripe, Tombstone, Upload, UploadedPart, Usage, Vouched, Watermark,
};
use ripstop_model::{NodeId, StripeId};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

macro_rules! asked {
    ($($variant:ident $name:literal,)*) => {
        /// What a catalog can be asked.
        #[derive(Clone, Copy, Debug)]
        enum Asked { $($variant,)* }

        /// The names, in the same order.
        const OPERATIONS: [&str; [$(Asked::$variant),*].len()] = [$($name),*];
    };
}

asked! {
    Commit "commit",
    Bucket "bucket",
    Buckets "buckets",
    Usage "usage",
    Usages "usages",
    Object "object",
    List "list",
    Upload "upload",
    Parts "parts",
    Uploads "uploads",
    Stripes "stripes",
    Held "held",
    StripesAfter "stripes_after",
    Garbage "garbage",
    IsGarbage "is_garbage",
    Leftovers "leftovers",
    IsLeftover "is_leftover",
    Tombstone "tombstone",
    OutlivedBy "outlived_by",
    OutlivedAt "outlived_at",
    Watermarks "watermarks",
    Lease "lease",
    Vouched "vouched",
    Verify "verify",
    Nodes "nodes",
}

const OUTCOMES: [&str; 3] = ["done", "refused", "failed"];
const DONE: usize = 0;
const REFUSED: usize = 1;
const FAILED: usize = 2;

/// Counts and times of what a catalog was asked.
#[derive(Debug, Default)]
pub(crate) struct CatalogCounts {
    operations: [OperationCounts; OPERATIONS.len()],
    corrupt: AtomicU64,
}

#[derive(Debug, Default)]
struct OperationCounts {
    outcomes: [AtomicU64; OUTCOMES.len()],
    took: Histogram,
}

impl OperationCounts {
    fn add(&self, start: Instant, outcome: usize) {
        self.outcomes[outcome].fetch_add(1, Relaxed);
        self.took.add(ripstop_host::since(start));
    }
}

impl CatalogCounts {
    fn add<T>(&self, operation: Asked, start: Instant, result: &Result<T, CatalogError>) {
        let outcome = match result {
            Ok(_) => DONE,
            Err(CatalogError::Refused(_)) => REFUSED,
            Err(CatalogError::Corrupt { .. } | CatalogError::Unavailable(_)) => FAILED,
        };
        self.note(result);
        self.operations[operation as usize].add(start, outcome);
    }

    /// Each of the `changes` of a commit counts as one.
    fn add_changes(
        &self,
        changes: usize,
        start: Instant,
        answer: &Result<Vec<Outcome>, CatalogError>,
    ) {
        self.note(answer);
        let counts = &self.operations[Asked::Commit as usize];
        match answer {
            Ok(outcomes) => {
                for outcome in outcomes {
                    counts.add(start, if outcome.is_ok() { DONE } else { REFUSED });
                }
            }
            Err(_) => (0..changes).for_each(|_| counts.add(start, FAILED)),
        }
    }

    fn note<T>(&self, result: &Result<T, CatalogError>) {
        if let Err(CatalogError::Corrupt { .. }) = result {
            self.corrupt.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn encode(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let mut rows = sheet.family(&of::CATALOG_OPERATIONS)?;
        for (operation, counts) in OPERATIONS.into_iter().zip(&self.operations) {
            for (outcome, count) in OUTCOMES.into_iter().zip(&counts.outcomes) {
                rows.count(&[("operation", operation), ("outcome", outcome)], count)?;
            }
        }
        sheet.family(&of::CATALOG_CORRUPT)?.single(self.corrupt.load(Relaxed) as f64)?;
        let mut rows = sheet.family(&of::CATALOG_SECONDS)?;
        for (operation, counts) in OPERATIONS.into_iter().zip(&self.operations) {
            rows.histogram(&[("operation", operation)], &counts.took)?;
        }
        Ok(())
    }
}

/// A catalog that counts and times what it is asked, and otherwise is the one within. What its
/// caller gives up before the end is not counted.
#[derive(Debug)]
pub struct MeteredCatalog {
    inner: Arc<dyn Catalog>,
    counts: Arc<CatalogCounts>,
}

impl MeteredCatalog {
    pub(crate) fn new(inner: Arc<dyn Catalog>, counts: Arc<CatalogCounts>) -> Self {
        Self { inner, counts }
    }

    async fn timed<T>(
        &self,
        operation: Asked,
        asked: impl Future<Output = Result<T, CatalogError>>,
    ) -> Result<T, CatalogError> {
        let start = ripstop_host::now();
        let result = asked.await;
        self.counts.add(operation, start, &result);
        result
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Catalog for MeteredCatalog {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let (count, start) = (changes.len(), ripstop_host::now());
        let answer = self.inner.commit(now_ms, changes).await;
        self.counts.add_changes(count, start, &answer);
        answer
    }

    async fn commit_one(&self, now_ms: u64, change: Change) -> Result<Applied, CatalogError> {
        self.timed(Asked::Commit, self.inner.commit_one(now_ms, change)).await
    }

    async fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        self.timed(Asked::Bucket, self.inner.bucket(name)).await
    }

    async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError> {
        self.timed(Asked::Buckets, self.inner.buckets(after, max)).await
    }

    async fn usage(&self, bucket: &str) -> Result<Usage, CatalogError> {
        self.timed(Asked::Usage, self.inner.usage(bucket)).await
    }

    async fn usages(&self, after: &str, max: usize) -> Result<Vec<(String, Usage)>, CatalogError> {
        self.timed(Asked::Usages, self.inner.usages(after, max)).await
    }

    async fn object(&self, bucket: &str, key: &str) -> Result<Option<Located>, CatalogError> {
        self.timed(Asked::Object, self.inner.object(bucket, key)).await
    }

    async fn list(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.timed(Asked::List, self.inner.list(request)).await
    }

    async fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError> {
        self.timed(Asked::Upload, self.inner.upload(id)).await
    }

    async fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, CatalogError> {
        self.timed(Asked::Parts, self.inner.parts(id, after, max)).await
    }

    async fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.timed(Asked::Uploads, self.inner.uploads(request)).await
    }

    async fn stripes(&self, ids: &[StripeId]) -> Result<Vec<Option<Stripe>>, CatalogError> {
        self.timed(Asked::Stripes, self.inner.stripes(ids)).await
    }

    async fn held(&self, ids: &[StripeId]) -> Result<Vec<Option<Held>>, CatalogError> {
        self.timed(Asked::Held, self.inner.held(ids)).await
    }

    async fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        self.timed(Asked::StripesAfter, self.inner.stripes_after(after, max)).await
    }

    async fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        self.timed(Asked::Garbage, self.inner.garbage(due_ms, after, max)).await
    }

    async fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        self.timed(Asked::IsGarbage, self.inner.is_garbage(id)).await
    }

    async fn leftovers(
        &self,
        due_ms: u64,
        after: Option<Leftover>,
        max: usize,
    ) -> Result<Vec<Leftover>, CatalogError> {
        self.timed(Asked::Leftovers, self.inner.leftovers(due_ms, after, max)).await
    }

    async fn is_leftover(&self, copy: Leftover) -> Result<bool, CatalogError> {
        self.timed(Asked::IsLeftover, self.inner.is_leftover(copy)).await
    }

    async fn tombstone(&self, bucket: &str, key: &str) -> Result<Option<Tombstone>, CatalogError> {
        self.timed(Asked::Tombstone, self.inner.tombstone(bucket, key)).await
    }

    async fn outlived_by(
        &self,
        stripe: StripeId,
        after: (&str, &str),
        max: usize,
    ) -> Result<Vec<(String, String)>, CatalogError> {
        self.timed(Asked::OutlivedBy, self.inner.outlived_by(stripe, after, max)).await
    }

    async fn outlived_at(
        &self,
        at: (&str, &str),
        after: StripeId,
        max: usize,
    ) -> Result<Vec<StripeId>, CatalogError> {
        self.timed(Asked::OutlivedAt, self.inner.outlived_at(at, after, max)).await
    }

    async fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        self.timed(Asked::Watermarks, self.inner.watermarks()).await
    }

    async fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        self.timed(Asked::Lease, self.inner.lease(name)).await
    }

    async fn vouched(&self) -> Result<Vouched, CatalogError> {
        self.timed(Asked::Vouched, self.inner.vouched()).await
    }

    async fn verify(&self) -> Result<(), CatalogError> {
        self.timed(Asked::Verify, self.inner.verify()).await
    }

    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        self.timed(Asked::Nodes, self.inner.nodes()).await
    }
}
