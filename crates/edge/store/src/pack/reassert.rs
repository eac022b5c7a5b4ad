//! Telling again what is so where a pack tells what is not.
//!
//! A member that the catalog refused is told of in its pack for as long as others keep that in
//! force, with a stamp that may be later than that of what the key stands for: a rebuild would
//! believe it. So what the key stands for is told again, later, as for a change of tags; or, if
//! that is nothing, a deletion is. What a later telling contradicts needs no more than to be known
//! as outlived, which came with the refusal.

use super::PackEntry;
use crate::{
    Store, StoreError, Target,
    deletion::Deletion,
    error::{RETRY_AFTER, STAMPS_MAX},
    record::Telling,
    stripe::record_of,
};
use ripstop_catalog::{
    CatalogError, Change, Condition, Object, Refusal, Stripe, Tombstone, Versioning,
};
use ripstop_host::unix_ms;
use ripstop_model::StripeId;

/// What is so of a key, and must be told again.
enum Standing {
    Object(Box<Object>),
    Nothing,
}

impl Store {
    /// Sees to it that a rebuild believes none of these entries, each with the stripe that tells
    /// it, which are not so and may not be known to be yet.
    pub(crate) async fn disown(
        &self,
        told: Vec<((StripeId, Stripe), PackEntry)>,
    ) -> Result<(), StoreError> {
        if told.is_empty() {
            return Ok(());
        }
        let (mut outlived, mut entries) = (Vec::new(), Vec::with_capacity(told.len()));
        for (stripe, entry) in told {
            if let PackEntry::Object { bucket, key, .. } = &entry {
                let (bucket, key) = (bucket.clone(), key.clone());
                outlived.push(Change::Outlive { bucket, key, stripe });
            }
            entries.push(entry);
        }
        self.inner.catalog.commit(unix_ms(), outlived).await?;
        self.reassert(entries).await
    }

    /// Sees to it that what keys stand for is told later than these entries of packs, which are
    /// not so.
    pub(crate) async fn reassert(&self, entries: Vec<PackEntry>) -> Result<(), StoreError> {
        let mut open = entries;
        for _ in 0..STAMPS_MAX {
            let (mut still, mut gone) = (Vec::new(), Vec::new());
            for entry in open {
                match self.contradicted(&entry).await? {
                    None => {}
                    Some(Standing::Object(object)) => {
                        // On the heap: no write's future is to be larger for what hardly any does.
                        if !Box::pin(self.retell(&entry, *object)).await? {
                            still.push(self.told_by_now(&entry).await?);
                        }
                        still.push(entry);
                    }
                    Some(Standing::Nothing) => gone.push(entry),
                }
            }
            self.bury(&gone).await?;
            // Others write meanwhile: whether it is told later now is looked at again.
            still.extend(gone);
            if still.is_empty() {
                return Ok(());
            }
            open = still;
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// Whether a rebuild would believe an entry of a pack that is not so.
    pub(super) async fn is_contradicted(
        &self,
        pack: StripeId,
        entry: &PackEntry,
    ) -> Result<bool, StoreError> {
        let present = self.inner.catalog.object(entry.bucket(), entry.key()).await?;
        if present.is_some_and(|present| present.object.told_by == pack) {
            return Ok(false);
        }
        Ok(self.contradicted(entry).await?.is_some())
    }

    /// What a key stands for, if a rebuild would take the entry for later than that.
    async fn contradicted(&self, entry: &PackEntry) -> Result<Option<Standing>, StoreError> {
        let (bucket, key, stamp) = (entry.bucket(), entry.key(), entry.stamp());
        if let Some(present) = self.inner.catalog.object(bucket, key).await? {
            let is_earlier = present.object.stamp() < stamp;
            return Ok(is_earlier.then(|| Standing::Object(Box::new(present.object))));
        }
        let buried = self.inner.catalog.tombstone(bucket, key).await?;
        let is_told = match buried {
            Some(buried) => buried.stamp >= stamp,
            // That nothing is there is what a deletion tells.
            None => matches!(entry, PackEntry::Deletion(_)),
        };
        Ok((!is_told).then_some(Standing::Nothing))
    }

    /// Tells what a key stands for again; false if somebody wrote since, and that was refused.
    async fn retell(&self, entry: &PackEntry, present: Object) -> Result<bool, StoreError> {
        let (bucket, key) = (entry.bucket().to_owned(), entry.key().to_owned());
        let keeps = self.inner.catalog.bucket(&bucket).await?;
        let mut object = present;
        // Of a version with an id the bucket is another name.
        if keeps.is_some_and(|bucket| bucket.versioning != Versioning::Never) {
            object.stay_in_order();
        }
        let condition = Condition::ToldBy(object.told_by);
        let target = Target { bucket, key, condition };
        match self.put_told((target, Versioning::Never), object, None).await {
            Ok(_) => Ok(true),
            Err(StoreError::Catalog(CatalogError::Refused(_))) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Stands for whatever was told of an entry's key until now: of what was refused, the nodes may
    /// hold fragments for a while.
    async fn told_by_now(&self, entry: &PackEntry) -> Result<PackEntry, StoreError> {
        let (named, _pin) = self.name().await?;
        let stamp = Some(self.stamp(named, &Condition::None).await?);
        let (bucket, key) = (entry.bucket().to_owned(), entry.key().to_owned());
        Ok(PackEntry::Object { bucket, key, object: Object { stamp, ..Object::default() } })
    }

    /// Has one stripe tell that these keys have no object.
    async fn bury(&self, gone: &[PackEntry]) -> Result<(), StoreError> {
        let Some(first) = gone.first() else { return Ok(()) };
        let pool = self.pool_for(first.bucket());
        let (told_by, _pin) = self.name().await?;
        let (mut of, mut tombstones) = (Vec::with_capacity(gone.len()), Vec::new());
        for entry in gone {
            let (bucket, key) = (entry.bucket().to_owned(), entry.key().to_owned());
            // Nobody deleted anything: a put that is on its way comes after this.
            let stamp = self.stamp(told_by, &Condition::Absent).await?;
            tombstones.push(Tombstone { stamp, told_by, ..Tombstone::default() });
            of.push(Deletion { bucket, key, stamp });
        }
        let told = Telling::Deletions { told_by, of };
        let written = self.tell(pool, told_by, told).await?;
        let stripes = vec![(written.id, record_of(&written))];
        let buried = gone.iter().zip(tombstones).map(|(entry, tombstone)| {
            let (bucket, key) = (entry.bucket().to_owned(), entry.key().to_owned());
            Change::Bury { bucket, key, tombstone, stripes: stripes.clone() }
        });
        let outcomes = self.inner.catalog.commit(unix_ms(), buried.collect()).await?;
        for outcome in &outcomes {
            if let Err(Refusal::Retired { session }) = outcome {
                self.inner.lineage.given_up(*session);
            }
        }
        if outcomes.iter().any(Result::is_ok) {
            written.claim();
        }
        Ok(())
    }
}
