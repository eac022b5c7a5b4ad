//! Uploads that nobody completes: aborted once they are old enough, or their parts would be kept
//! for ever.

use crate::{Store, StoreError, store::Inner};
use futures::{StreamExt as _, stream};
use ripstop_catalog::{CatalogError, ListedUpload, ListingRequest, Refusal};
use ripstop_host::unix_ms;
use ripstop_model::TenantId;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Buckets, and uploads, that are looked at together.
const PAGE: usize = 500;
/// Uploads that are aborted at once: they share the catalog's transactions.
const ABORTS: usize = 16;
/// How often uploads are looked at, at least; more often where they are to be aborted early.
const LOOK_EVERY_MAX: Duration = Duration::from_hours(1);
const LOOK_EVERY_MIN: Duration = Duration::from_secs(1);

/// Looks at uploads until the store is gone.
pub(crate) fn spawn(store: &Store) {
    let after = store.inner.settings.uploads_expire_after;
    if !after.is_zero() {
        ripstop_host::spawn(expire(Arc::downgrade(&store.inner), after));
    }
}

async fn expire(store: Weak<Inner>, after: Duration) {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    loop {
        tokio::time::sleep((after / 4).clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX)).await;
        let Some(inner) = store.upgrade() else { return };
        let store = Store { inner, tenant: TenantId::ANYBODY };
        match store.expire_uploads(unix_ms().saturating_sub(after_ms)).await {
            Ok(0) => {}
            Ok(uploads) => tracing::info!(uploads, "aborted uploads that nobody completed"),
            Err(error) => tracing::warn!(%error, "old uploads not aborted"),
        }
    }
}

impl Store {
    /// Aborts the uploads that began before `before_ms`; answers how many.
    pub async fn expire_uploads(&self, before_ms: u64) -> Result<usize, StoreError> {
        let (mut bucket, mut expired) = (String::new(), 0);
        loop {
            let page = self.buckets(&bucket, PAGE).await?;
            let Some(last) = page.last() else { return Ok(expired) };
            bucket.clone_from(&last.name);
            for found in page {
                expired += self.expire_in(found.name, before_ms).await?;
            }
        }
    }

    async fn expire_in(&self, bucket: String, before_ms: u64) -> Result<usize, StoreError> {
        let mut wanted = ListingRequest { bucket, max: PAGE, ..ListingRequest::default() };
        let mut expired = 0;
        loop {
            let page = match self.inner.catalog.uploads(&wanted).await {
                Ok(page) => page,
                // It was removed meanwhile.
                Err(CatalogError::Refused(Refusal::NoSuchBucket)) => return Ok(expired),
                Err(error) => return Err(error.into()),
            };
            let old = page.uploads.into_iter().filter(|upload| upload.created_ms < before_ms);
            let mut aborts =
                stream::iter(old).map(|it| self.expire_one(it)).buffer_unordered(ABORTS);
            while let Some(aborted) = aborts.next().await {
                expired += usize::from(aborted?);
            }
            let Some(next) = page.next else { return Ok(expired) };
            wanted.after = next;
            wanted.after_upload = page.next_upload.unwrap_or_default();
        }
    }

    async fn expire_one(&self, upload: ListedUpload) -> Result<bool, StoreError> {
        match self.abort_upload(&upload.id).await {
            Ok(()) => Ok(true),
            // Another was quicker.
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchUpload))) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
