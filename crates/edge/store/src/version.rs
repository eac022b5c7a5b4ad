//! Versions: what buckets that keep them make of a deletion, and how one of them is found.

use crate::{
    Deed, Done, Member, Store, StoreError, Target,
    target::{marker, version_of},
};
use ripstop_catalog::{
    CatalogError, Condition, Listing, ListingRequest, Located, Object, ObjectVersion, Place,
    Refusal, Versioning,
};
use std::sync::Arc;

/// What a deletion did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// What was removed, if anything was.
    pub object: Option<Object>,
    /// The version that was removed, or the delete marker that was made; `None` where the bucket
    /// keeps no versions.
    pub version: Option<ObjectVersion>,
    /// Whether that is a delete marker.
    pub is_marker: bool,
}

impl Store {
    /// Removes what the key stands for: where versions are kept, a delete marker becomes the
    /// latest.
    ///
    /// Where there is nothing to remove and no versions are kept, nothing is told, unless nodes may
    /// hold what an earlier session wrote and nobody was answered: a rebuild would find that.
    ///
    /// Where too few nodes take the stripe that tells of it (they are down, or full), the key is
    /// removed all the same: until its fragments are gone, a rebuild would find it again. Of a
    /// delete marker something must be kept, so it is refused then.
    pub async fn delete(
        &self,
        bucket: &str,
        key: &str,
        condition: Condition,
    ) -> Result<Removed, StoreError> {
        let versioning = self.bucket(bucket).await?.versioning;
        if versioning == Versioning::Never {
            let object = self.remove(bucket, key, condition, false).await?;
            return Ok(Removed { object, ..Removed::default() });
        }
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        let target = Target { bucket, key, condition };
        self.admit_marker(&target).await?;
        let marker = self.mark(target, versioning).await?;
        Ok(Removed { object: None, version: version_of(versioning, &marker), is_marker: true })
    }

    /// Refuses a delete marker early whose condition does not hold.
    pub(crate) async fn admit_marker(&self, target: &Target) -> Result<(), StoreError> {
        let Target { bucket, key, condition } = target;
        if condition.is_asked() {
            let latest = self.inner.catalog.current(bucket, key).await?;
            condition.check(latest.as_ref().map(|latest| &latest.object))?;
        }
        Ok(())
    }

    /// Puts a delete marker.
    async fn mark(&self, target: Target, versioning: Versioning) -> Result<Object, StoreError> {
        if !self.is_gathered(&target.bucket, "", 0) {
            return self.mark_alone(target, versioning).await;
        }
        match self.gather(Member { target, deed: Deed::Mark(versioning) }, None).await? {
            Done::Put(marker) => Ok(marker),
            Done::Deleted(_) => unreachable!("a marker is an object"),
        }
    }

    pub(crate) async fn mark_alone(
        &self,
        target: Target,
        versioning: Versioning,
    ) -> Result<Object, StoreError> {
        self.put_told((target, versioning), marker(), None).await
    }

    /// Removes one version of a key for good; answers what it was. What a lock keeps stays:
    /// `Locked`; a retention in governance mode yields to a `bypass`.
    pub async fn delete_version(
        &self,
        bucket: &str,
        key: &str,
        version: ObjectVersion,
        condition: Condition,
        bypass: bool,
    ) -> Result<Removed, StoreError> {
        let versioning = self.bucket(bucket).await?.versioning;
        let place = Place::of_version(bucket, key, version);
        let object = match self.remove(&place.bucket, &place.key, condition, bypass).await {
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchKey))) => None,
            removed => removed?,
        };
        let is_marker = object.as_ref().is_some_and(|object| object.is_marker);
        let version = (versioning != Versioning::Never).then_some(version);
        Ok(Removed { object, version, is_marker })
    }

    /// One version of a key; `NoSuchBucket`, `NoSuchVersion`, or `Marker`.
    pub async fn version(
        &self,
        bucket: &str,
        key: &str,
        version: ObjectVersion,
    ) -> Result<Arc<Located>, StoreError> {
        let versioning = self.bucket(bucket).await?.versioning;
        let place = Place::of_version(bucket, key, version);
        let Some(mut located) = self.inner.catalog.object(&place.bucket, &place.key).await? else {
            return Err(StoreError::NoSuchVersion);
        };
        if located.object.is_marker {
            let modified_ms = located.object.modified_ms;
            return Err(StoreError::Marker { version, is_latest: false, modified_ms });
        }
        located.version = (versioning != Versioning::Never).then_some(version);
        Ok(Arc::new(located))
    }

    /// A page of versions; `NoSuchBucket` if there is no such bucket.
    pub async fn versions(&self, request: &ListingRequest) -> Result<Listing, StoreError> {
        self.bucket(&request.bucket).await?;
        Ok(self.inner.catalog.versions(request).await?)
    }
}
