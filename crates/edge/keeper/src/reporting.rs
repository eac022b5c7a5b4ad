//! Has reports of buckets made: lists of what they have, page by page, put where whoever configured
//! them wants them. What they look like is no matter of the keeper's.

use crate::{
    Keeper,
    listing::{Buckets, Versions},
    round::{self, Halt, Job, Round},
};
use futures::future::BoxFuture;
use ripstop_catalog::{Bucket, ListedVersion};
use ripstop_host::unix_ms;
use ripstop_store::StoreError;
use std::{fmt, sync::Arc, time::Duration};

/// How soon after the start it is looked for the first time what is due, at the latest.
const FIRST_AFTER_MAX: Duration = Duration::from_mins(1);

/// Makes reports of buckets.
pub trait Reporter: fmt::Debug + Send + Sync {
    /// Those of a bucket that are due at a time, in milliseconds since 1970, and not there yet.
    fn due<'a>(
        &'a self,
        bucket: &'a Bucket,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Box<dyn ReportDraft>>, StoreError>>;
}

/// A report that is being made, of which little is in memory.
pub trait ReportDraft: Send {
    /// What the keys begin with that it is about.
    fn prefix(&self) -> &str;

    /// Adds versions of keys: all that there are come, in the order of listings.
    fn add(&mut self, versions: Vec<ListedVersion>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Puts what is left: the report is whole.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

struct Reporting {
    reporter: Arc<dyn Reporter>,
    rest: Duration,
    every: Duration,
}

impl Job for Reporting {
    const NAME: &'static str = "reports";
    const IS_UPKEEP: bool = true;

    fn pause(&mut self) -> Duration {
        std::mem::replace(&mut self.rest, self.every)
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let made = make_all(round, &*self.reporter, unix_ms()).await?;
        if made > 0 {
            tracing::info!(made, "made reports of buckets");
        }
        Ok(())
    }
}

/// Makes what is due of all buckets; how many reports that was. One that fails is due again.
async fn make_all(round: &Round, reporter: &dyn Reporter, now_ms: u64) -> Result<u64, Halt> {
    let (mut buckets, mut made) = (Buckets::default(), 0);
    while let Some(page) = round.page(&mut buckets).await? {
        for bucket in page {
            let due = match reporter.due(&bucket, now_ms).await {
                Ok(due) => due,
                Err(error) => {
                    tracing::warn!(bucket = bucket.name, %error, "its reports wait");
                    continue;
                }
            };
            for draft in due {
                match make(round, &bucket.name, draft).await? {
                    Ok(()) => made += 1,
                    Err(error) => {
                        tracing::warn!(bucket = bucket.name, %error, "a report of it failed");
                    }
                }
            }
        }
    }
    Ok(made)
}

/// Makes one; what went wrong with it alone.
async fn make(
    round: &Round,
    bucket: &str,
    mut draft: Box<dyn ReportDraft>,
) -> Result<Result<(), StoreError>, Halt> {
    let mut versions = Versions::below(bucket.to_owned(), draft.prefix().to_owned());
    while let Some(page) = round.page(&mut versions).await? {
        if let Err(error) = draft.add(page).await {
            return Ok(Err(error));
        }
    }
    Ok(draft.finish().await)
}

impl Keeper {
    /// Has reports of buckets made from now on, as the keeper's settings say.
    pub fn have_reports_made(&self, reporter: Arc<dyn Reporter>) {
        let every = self.settings().inventory_every;
        if every.is_zero() {
            return;
        }
        round::begin(self, Reporting { reporter, rest: every.min(FIRST_AFTER_MAX), every });
    }

    /// Makes the reports that are due at a time, in milliseconds since 1970; answers how many.
    pub async fn make_reports(
        &self,
        reporter: &dyn Reporter,
        now_ms: u64,
    ) -> Result<u64, StoreError> {
        Ok(make_all(&Round::by_hand(self), reporter, now_ms).await?)
    }
}
