use ripstop_catalog::{
    Condition, Object, ObjectVersion, VersionId, Versioning, version_name, versions_of,
};
use ripstop_host::unix_ms;

/// Where a write goes, and what must hold for it to take effect.
#[derive(Clone, Debug)]
pub struct Target {
    /// The bucket's name.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// Checked before the first byte is read, and again in the transaction that makes it visible.
    pub condition: Condition,
}

impl Target {
    /// Names of bucket and key under which the catalog has an object that is put there, now that it
    /// has its stamp.
    pub(crate) fn place(&self, versioning: Versioning, object: &Object) -> (String, String) {
        match version_of(versioning, object) {
            Some(ObjectVersion::Id(id)) => (versions_of(&self.bucket), version_name(&self.key, id)),
            Some(ObjectVersion::Null) | None => (self.bucket.clone(), self.key.clone()),
        }
    }
}

/// Which version an object is that is put where versions are kept like this; `None` where they are
/// not.
pub(crate) fn version_of(versioning: Versioning, object: &Object) -> Option<ObjectVersion> {
    match versioning {
        Versioning::Never => None,
        Versioning::Enabled => Some(ObjectVersion::Id(VersionId::of(object.stamp()))),
        Versioning::Suspended => Some(ObjectVersion::Null),
    }
}

/// A delete marker that is made now.
pub(crate) fn marker() -> Object {
    Object { modified_ms: unix_ms(), is_marker: true, ..Object::default() }
}

/// An object as it was put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredObject {
    /// The object.
    pub object: Object,
    /// Which version of its key it is, if its bucket keeps them.
    pub version: Option<ObjectVersion>,
}

impl StoredObject {
    pub(crate) fn new(versioning: Versioning, object: Object) -> Self {
        let version = version_of(versioning, &object);
        Self { object, version }
    }
}
