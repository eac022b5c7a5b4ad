//! What listings and counts read of a record. Headers, metadata and tags are passed over, however long they
//! are, and of objects whatever comes after: parts, extents.

use super::encoding::decode;
use crate::{CatalogError, ChecksumAlgorithm, Listed, ListedUpload};
use serde::{Deserialize, Deserializer, de};
use std::{fmt, marker::PhantomData};

/// The beginning of an [`Object`](crate::Object).
#[derive(Deserialize)]
struct ShortObject<'a> {
    len: u64,
    modified_ms: u64,
    #[serde(borrow)]
    attributes: ShortAttributes<'a>,
}

/// The beginning of [`Attributes`](crate::Attributes).
#[derive(Deserialize)]
struct ShortAttributes<'a> {
    etag: &'a str,
    #[serde(borrow)]
    _headers: Passed<Pair<'a>>,
    #[serde(borrow)]
    _user: Passed<Pair<'a>>,
    #[serde(borrow)]
    _tags: Passed<Pair<'a>>,
    #[serde(borrow)]
    checksum: Option<ShortChecksum<'a>>,
}

type Pair<'a> = (&'a str, &'a str);

/// A [`Checksum`](crate::Checksum).
#[derive(Deserialize)]
struct ShortChecksum<'a> {
    algorithm: ChecksumAlgorithm,
    _value: &'a [u8],
    composite: bool,
}

/// An [`Upload`](crate::Upload).
#[derive(Deserialize)]
struct ShortUpload<'a> {
    id: &'a str,
    _bucket: &'a str,
    key: &'a str,
    created_ms: u64,
    #[serde(borrow)]
    _attributes: ShortAttributes<'a>,
    #[serde(borrow)]
    _parts: Passed<(u16, u64, Option<&'a [u8]>)>,
    checksum: Option<(ChecksumAlgorithm, bool)>,
}

/// A sequence of which nothing is kept.
struct Passed<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Passed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Self(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Passed<T> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Self, A::Error> {
        while sequence.next_element::<T>()?.is_some() {}
        Ok(self)
    }
}

/// What a listing shows of an object's record.
pub(super) fn listed(record: &[u8]) -> Result<Listed, CatalogError> {
    let ShortObject { len, modified_ms, attributes } = decode(record)?;
    let checksum = attributes.checksum.map(|checksum| (checksum.algorithm, checksum.composite));
    Ok(Listed { len, modified_ms, etag: attributes.etag.to_owned(), checksum })
}

/// What a listing shows of an upload's record.
pub(super) fn listed_upload(record: &[u8]) -> Result<ListedUpload, CatalogError> {
    let ShortUpload { id, key, created_ms, checksum, .. } = decode(record)?;
    Ok(ListedUpload { id: id.to_owned(), key: key.to_owned(), created_ms, checksum })
}

/// The beginning of an [`UploadedPart`](crate::UploadedPart).
#[derive(Deserialize)]
struct ShortPart {
    _number: u16,
    len: u64,
}

/// The length of an object, by its record.
pub(super) fn object_len(record: &[u8]) -> Result<u64, CatalogError> {
    // It comes first.
    decode::<u64>(record)
}

/// The length of a part, by its record.
pub(super) fn part_len(record: &[u8]) -> Result<u64, CatalogError> {
    Ok(decode::<ShortPart>(record)?.len)
}

/// The bucket of an upload, by its record.
pub(super) fn upload_bucket(record: &[u8]) -> Result<String, CatalogError> {
    let (_id, bucket) = decode::<(&str, &str)>(record)?;
    Ok(bucket.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::part;
    use crate::{Attributes, Checksum, Extent, Object, Part, Upload, embedded::encoding::encode};
    use proptest::prelude::*;
    use ripstop_model::StripeId;

    type Texts = Vec<(String, String)>;

    fn attributes(texts: (Texts, Texts, Texts), checksum: Option<(Vec<u8>, bool)>) -> Attributes {
        let (headers, user, tags) = texts;
        let part = |number| Part { number, len: 1 << number, checksum: Some(vec![7; 8]) };
        let algorithm = ChecksumAlgorithm::Sha256;
        Attributes {
            etag: "e-2".into(),
            headers,
            user,
            tags,
            checksum: checksum.map(|(value, composite)| Checksum { algorithm, value, composite }),
            parts: (1..4).map(part).collect(),
        }
    }

    proptest! {
        #[test]
        fn a_short_record_says_what_the_whole_one_says(
            texts: (Texts, Texts, Texts), checksum: Option<(Vec<u8>, bool)>, len: u64, at: u64,
        ) {
            let attributes = attributes(texts, checksum);
            let extent = Extent { stripe: StripeId(1), offset: 2, len: 3 };
            let object = Object {
                len,
                modified_ms: at,
                attributes: attributes.clone(),
                extents: vec![extent; 3],
                told_by: StripeId(4),
            };
            prop_assert_eq!(listed(&encode(&object)).unwrap(), Listed::of(&object));
            prop_assert_eq!(object_len(&encode(&object)).unwrap(), len);
            let part = part(7, "e", &[1, 2]);
            prop_assert_eq!(part_len(&encode(&part)).unwrap(), part.len);
            for checksum in [None, Some((ChecksumAlgorithm::Crc32c, true))] {
                let attributes = attributes.clone();
                let (id, bucket, key) = ("u".into(), "b".into(), "k".into());
                let upload = Upload { id, bucket, key, created_ms: at, attributes, checksum };
                let short = listed_upload(&encode(&upload)).unwrap();
                prop_assert_eq!(short, ListedUpload::of(&upload));
                prop_assert_eq!(upload_bucket(&encode(&upload)).unwrap(), "b");
            }
        }
    }
}
