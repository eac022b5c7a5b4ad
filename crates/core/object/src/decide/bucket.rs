//! Buckets.

use super::draft::Decision;
use super::stop::Decided;
use super::telling::must_follow;
use super::turnover::{Turnover, told_by};
use crate::{
    Applied, BUCKET_DOCUMENTS_LEN_MAX, Bucket, Place, Refusal, Rows, Stripe, Tombstone, Versioning,
    versions_of,
};
use alloc::borrow::Cow;
use ripstop_model::StripeId;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    /// Whether the bucket, which must be there, keeps versions.
    pub(super) fn must_have_bucket(&self, name: &str) -> Decided<Versioning, R> {
        match self.bucket(name)? {
            Some(bucket) => Ok(bucket.versioning),
            None => Err(Refusal::NoSuchBucket.into()),
        }
    }

    pub(super) fn create_bucket(
        &mut self,
        now_ms: u64,
        bucket: &'a Bucket,
        stripes: &[(StripeId, Stripe)],
    ) -> Decided<Applied, R> {
        if self.bucket(&bucket.name)?.is_some() {
            return Err(Refusal::BucketExists.into());
        }
        let at = Place::of_bucket(&bucket.name);
        let buried = self.tombstone(&at)?;
        must_follow(bucket.stamp(), buried.as_ref().map(|buried| buried.stamp))?;
        let mut turnover = Turnover::new(self, stripes)?;
        turnover.gain(self, &told_by(bucket.told_by))?;
        let again = self.is_believed_again(&turnover, &at, bucket.told_by)?;
        if let Some(buried) = &buried {
            turnover.lose(self, &told_by(buried.told_by))?;
            self.writes.tombstones.insert(at.clone(), None);
        }
        self.believe(&at, bucket.told_by, again);
        let name = Cow::Borrowed(bucket.name.as_str());
        self.writes.buckets.insert(name, Some(Cow::Borrowed(bucket)));
        turnover.settle(self, now_ms)?;
        Ok(Applied::default())
    }

    pub(super) fn set_bucket(
        &mut self,
        now_ms: u64,
        bucket: &'a Bucket,
        was: StripeId,
        stripes: &[(StripeId, Stripe)],
    ) -> Decided<Applied, R> {
        let Some(old) = self.bucket(&bucket.name)?.map(Cow::into_owned) else {
            return Err(Refusal::NoSuchBucket.into());
        };
        if old.told_by != was {
            return Err(Refusal::ConditionFailed.into());
        }
        must_follow(bucket.stamp(), Some(old.stamp()))?;
        let len = bucket.documents_len();
        if len > BUCKET_DOCUMENTS_LEN_MAX {
            return Err(Refusal::DocumentsTooLong { len }.into());
        }
        let at = Place::of_bucket(&bucket.name);
        let mut turnover = Turnover::new(self, stripes)?;
        turnover.gain(self, &told_by(bucket.told_by))?;
        turnover.lose(self, &told_by(old.told_by))?;
        let again = self.is_believed_again(&turnover, &at, bucket.told_by)?;
        self.outdate(&at, old.told_by, Some(bucket.told_by));
        self.believe(&at, bucket.told_by, again);
        let name = Cow::Borrowed(bucket.name.as_str());
        self.writes.buckets.insert(name, Some(Cow::Borrowed(bucket)));
        turnover.settle(self, now_ms)?;
        Ok(Applied::default())
    }

    pub(super) fn delete_bucket(
        &mut self,
        now_ms: u64,
        name: &'a str,
        tombstone: Option<&'a Tombstone>,
        stripes: &[(StripeId, Stripe)],
    ) -> Decided<Applied, R> {
        let Some(bucket) = self.bucket(name)?.map(Cow::into_owned) else {
            return Err(Refusal::NoSuchBucket.into());
        };
        let has_versions =
            bucket.versioning != Versioning::Never && !self.has_no_objects(&versions_of(name))?;
        if has_versions || !self.has_no_objects(name)? || !self.has_no_uploads(name)? {
            return Err(Refusal::BucketNotEmpty.into());
        }
        if let Some(tombstone) = tombstone {
            must_follow(tombstone.stamp, Some(bucket.stamp()))?;
        }
        let mut turnover = Turnover::new(self, stripes)?;
        turnover.lose(self, &told_by(bucket.told_by))?;
        self.entomb(&mut turnover, &Place::of_bucket(name), bucket.told_by, tombstone)?;
        self.writes.buckets.insert(Cow::Borrowed(name), None);
        turnover.settle(self, now_ms)?;
        Ok(Applied::default())
    }
}
