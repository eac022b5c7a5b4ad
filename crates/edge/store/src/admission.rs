//! What a bucket has room for.
//!
//! The catalog has the last word, in the transaction that would make a bucket larger. What is
//! surely too much is refused before, so that nobody sends, and no node stores, what will not be
//! kept.

use crate::{Quotas, Store, StoreError, Target};
use ripstop_catalog::{
    Bucket, Located, Object, Quota, Refusal, Upload, Usage, Versioning, bucket_of,
};
use std::sync::Arc;

/// What a write brings to a bucket.
#[derive(Clone, Copy)]
struct Growth {
    bytes: u64,
    objects: u64,
}

impl Growth {
    fn on(self, usage: Usage) -> Usage {
        Usage {
            bytes: usage.bytes.saturating_add(self.bytes),
            objects: usage.objects.saturating_add(self.objects),
        }
    }
}

impl Store {
    /// Has buckets hold this much at most from now on. What they hold already stays.
    pub fn set_quotas(&self, quotas: Quotas) {
        self.inner.quotas.set(quotas);
    }

    /// The quotas in force.
    pub fn quotas(&self) -> Arc<Quotas> {
        self.inner.quotas.now()
    }

    /// How much a bucket may hold.
    pub fn quota(&self, bucket: &str) -> Quota {
        self.quotas().of(bucket_of(bucket))
    }

    /// What a bucket holds; nothing if it is not there.
    pub async fn usage(&self, bucket: &str) -> Result<Usage, StoreError> {
        Ok(self.inner.catalog.usage(bucket).await?)
    }

    /// What buckets hold, by name, ascending, after `after`.
    pub async fn usages(
        &self,
        after: &str,
        max: usize,
    ) -> Result<Vec<(String, Usage)>, StoreError> {
        Ok(self.inner.catalog.usages(after, max).await?)
    }

    /// Refuses a write of `len` bytes early whose bucket is not there, whose condition does not
    /// hold, or which the bucket's quota has no room for. Answers the bucket.
    pub(crate) async fn admit(&self, target: &Target, len: u64) -> Result<Bucket, StoreError> {
        let Target { bucket, key, condition } = target;
        let found = self.bucket(bucket).await?;
        let refusal = self.refusal(bucket, Growth { bytes: len, objects: 1 }).await?;
        if !condition.is_asked() && refusal.is_none() {
            return Ok(found);
        }
        let latest = self.inner.catalog.current(bucket, key).await?;
        condition.check(latest.as_ref().map(|located| &located.object))?;
        let Some(refusal) = refusal else { return Ok(found) };
        let replaced = match found.versioning {
            Versioning::Never => latest,
            Versioning::Enabled => None,
            Versioning::Suspended => self.inner.catalog.object(bucket, key).await?,
        };
        let Some(Located { object: Object { len: replaced, .. }, .. }) = replaced else {
            return Err(refusal.into());
        };
        self.fits(bucket, Growth { bytes: len.saturating_sub(replaced), objects: 0 }).await?;
        Ok(found)
    }

    /// Refuses a part of `len` bytes early that the quota of its bucket has no room for.
    pub(crate) async fn admit_part(
        &self,
        upload: &Upload,
        number: u16,
        len: u64,
    ) -> Result<(), StoreError> {
        let Upload { bucket, id, .. } = upload;
        let Some(refusal) = self.refusal(bucket, Growth { bytes: len, objects: 0 }).await? else {
            return Ok(());
        };
        let found = self.inner.catalog.parts(id, number.saturating_sub(1), 1).await?;
        let Some(replaced) = found.first().filter(|part| part.number == number) else {
            return Err(refusal.into());
        };
        self.fits(bucket, Growth { bytes: len.saturating_sub(replaced.len), objects: 0 }).await
    }

    /// Refuses to begin an upload that could not take a byte, or not be completed, unless it is to
    /// replace an object: then it may come to less.
    pub(crate) async fn admit_upload(&self, upload: &Upload) -> Result<(), StoreError> {
        let refusal = self.refusal(&upload.bucket, Growth { bytes: 1, objects: 1 }).await?;
        let Some(refusal) = refusal else { return Ok(()) };
        match self.inner.catalog.object(&upload.bucket, &upload.key).await? {
            Some(_) => Ok(()),
            None => Err(refusal.into()),
        }
    }

    async fn fits(&self, bucket: &str, growth: Growth) -> Result<(), StoreError> {
        Ok(self.refusal(bucket, growth).await?.map_or(Ok(()), Err)?)
    }

    /// Why a bucket may not grow like this, as far as is known now.
    async fn refusal(&self, bucket: &str, growth: Growth) -> Result<Option<Refusal>, StoreError> {
        let quota = self.quota(bucket);
        if quota == Quota::NONE {
            return Ok(None);
        }
        let usage = self.usage(bucket).await?;
        Ok(quota.check(usage, growth.on(usage)).err())
    }
}
