//! Inventories of buckets, as the keeper has them made.

use futures::{FutureExt as _, future::BoxFuture};
use ripstop_catalog::{Bucket, ListedVersion};
use ripstop_keeper::{ReportDraft, Reporter};
use ripstop_s3::{Inventories, InventoryDraft};
use ripstop_store::StoreError;

/// What makes them.
#[derive(Debug)]
pub(crate) struct InventoryMaker(pub(crate) Inventories);

impl Reporter for InventoryMaker {
    fn due<'a>(
        &'a self,
        bucket: &'a Bucket,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Box<dyn ReportDraft>>, StoreError>> {
        let boxed = |draft| Box::new(Draft(draft)) as Box<dyn ReportDraft>;
        let due = self.0.due(bucket, now_ms);
        async move { Ok(due.await?.into_iter().map(boxed).collect()) }.boxed()
    }
}

struct Draft(InventoryDraft);

impl ReportDraft for Draft {
    fn prefix(&self) -> &str {
        self.0.prefix()
    }

    fn add(&mut self, versions: Vec<ListedVersion>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.add(versions).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.finish().boxed()
    }
}
