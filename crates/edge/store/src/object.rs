use crate::{
    Store, StoreError, Target,
    error::{RETRY_AFTER, STAMPS_MAX},
    record::Telling,
};
use ripstop_catalog::{
    Attributes, Change, Condition, Listing, ListingRequest, Located, Object, Refusal,
};
use ripstop_runtime::Written;
use std::sync::Arc;

/// An upload that ends as its object is put: its id, and number and etag of each part used.
#[derive(Clone, Debug)]
pub(crate) struct EndedUpload {
    pub upload: String,
    pub parts: Vec<(u16, String)>,
}

impl Store {
    /// A page of keys; `NoSuchBucket` if there is no such bucket.
    pub async fn list(&self, request: &ListingRequest) -> Result<Listing, StoreError> {
        self.bucket(&request.bucket).await?;
        Ok(self.inner.catalog.list(request).await?)
    }

    /// What a key stands for; `NoSuchBucket` or `NoSuchKey`.
    pub async fn object(&self, bucket: &str, key: &str) -> Result<Arc<Located>, StoreError> {
        if let Some(located) = self.inner.catalog.object(bucket, key).await? {
            return Ok(Arc::new(located));
        }
        self.bucket(bucket).await?;
        Err(Refusal::NoSuchKey.into())
    }

    /// Gives an object other attributes (its tags, say). `read` is what they were derived from: if
    /// somebody wrote since, `ConditionFailed`.
    pub async fn set_attributes(
        &self,
        bucket: &str,
        key: &str,
        read: &Located,
        attributes: Attributes,
    ) -> Result<Object, StoreError> {
        let condition = Condition::ToldBy(read.object.told_by);
        let target = Target { bucket: bucket.to_owned(), key: key.to_owned(), condition };
        let object = Object { attributes, ..read.object.clone() };
        self.put_told(target, object, None).await
    }

    /// Puts an object whose bytes are stored already: a stripe is made that tells of it. `ending`
    /// is the upload that ends with it.
    pub(crate) async fn put_told(
        &self,
        target: Target,
        object: Object,
        ending: Option<EndedUpload>,
    ) -> Result<Object, StoreError> {
        let mut object = object;
        let written = self.tell_object(&target, &mut object).await?;
        self.commit_object(target, object, vec![written], ending).await
    }

    /// Has a stripe of its own tell of an object, as a version that was made now.
    async fn tell_object(
        &self,
        target: &Target,
        object: &mut Object,
    ) -> Result<Written, StoreError> {
        let (told_by, _pin) = self.name().await?;
        object.told_by = told_by;
        object.stamp = Some(self.stamp(object.told_by, &target.condition).await?);
        let (bucket, key) = (target.bucket.clone(), target.key.clone());
        let told = Telling::Object { bucket, key, object: object.clone() };
        self.tell(self.pool_for(&target.bucket), object.told_by, told).await
    }

    /// Makes an object visible whose stripes are stored, if its bucket may hold it; answers it as
    /// it was told. Where another gateway wrote later by its clock, it is told again, later than
    /// that.
    pub(crate) async fn commit_object(
        &self,
        target: Target,
        object: Object,
        written: Vec<Written>,
        ending: Option<EndedUpload>,
    ) -> Result<Object, StoreError> {
        let quota = self.quota(&target.bucket);
        let (mut object, mut written) = (object, written);
        for _ in 0..STAMPS_MAX {
            let Target { bucket, key, condition } = target.clone();
            let (put, ending) = (object.clone(), ending.clone());
            let change = move |stripes| match ending {
                None => Change::PutObject { bucket, key, object: put, stripes, condition, quota },
                Some(EndedUpload { upload, parts }) => {
                    Change::CompleteUpload { upload, parts, object: put, stripes, condition, quota }
                }
            };
            match self.commit(written, change).await {
                Ok(_) => return Ok(object),
                Err(why) => written = self.behind(why)?,
            }
            written.push(self.tell_object(&target, &mut object).await?);
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }
}
