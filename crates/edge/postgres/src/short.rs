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
        // Each by its name: what is new must be said to be shown, or not.
        let Attributes {
            etag,
            checksum,
            storage_class,
            headers: _,
            user: _,
            tags: _,
            parts: _,
            lock: _,
            encryption: _,
            owner: _,
            grants: _,
            unknown: _,
        } = &object.attributes;
        let checksum = checksum.as_ref();
        let checksum = checksum.map(|it| Checksum { value: Vec::new(), ..it.clone() });
        let (etag, storage_class) = (etag.clone(), storage_class.clone());
        let attributes = Attributes { etag, checksum, storage_class, ..Attributes::default() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_catalog::{ChecksumAlgorithm, Extent, Stamp};
    use ripstop_model::StripeId;

    #[test]
    fn what_listings_show_is_in_the_short_record_and_what_is_long_is_not() {
        let checksum =
            Checksum { algorithm: ChecksumAlgorithm::Crc32, value: vec![7; 4], composite: true };
        let attributes = Attributes {
            etag: "e".into(),
            checksum: Some(checksum),
            storage_class: "GLACIER".into(),
            user: vec![("name".into(), "x".repeat(2000))],
            ..Attributes::default()
        };
        let extent = Extent { stripe: StripeId(5), offset: 0, len: 9 };
        let object = Object {
            len: 9000,
            modified_ms: 12,
            attributes,
            extents: vec![extent; 1000],
            told_by: StripeId(5),
            stamp: Some(Stamp { when: 3, stripe: StripeId(5) }),
            is_marker: true,
            born: Some(2),
            ..Object::default()
        };
        let bytes = Short::seal(b"k", &object);
        assert!(bytes.len() < 150, "{}", bytes.len());
        assert!(Short::unseal(b"k", &bytes).unwrap().is_of(&object));
        assert!(Short::unseal(b"l", &bytes).is_err());
        let other = Object { len: 1, ..object };
        assert!(!Short::unseal(b"k", &bytes).unwrap().is_of(&other));
    }
}
