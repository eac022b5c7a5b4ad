//! Objects go to another class of storage: their bytes are written again in its pool, and they are
//! told again as they are, but for their class.
//!
//! Until that is committed they are where they were, and whoever reads them meanwhile reads on:
//! what is let go of is garbage for a while. Whatever breaks off leaves fragments that nothing
//! claims, as a write does.

use crate::{
    Store, StoreError, Target,
    copy::{Stored, flat},
    record::Telling,
    write::Writing,
};
use ripstop_catalog::{Condition, Located, Object, ObjectVersion, Place, Versioning};
use std::sync::Arc;

impl Store {
    /// Brings a version, as it was `read`, to a class of storage (empty for the standard one), with
    /// everything that it is and when it was written. If somebody wrote since: `ConditionFailed`.
    /// Whether something locks it does not matter: it stays.
    pub async fn relocate(
        &self,
        (bucket, key, version): (&str, &str, ObjectVersion),
        read: &Arc<Located>,
        class: &str,
    ) -> Result<Object, StoreError> {
        let versioning = self.bucket(bucket).await?.versioning;
        let place = Place::of_version(bucket, key, version);
        let condition = Condition::ToldBy(read.object.told_by);
        let (to, key) = (place.bucket.into_owned(), place.key.into_owned());
        let target = Target { bucket: to, key, condition };
        let mut object = read.object.clone();
        class.clone_into(&mut object.attributes.storage_class);
        if version == ObjectVersion::Null && versioning != Versioning::Never {
            object.stay_in_order();
        }
        let _turn = self.copying_turn().await?;
        let stored = object.stored_len();
        let pieces = self.read(read.clone(), 0..stored).await?;
        let mut body = Stored::new(stored, pieces, ());
        let mut writing = Writing::new(self, self.pool_of(bucket, class), stored)?;
        writing.take(&mut body).await.map_err(flat)?;
        let last = writing.last_draft().await?;
        object.extents.clone_from(&writing.extents);
        object.told_by = last.id();
        object.stamp = Some(self.stamp(last.id(), &target.condition).await?);
        let (bucket, key) = target.place(Versioning::Never, &object);
        let told = Telling::Object { bucket, key, object: object.clone() };
        writing.store(last, told.record().await?).await?;
        let written = writing.finish().await?;
        self.commit_object((target, Versioning::Never), object, written, None).await
    }
}
