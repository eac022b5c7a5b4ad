//! How stripes come to tell something, and become visible.

use crate::{Store, StoreError, record::Telling, stripe::record_of};
use ripstop_catalog::{Applied, CatalogError, Change, Refusal, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{StripeId, StripeShape};
use ripstop_runtime::{Pool, Written};
use std::sync::atomic::Ordering;
use tokio::task::JoinError;

/// A change that was not applied, or is not known to be, and the stripes that came with it.
#[derive(Debug)]
pub(crate) struct Uncommitted {
    error: CatalogError,
    written: Vec<Written>,
}

impl Uncommitted {
    /// Whether it was refused for this reason.
    pub(crate) fn is_refusal(&self, reason: &Refusal) -> bool {
        matches!(&self.error, CatalogError::Refused(refusal) if refusal == reason)
    }
}

impl From<Uncommitted> for StoreError {
    fn from(why: Uncommitted) -> Self {
        Self::Catalog(why.error)
    }
}

impl Store {
    /// Takes note of what a change was behind; answers the stripes that it was to make visible.
    /// What it was refused for otherwise is an error.
    pub(crate) fn behind(&self, why: Uncommitted) -> Result<Vec<Written>, StoreError> {
        let Uncommitted { error, written } = why;
        let CatalogError::Refused(Refusal::Behind { seen }) = error else {
            return Err(error.into());
        };
        self.inner.lineage.observe(seen);
        Ok(written)
    }

    /// Writes a stripe without payload whose headers tell something.
    pub(crate) async fn tell(
        &self,
        pool: &Pool,
        id: StripeId,
        told: Telling,
    ) -> Result<Written, StoreError> {
        let record = told.record().await?;
        let shape = StripeShape::new(pool.code(), 0).expect("an empty stripe is within limits");
        let memory = self.memory();
        let share = self.wait_for(memory.acquire_complete(pool.draft_memory(shape))).await?;
        let mut draft = pool.draft(id, shape, share);
        self.make_room(&mut draft, &record)?;
        Ok(pool.on_behalf_of(self.tenant).write(draft.seal(pool.origin(), record)).await?)
    }

    /// Applies a change that makes stripes visible, and claims them. It runs to its end even if the
    /// caller leaves: a change whose fate is unknown must not have its stripes discarded.
    pub(crate) async fn commit(
        &self,
        written: Vec<Written>,
        change: impl FnOnce(Vec<(StripeId, Stripe)>) -> Change,
    ) -> Result<Applied, Uncommitted> {
        let stripes: Vec<_> = written.iter().map(|stripe| (stripe.id, record_of(stripe))).collect();
        let inner = self.inner.clone();
        let strays = inner.strays.of(&stripes);
        let change = change(stripes);
        let is_of_bucket = matches!(
            change,
            Change::CreateBucket { .. } | Change::SetBucket { .. } | Change::DeleteBucket { .. }
        );
        let committed = ripstop_host::spawn(async move {
            let committed = inner.catalog.commit_one(unix_ms(), change).await;
            if is_of_bucket {
                // Whatever came of it, and before anybody is told.
                inner.bucket_changes.fetch_add(1, Ordering::AcqRel);
            }
            match committed {
                Ok(applied) => {
                    inner.strays.note(&strays);
                    written.into_iter().for_each(Written::claim);
                    Ok(applied)
                }
                Err(error) => {
                    if let CatalogError::Refused(Refusal::Retired { session }) = &error {
                        inner.lineage.given_up(*session);
                    }
                    Err(Uncommitted { error, written })
                }
            }
        });
        let lost = |error: JoinError| {
            let error = CatalogError::Unavailable(error.into());
            Err(Uncommitted { error, written: Vec::new() })
        };
        committed.await.unwrap_or_else(lost)
    }
}
