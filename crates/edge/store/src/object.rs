use crate::{
    PackEntry, Store, StoreError, Target,
    error::{RETRY_AFTER, STAMPS_MAX},
    record::Telling,
    stripe::record_of,
};
use ripstop_catalog::{
    Attributes, Bucket, Change, Condition, Listing, ListingRequest, Located, Object, ObjectVersion,
    Place, Quota, Refusal, Versioning,
};
use ripstop_runtime::Written;
use std::sync::Arc;

/// An upload that ends as its object is put: its id, and number and etag of each part used.
#[derive(Clone, Debug)]
pub(crate) struct EndedUpload {
    pub upload: String,
    pub parts: Vec<(u16, String)>,
}

/// What is found, unless it says that nothing is there.
fn visible(found: Located) -> Result<Arc<Located>, StoreError> {
    match found {
        Located { object, version: Some(version), .. } if object.is_marker => {
            let modified_ms = object.modified_ms;
            Err(StoreError::Marker { version, is_latest: true, modified_ms })
        }
        found => Ok(Arc::new(found)),
    }
}

impl Store {
    /// A page of keys; `NoSuchBucket` if there is no such bucket.
    pub async fn list(&self, request: &ListingRequest) -> Result<Listing, StoreError> {
        self.bucket(&request.bucket).await?;
        Ok(self.inner.catalog.list(request).await?)
    }

    /// What a key stands for; `NoSuchBucket`, `NoSuchKey` or `Marker`.
    pub async fn object(&self, bucket: &str, key: &str) -> Result<Arc<Located>, StoreError> {
        if let Some(found) = self.inner.catalog.current(bucket, key).await? {
            return visible(found);
        }
        self.bucket(bucket).await?;
        Err(Refusal::NoSuchKey.into())
    }

    /// A bucket, and the object that one of its keys stands for at that moment or later, if it
    /// stands for one that is no delete marker.
    pub async fn bucket_with(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<(Bucket, Option<Arc<Located>>), StoreError> {
        let (found, object) = *self.inner.catalog.bucket_with(bucket, key).await?;
        let found = found.ok_or(Refusal::NoSuchBucket)?;
        Ok((found, object.and_then(|found| visible(found).ok())))
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
        let place = Place::of_version(bucket, key, read.version.unwrap_or(ObjectVersion::Null));
        let (bucket, key) = (place.bucket.into_owned(), place.key.into_owned());
        let mut object = Object { attributes, ..read.object.clone() };
        if read.version == Some(ObjectVersion::Null) {
            object.stay_in_order();
        }
        let target = Target { bucket, key, condition };
        self.put_told((target, Versioning::Never), object, None).await
    }

    /// Puts an object whose bytes are stored already: a stripe is made that tells of it. `ending`
    /// is the upload that ends with it.
    pub(crate) async fn put_told(
        &self,
        target: (Target, Versioning),
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
        (target, versioning): &(Target, Versioning),
        object: &mut Object,
    ) -> Result<Written, StoreError> {
        let (told_by, _pin) = self.name().await?;
        object.told_by = told_by;
        object.stamp = Some(self.stamp(object.told_by, &target.condition).await?);
        let (bucket, key) = target.place(*versioning, object);
        let told = Telling::Object { bucket, key, object: object.clone() };
        let pool = self.pool_of(&target.bucket, &object.attributes.storage_class);
        self.tell(pool, object.told_by, told).await
    }

    /// Makes an object visible whose stripes are stored, if its bucket may hold it; answers it as
    /// it was told. Where another gateway wrote later by its clock, it is told again, later than
    /// that.
    pub(crate) async fn commit_object(
        &self,
        target: (Target, Versioning),
        object: Object,
        written: Vec<Written>,
        ending: Option<EndedUpload>,
    ) -> Result<Object, StoreError> {
        let (to, versioning) = (&target.0, target.1);
        // A deletion is not refused for being counted.
        let quota = if object.is_marker { Quota::NONE } else { self.quota(&to.bucket) };
        let (mut object, mut written, mut untrue) = (object, written, Vec::new());
        for _ in 0..STAMPS_MAX {
            let (bucket, key) = to.place(versioning, &object);
            let (put, ending, condition) = (object.clone(), ending.clone(), to.condition.clone());
            let change = move |stripes| match ending {
                None => Change::PutObject { bucket, key, object: put, stripes, condition, quota },
                Some(EndedUpload { upload, parts }) => Change::CompleteUpload {
                    upload,
                    parts,
                    object: put,
                    version: (versioning == Versioning::Enabled).then_some((bucket, key)),
                    stripes,
                    condition,
                    quota,
                },
            };
            match self.commit(written, change).await {
                Ok(_) => {
                    self.disown(untrue).await?;
                    return Ok(object);
                }
                Err(why) => written = self.behind(why)?,
            }
            // What was told already is of another version, or earlier than what will be told. Its
            // stripe may be in force for longer than the key stands for the object: a copy has it.
            let (bucket, key) = to.place(versioning, &object);
            let stripe = written.iter().find(|stripe| stripe.id == object.told_by);
            let told = stripe.map(|stripe| (stripe.id, record_of(stripe)));
            let entry = PackEntry::Object { bucket, key, object: object.clone() };
            untrue.extend(told.map(|told| (told, entry)));
            written.push(Box::pin(self.tell_object(&target, &mut object)).await?);
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }
}
