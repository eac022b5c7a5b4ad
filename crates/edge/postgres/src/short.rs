//! Of an object, what listings show and what orders its versions: a record like it, without what
//! is long.

use ripstop_catalog::{
    Attributes, CatalogError, Checksum, ListedObject, Object, VersionId, VersionRow, unseal,
};
use ripstop_form::decode;

/// The column's name, in the checksums of what stands there.
const COLUMN: &str = "ripstop_objects.shown";

/// What stands at a key, as far as listings show it.
#[derive(Debug)]
pub(crate) struct Short(Object);

impl Short {
    /// What is in the column.
    pub(crate) fn seal(key: &[u8], object: &Object) -> Vec<u8> {
        let Object { len, modified_ms, told_by, stamp, is_marker, born, .. } = *object;
        let checksum = object.attributes.checksum.as_ref();
        let checksum = checksum.map(|it| Checksum { value: Vec::new(), ..it.clone() });
        let etag = object.attributes.etag.clone();
        let attributes = Attributes { etag, checksum, ..Attributes::default() };
        let short = Object {
            len,
            modified_ms,
            told_by,
            stamp,
            is_marker,
            born,
            attributes,
            ..Object::default()
        };
        ripstop_catalog::seal(COLUMN, key, &short)
    }

    /// What the column's bytes say.
    pub(crate) fn unseal(key: &[u8], bytes: &[u8]) -> Result<Self, CatalogError> {
        Ok(Self(decode(unseal(COLUMN, key, bytes)?)?))
    }

    /// Whether it is what the column should say of an object.
    pub(crate) fn is_of(&self, object: &Object) -> bool {
        self.listed() == ListedObject::of(object)
            && self.0.is_marker == object.is_marker
            && self.0.null_order() == object.null_order()
    }

    /// What a listing shows of it.
    pub(crate) fn listed(&self) -> ListedObject {
        ListedObject::of(&self.0)
    }
}

impl VersionRow for Short {
    fn is_marker(&self) -> Result<bool, CatalogError> {
        Ok(self.0.is_marker)
    }

    fn null_order(&self) -> Result<VersionId, CatalogError> {
        Ok(self.0.null_order())
    }
}
