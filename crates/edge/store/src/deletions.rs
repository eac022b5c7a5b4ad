//! The nodes record deletions as they do objects, so that a rebuild does not find again what was
//! deleted, however long its fragments stay. One stripe without payload tells of all that came
//! together: while one is being written and committed, the next gather.

mod line;

pub(crate) use line::{Deletions, NAMES_LEN_MAX, Waiting};

use crate::{
    Deed, Done, Member, PackEntry, Store, StoreError, Target, deletion::Deletion,
    error::STAMPS_MAX, record::Telling, stripe::record_of,
};
use line::EndOfLine;
use ripstop_catalog::{
    CatalogError, Condition, Located, Object, Outcome, Refusal, Release, Stamp, Tombstone,
    bucket_of,
};
use ripstop_host::unix_ms;
use ripstop_model::{PoolId, TenantId};
use ripstop_runtime::{Pool, Written};
use std::time::Duration;
use tokio::sync::oneshot;

impl Store {
    /// Removes what stands under a name; answers what it was.
    pub(crate) async fn remove(
        &self,
        bucket: &str,
        key: &str,
        condition: Condition,
        bypass: bool,
    ) -> Result<Option<Object>, StoreError> {
        let present = self.inner.catalog.object(bucket, key).await?;
        if present.is_none() {
            self.bucket(bucket_of(bucket)).await?;
        }
        condition.check(present.as_ref().map(|located| &located.object))?;
        self.must_be_free(present.as_ref(), bypass)?;
        if present.is_none() {
            if !self.inner.lineage.may_have_left().await? {
                return Ok(None);
            }
            return self.delete_told(bucket, key, (Condition::None, bypass), true).await;
        }
        if !self.is_gathered(bucket, "", 0) {
            return self.delete_alone(bucket, key, condition, bypass).await;
        }
        let target = Target { bucket: bucket.to_owned(), key: key.to_owned(), condition };
        match self.gather(Member { target, deed: Deed::Delete { bypass } }, None).await? {
            Done::Deleted(replaced) => Ok(replaced),
            Done::Put(_) => unreachable!("a deletion is not answered with an object"),
        }
    }

    /// Refuses early to remove what a lock keeps: a deletion that is told and then refused has to
    /// be told not to be so.
    pub(crate) fn must_be_free(
        &self,
        present: Option<&Located>,
        bypass: bool,
    ) -> Result<(), StoreError> {
        let release = Release::Judged { as_of_ms: self.retention_now_ms(), bypass };
        match present {
            Some(Located { object, .. }) if object.attributes.lock.holds(release) => {
                Err(Refusal::Locked.into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The same beside deletions only.
    pub(crate) async fn delete_alone(
        &self,
        bucket: &str,
        key: &str,
        condition: Condition,
        bypass: bool,
    ) -> Result<Option<Object>, StoreError> {
        self.delete_told(bucket, key, (condition, bypass), false).await
    }

    async fn delete_told(
        &self,
        bucket: &str,
        key: &str,
        (condition, bypass): (Condition, bool),
        found_nothing: bool,
    ) -> Result<Option<Object>, StoreError> {
        let line = (self.pool_for(bucket).id(), self.tenant);
        let (answer, answered) = oneshot::channel();
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        let waiting = Waiting { bucket, key, condition, bypass, found_nothing, told: 0, answer };
        if self.inner.deletions.add(line, waiting)? {
            // To its end even if this caller leaves: others gather behind it.
            ripstop_host::spawn(self.clone().tell_deletions(line));
        }
        let ended = |_| StoreError::Catalog(CatalogError::Unavailable("it was given up".into()));
        answered.await.map_err(ended)?
    }

    /// Tells the deletions of a line until none wait.
    async fn tell_deletions(self, line: (PoolId, TenantId)) {
        let ending = EndOfLine { deletions: &self.inner.deletions, line };
        while let Some(batch) = self.inner.deletions.take(line) {
            let again = self.tell_together(line.0, batch).await;
            self.inner.deletions.put_back(line, again);
        }
        drop(ending);
    }

    /// Sees to it that a rebuild does not believe deletions that were told and are refused: a
    /// condition failed, or a lock came, after they were looked at.
    async fn disown_refused(
        &self,
        batch: &[Waiting],
        outcomes: &[Outcome],
        stamps: &[Stamp],
    ) -> Result<(), CatalogError> {
        let mut refused = Vec::new();
        for ((one, outcome), stamp) in batch.iter().zip(outcomes).zip(stamps) {
            let is_told_again = matches!(outcome, Ok(_) | Err(Refusal::Behind { .. }));
            if !is_told_again && !one.found_nothing {
                let (bucket, key, stamp) = (one.bucket.clone(), one.key.clone(), *stamp);
                refused.push(PackEntry::Deletion(Deletion { bucket, key, stamp }));
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        // On the heap: what is told again may be told together with other deletions.
        let disowned = Box::pin(self.reassert(refused)).await;
        disowned.map_err(|error| CatalogError::Unavailable(Box::new(error)))
    }

    /// Tells deletions in one stripe, and applies them; answers those that must be told again.
    pub(crate) async fn tell_together(&self, pool: PoolId, batch: Vec<Waiting>) -> Vec<Waiting> {
        let gone: Vec<_> = batch.iter().map(Gone::of).collect();
        let pool = self.pool(pool).expect("lines are of pools that there are");
        let (written, tombstones) = match self.tell_gone(pool, &gone).await {
            Ok(told) => told,
            Err(Busy { retry_after }) => {
                for one in batch {
                    _ = one.answer.send(Err(StoreError::Busy { retry_after }));
                }
                return Vec::new();
            }
        };
        let stamps: Vec<_> = tombstones.iter().map(|tombstone| tombstone.stamp).collect();
        let stripes: Vec<_> = written.iter().map(|told| (told.id, record_of(told))).collect();
        let strays = self.inner.strays.of(&stripes);
        let tombstones = tombstones.into_iter().map(Some).chain(std::iter::repeat(None));
        let changes = batch.iter().zip(tombstones);
        let as_of_ms = self.retention_now_ms();
        let changes =
            changes.map(|(one, tombstone)| one.change(as_of_ms, tombstone, stripes.clone()));
        let (catalog, changes) = (&self.inner.catalog, changes.collect());
        let outcomes = catalog.commit(unix_ms(), changes).await;
        for outcome in outcomes.iter().flatten() {
            if let Err(Refusal::Retired { session }) = outcome {
                self.inner.lineage.given_up(*session);
            }
        }
        // A stripe that no deletion was applied with is garbage already.
        if outcomes.is_ok() {
            self.inner.strays.note(&strays);
            written.into_iter().for_each(Written::claim);
        }
        if let Ok(outcomes) = &outcomes
            && let Err(error) = self.disown_refused(&batch, outcomes, &stamps).await
        {
            return self.answer(batch, Err(error));
        }
        self.answer(batch, outcomes)
    }

    /// Has a stripe tell that names were deleted; none does, if too few nodes take it. Where too
    /// much waits, nothing is deleted: that passes, and what is not told stays untold.
    pub(crate) async fn tell_gone(
        &self,
        pool: &Pool,
        gone: &[Gone],
    ) -> Result<(Option<Written>, Vec<Tombstone>), Busy> {
        match self.try_tell_gone(pool, gone).await {
            Ok((written, tombstones)) => Ok((Some(written), tombstones)),
            Err(StoreError::Busy { retry_after }) => Err(Busy { retry_after }),
            Err(error) => {
                tracing::warn!(%error, deletions = gone.len(), "deletions could not be recorded at the nodes");
                Ok((None, Vec::new()))
            }
        }
    }

    async fn try_tell_gone(
        &self,
        pool: &Pool,
        gone: &[Gone],
    ) -> Result<(Written, Vec<Tombstone>), StoreError> {
        let (told_by, _pin) = self.name().await?;
        let (mut of, mut tombstones) = (Vec::with_capacity(gone.len()), Vec::new());
        for Gone { bucket, key, condition } in gone {
            let stamp = match condition {
                Some(condition) => self.stamp(told_by, condition).await?,
                None => self.inner.lineage.first_stamp(told_by).await?,
            };
            of.push(Deletion { bucket: bucket.clone(), key: key.clone(), stamp });
            tombstones.push(Tombstone { stamp, told_by, ..Tombstone::default() });
        }
        let written = self.tell(pool, told_by, Telling::Deletions { told_by, of }).await?;
        Ok((written, tombstones))
    }
}

/// A name that a stripe is to tell as deleted.
pub(crate) struct Gone {
    pub bucket: String,
    /// Empty for the bucket itself.
    pub key: String,
    /// Under which condition. Where there was nothing, there is none: it is told as of before this
    /// session, since a put of this one that is on its way comes after that.
    pub condition: Option<Condition>,
}

impl Gone {
    fn of(waiting: &Waiting) -> Self {
        let condition = (!waiting.found_nothing).then(|| waiting.condition.clone());
        Self { bucket: waiting.bucket.clone(), key: waiting.key.clone(), condition }
    }
}

/// Too much waits to tell of a deletion now.
pub(crate) struct Busy {
    retry_after: Duration,
}

impl From<Busy> for StoreError {
    fn from(Busy { retry_after }: Busy) -> Self {
        Self::Busy { retry_after }
    }
}

impl Store {
    /// Answers deletions; hands back those whose stamps were behind.
    fn answer(
        &self,
        batch: Vec<Waiting>,
        outcomes: Result<Vec<Outcome>, CatalogError>,
    ) -> Vec<Waiting> {
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let error = std::sync::Arc::new(error);
                for one in batch {
                    let error = CatalogError::Unavailable(Box::new(error.clone()));
                    _ = one.answer.send(Err(error.into()));
                }
                return Vec::new();
            }
        };
        let mut again = Vec::new();
        for (mut one, outcome) in batch.into_iter().zip(outcomes) {
            match outcome {
                // Whatever came since, nothing was there when it was asked.
                _ if one.found_nothing => _ = one.answer.send(Ok(None)),
                Err(Refusal::Behind { seen }) if one.told < STAMPS_MAX => {
                    self.inner.lineage.observe(seen);
                    one.told += 1;
                    again.push(one);
                }
                // The caller may have left.
                outcome => {
                    let answer = outcome.map(|applied| applied.replaced);
                    _ = one.answer.send(answer.map_err(|why| CatalogError::from(why).into()));
                }
            }
        }
        again
    }
}
