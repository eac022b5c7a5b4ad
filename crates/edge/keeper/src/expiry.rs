//! Uploads that nobody completes: aborted once they are old enough, or their parts would be kept
//! for ever.

use crate::{
    Keeper,
    listing::{Buckets, Uploads},
    round::{Halt, Job, Round},
};
use futures::{StreamExt as _, stream};
use ripstop_catalog::{CatalogError, ListedUpload, Refusal};
use ripstop_host::unix_ms;
use ripstop_store::StoreError;
use std::time::Duration;

/// Uploads that are aborted at once: they share the catalog's transactions.
const ABORTS: usize = 16;
/// How often uploads are looked at, at least; more often where they are to be aborted early.
const LOOK_EVERY_MAX: Duration = Duration::from_hours(1);
const LOOK_EVERY_MIN: Duration = Duration::from_secs(1);

/// Aborts uploads that are as old as this.
pub(crate) struct Expiry {
    pub(crate) after: Duration,
}

impl Job for Expiry {
    const NAME: &'static str = "aborting old uploads";
    // Where two do it, one is quicker.
    const IS_UPKEEP: bool = false;

    fn pause(&mut self) -> Duration {
        (self.after / 4).clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX)
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let after_ms = u64::try_from(self.after.as_millis()).unwrap_or(u64::MAX);
        let uploads = expire(round, unix_ms().saturating_sub(after_ms)).await?;
        if uploads > 0 {
            tracing::info!(uploads, "aborted uploads that nobody completed");
        }
        Ok(())
    }
}

impl Keeper {
    /// Aborts the uploads that began before `before_ms`; answers how many.
    pub async fn expire_uploads(&self, before_ms: u64) -> Result<usize, StoreError> {
        Ok(expire(&Round::by_hand(self), before_ms).await?)
    }

    /// Aborts an upload; answers whether it was there.
    pub(crate) async fn expire_one(&self, upload: ListedUpload) -> Result<bool, StoreError> {
        match self.store().abort_upload(&upload.id).await {
            Ok(()) => Ok(true),
            // Another was quicker.
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchUpload))) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

async fn expire(round: &Round, before_ms: u64) -> Result<usize, Halt> {
    let (mut buckets, mut expired) = (Buckets::default(), 0);
    while let Some(page) = round.page(&mut buckets).await? {
        for bucket in page {
            expired += expire_in(round, bucket.name, before_ms).await?;
        }
    }
    Ok(expired)
}

async fn expire_in(round: &Round, bucket: String, before_ms: u64) -> Result<usize, Halt> {
    let (mut uploads, mut expired) = (Uploads::of(bucket), 0);
    while let Some(page) = round.page(&mut uploads).await? {
        let keeper = &round.keeper()?;
        let old = page.into_iter().filter(|upload| upload.created_ms < before_ms);
        let mut aborts = stream::iter(old).map(|it| keeper.expire_one(it)).buffer_unordered(ABORTS);
        while let Some(aborted) = aborts.next().await {
            expired += usize::from(aborted?);
        }
    }
    Ok(expired)
}
