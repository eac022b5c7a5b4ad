//! Removes what is due.

use super::counts::Aged;
use crate::{
    Keeper,
    round::{Halt, Round},
};
use futures::{StreamExt as _, stream};
use ripstop_catalog::{
    CatalogError, Condition, ListedUpload, ListedVersion, Located, Object, Place,
};
use ripstop_lifecycle::{Day, Rules, Standing, View};
use ripstop_store::StoreError;

/// Removals at once: they share the catalog's transactions.
const AT_ONCE: usize = 16;

/// What became of something due.
pub(super) enum Outcome {
    /// It was done.
    Done,
    /// It is not there any more, or not as it was seen, or not due as it is.
    Gone,
}

/// Removes what is due in a bucket.
#[derive(Clone, Copy)]
pub(super) struct Deeds<'a> {
    pub(super) round: &'a Round,
    pub(super) bucket: &'a str,
    pub(super) rules: &'a Rules,
    pub(super) day: Day,
    pub(super) now_ms: u64,
}

impl Deeds<'_> {
    /// Removes versions that may be due, once it is seen that they are.
    pub(super) async fn remove(
        self,
        due: Vec<(ListedVersion, Standing)>,
        aged: &mut Aged,
    ) -> Result<(), Halt> {
        if due.is_empty() {
            return Ok(());
        }
        self.round.pay(due.len() as u64);
        let keeper = &self.round.under_lease().await?;
        let removals = due.into_iter().map(|(version, standing)| async move {
            (standing, self.remove_one(keeper, &version, standing).await)
        });
        let mut removals = stream::iter(removals).buffer_unordered(AT_ONCE);
        while let Some((standing, outcome)) = removals.next().await {
            let count = match standing {
                Standing::Latest => &mut aged.objects,
                Standing::Noncurrent { .. } => &mut aged.versions,
                Standing::LoneMarker => &mut aged.markers,
            };
            note(outcome, count).map_or_else(|why| why.count(aged), drop);
        }
        Ok(())
    }

    /// What stands where a version was seen, if that is it.
    pub(super) async fn seen(
        &self,
        keeper: &Keeper,
        listed: &ListedVersion,
    ) -> Result<Option<Located>, StoreError> {
        let place = Place::of_version(self.bucket, &listed.key, listed.version);
        let found = keeper.catalog().object(&place.bucket, &place.key).await?;
        Ok(found.filter(|Located { object, .. }| {
            object.modified_ms == listed.object.modified_ms
                && object.is_marker == listed.is_marker
                && object.len == listed.object.len
        }))
    }

    async fn remove_one(
        &self,
        keeper: &Keeper,
        listed: &ListedVersion,
        standing: Standing,
    ) -> Result<Outcome, StoreError> {
        let (bucket, key) = (self.bucket, &*listed.key);
        let Some(Located { object, .. }) = self.seen(keeper, listed).await? else {
            return Ok(Outcome::Gone);
        };
        if !self.is_due(key, &object, standing) {
            return Ok(Outcome::Gone);
        }
        let (store, told_by) = (keeper.store(), object.told_by);
        let remove =
            |condition| store.delete_version(bucket, key, listed.version, condition, false);
        let removed = match standing {
            Standing::Latest => store.delete(bucket, key, Condition::Latest(told_by)).await?,
            Standing::Noncurrent { .. } => remove(Condition::Superseded(told_by)).await?,
            Standing::LoneMarker => remove(Condition::ToldBy(told_by)).await?,
        };
        tracing::debug!(bucket, key, version = %listed.version, ?standing, "removed by a rule");
        drop(removed);
        Ok(Outcome::Done)
    }

    fn is_due(&self, key: &str, object: &Object, standing: Standing) -> bool {
        let tags = Some(&*object.attributes.tags);
        let (len, modified_ms) = (object.len, object.modified_ms);
        let view = View { key, len, tags, modified_ms, standing };
        let removal = self.rules.removal(&view, self.day);
        removal.is_some_and(|removal| removal.at_ms <= self.now_ms)
    }

    /// Ends the uploads that are due.
    pub(super) async fn end(self, uploads: Vec<ListedUpload>, aged: &mut Aged) -> Result<(), Halt> {
        let is_due = |upload: &ListedUpload| {
            let end = self.rules.upload_end(&upload.key, upload.created_ms, self.day);
            end.is_some_and(|end| end.at_ms <= self.now_ms)
        };
        let due: Vec<_> = uploads.into_iter().filter(is_due).collect();
        if due.is_empty() {
            return Ok(());
        }
        self.round.pay(due.len() as u64);
        let keeper = &self.round.under_lease().await?;
        let ends = due.into_iter().map(|upload| keeper.expire_one(upload));
        let mut ends = stream::iter(ends).buffer_unordered(AT_ONCE);
        while let Some(ended) = ends.next().await {
            let outcome =
                ended.map(|is_ended| if is_ended { Outcome::Done } else { Outcome::Gone });
            note(outcome, &mut aged.uploads).map_or_else(|why| why.count(aged), drop);
        }
        Ok(())
    }
}

/// Why something due is still as it was.
pub(super) enum Left {
    /// It was refused.
    Skipped,
    Failed,
}

impl Left {
    pub(super) fn count(self, aged: &mut Aged) {
        match self {
            Self::Skipped => aged.skipped += 1,
            Self::Failed => aged.failed += 1,
        }
    }
}

pub(super) fn note(outcome: Result<Outcome, StoreError>, count: &mut u64) -> Result<(), Left> {
    match outcome {
        Ok(Outcome::Done) => *count += 1,
        Ok(Outcome::Gone) => {}
        Err(StoreError::Catalog(CatalogError::Refused(_))) => return Err(Left::Skipped),
        Err(error) => {
            tracing::debug!(%error, "what is due by a rule stays as it was");
            return Err(Left::Failed);
        }
    }
    Ok(())
}
