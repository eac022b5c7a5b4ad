use crate::StoreError;
use bytes::Bytes;
use ripstop_catalog::{Bucket, Object};
use ripstop_form::{PASSABLE, Unreadable};
use ripstop_model::StripeId;
use ripstop_runtime::RECORD_LEN_MAX;
use serde::Deserialize;
use tokio::task::spawn_blocking;

/// Bytes of an extent in a record, at most: a stripe's id, and two numbers up to 2^28.
const EXTENT_LEN: usize = 16 + 4 + 4;
/// Bytes of everything else in a record, at most: ten thousand parts with their checksums, headers,
/// tags, names.
const REST_LEN: usize = 1 << 19;
/// Most extents of an object: its record must fit a header, or a lost catalog could not be made again.
/// 5 TiB in whole stripes of 8 MiB.
pub const EXTENTS_MAX: usize = (15 << 20) / EXTENT_LEN;

const _: () = assert!(EXTENTS_MAX * EXTENT_LEN + REST_LEN <= RECORD_LEN_MAX, "a record fits");

/// Records of objects with more extents than this are made on another thread.
const ENCODED_HERE_MAX: usize = 4096;

/// Refuses to make an object of more extents than its record has room for.
pub(crate) fn check_extents(extents: usize) -> Result<(), StoreError> {
    if extents <= EXTENTS_MAX { Ok(()) } else { Err(StoreError::Extents { extents }) }
}

/// What a stripe's headers tell, so that a lost catalog can be made again.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "made one at a time, and mostly the large one")]
pub(crate) enum Telling {
    /// That there is a bucket.
    Bucket(Bucket),
    /// That a key stands for an object.
    Object {
        /// The bucket's name.
        bucket: String,
        /// The key.
        key: String,
        /// The object.
        object: Object,
    },
}

/// First byte of every record that is written: the format's version.
const VERSION: u8 = 2;
/// Of records without numbers of fields, which are read for ever.
const POSTCARD: u8 = 1;

/// Numbers of a telling's fields: for ever. A stripe that is told again is told from the catalog, so
/// what must outlive that is a field of the bucket's or the object's.
mod field {
    pub(super) const BUCKET: u64 = 1;
    pub(super) const BUCKET_NAME: u64 = 2;
    pub(super) const KEY: u64 = 3;
    pub(super) const OBJECT: u64 = 4;
}

impl Telling {
    /// As bytes of a header's record, if there is room for them.
    pub(crate) async fn record(self) -> Result<Bytes, StoreError> {
        let extents = match &self {
            Self::Bucket(_) => 0,
            Self::Object { object, .. } => object.extents.len(),
        };
        check_extents(extents)?;
        let record = if extents <= ENCODED_HERE_MAX {
            self.encode()
        } else {
            let encoded = spawn_blocking(move || self.encode()).await;
            encoded.expect("encoding a record does not panic")
        };
        let len = record.len();
        if len <= RECORD_LEN_MAX { Ok(record) } else { Err(StoreError::RecordTooLong { len }) }
    }

    /// As bytes of a header's record.
    pub(crate) fn encode(&self) -> Bytes {
        let record = ripstop_form::compose(vec![VERSION], |to| match self {
            Self::Bucket(bucket) => to.record(field::BUCKET, bucket),
            Self::Object { bucket, key, object } => {
                to.text(field::BUCKET_NAME, bucket);
                to.text(field::KEY, key);
                to.record(field::OBJECT, object);
            }
        });
        record.into()
    }

    /// From a header's record.
    pub(crate) fn decode(record: &[u8]) -> Result<Self, Unreadable> {
        let nothing = || Unreadable::Form("it is empty".into());
        let (&version, rest) = record.split_first().ok_or_else(nothing)?;
        match version {
            VERSION => Self::read(rest),
            POSTCARD => {
                postcard::from_bytes(rest).map_err(|error| Unreadable::Form(error.to_string()))
            }
            _ => Err(Unreadable::Version(version)),
        }
    }

    fn read(fields: &[u8]) -> Result<Self, Unreadable> {
        let (mut told, mut of, mut name, mut object) = (None, String::new(), String::new(), None);
        ripstop_form::scan(fields, |field, from| {
            match field {
                field::BUCKET => told = Some(from.record()?),
                field::BUCKET_NAME => of = from.text()?.into(),
                field::KEY => name = from.text()?.into(),
                field::OBJECT => object = Some(from.record()?),
                PASSABLE.. => return Ok(Some(false)),
                _ => return Err(Unreadable::Newer(field)),
            }
            Ok(Some(true))
        })?;
        match (told, object) {
            (Some(bucket), None) => Ok(Self::Bucket(bucket)),
            (None, Some(object)) => Ok(Self::Object { bucket: of, key: name, object }),
            _ => Err(Unreadable::Form("it tells neither of a bucket nor of an object".into())),
        }
    }

    /// The stripe that is to tell it.
    pub(crate) fn told_by(&self) -> StripeId {
        match self {
            Self::Bucket(bucket) => bucket.told_by,
            Self::Object { object, .. } => object.told_by,
        }
    }

    /// Whether it could have been written: names are never empty.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Bucket(bucket) => !bucket.name.is_empty(),
            Self::Object { bucket, key, .. } => !bucket.is_empty() && !key.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_catalog::{Attributes, Checksum, ChecksumAlgorithm, Extent, Part};
    use ripstop_model::STRIPE_PAYLOAD_MAX;

    fn longest(extents: usize) -> Telling {
        let texts = |count: usize, len: usize| -> Vec<(String, String)> {
            (0..count).map(|_| ("é".repeat(64), "é".repeat(len / 2))).collect()
        };
        let part = |number| Part { number, len: 5 << 40, checksum: Some(vec![255; 32]) };
        let extent = Extent {
            stripe: StripeId(u128::MAX),
            offset: STRIPE_PAYLOAD_MAX,
            len: STRIPE_PAYLOAD_MAX,
        };
        let object = Object {
            len: u64::MAX,
            modified_ms: u64::MAX,
            attributes: Attributes {
                etag: format!("{}-10000", "f".repeat(32)),
                headers: texts(6, 8 << 10),
                user: texts(20, 100),
                tags: texts(10, 1024),
                checksum: Some(Checksum {
                    algorithm: ChecksumAlgorithm::Sha256,
                    value: vec![255; 32],
                    composite: true,
                }),
                parts: (1..=10_000).map(part).collect(),
                ..Attributes::default()
            },
            extents: vec![extent; extents],
            told_by: StripeId(u128::MAX),
            ..Object::default()
        };
        Telling::Object { bucket: "b".repeat(63), key: "k".repeat(1024), object }
    }

    #[tokio::test]
    async fn the_longest_record_fits_a_header_and_one_extent_more_is_refused() {
        let told = longest(EXTENTS_MAX);
        let record = told.clone().record().await.expect("it fits");
        assert!(record.len() <= RECORD_LEN_MAX, "{}", record.len());
        assert!(Telling::decode(&record) == Ok(told));
        let refused = longest(EXTENTS_MAX + 1).record().await;
        assert!(matches!(refused, Err(StoreError::Extents { .. })));
    }

    #[test]
    fn a_record_of_the_first_version_is_read() {
        let Telling::Object { bucket, key, object } = longest(3) else { unreachable!() };
        let older = postcard::to_extend(&(1_u32, &bucket, &key, &object), vec![1]);
        let told = Telling::Object { bucket, key, object };
        assert_eq!(Telling::decode(&older.expect("a record")), Ok(told));
        let bucket = Bucket { name: "b".into(), created_ms: 7, ..Bucket::default() };
        let older = postcard::to_extend(&(0_u32, &bucket), vec![1]).expect("a record");
        assert_eq!(Telling::decode(&older), Ok(Telling::Bucket(bucket)));
    }

    #[test]
    fn a_bucket_is_told_with_its_name_and_nothing_else_that_is_default() {
        let told = Telling::Bucket(Bucket { name: "b".into(), ..Bucket::default() });
        let record = told.encode();
        let nobody = [0; 16];
        let expected: &[&[u8]] = &[&[2, 0xbf, 1, 0xbf, 1, 0x61, b'b', 3, 0x50], &nobody, &[255; 2]];
        assert_eq!(record, expected.concat());
        assert_eq!(Telling::decode(&record), Ok(told));
    }

    #[test]
    fn what_a_newer_program_tells_is_refused_unless_it_may_be_passed_over() {
        let told = longest(1);
        let mut record = told.encode().to_vec();
        assert_eq!(record.pop(), Some(0xff));
        let more = |field: &[u8]| Telling::decode(&[&record, field, &[0xff]].concat());
        assert_eq!(more(&[0x18, 128, 1]), Ok(told));
        assert_eq!(more(&[5, 1]), Err(Unreadable::Newer(5)));
        record[0] = 3;
        assert_eq!(Telling::decode(&record), Err(Unreadable::Version(3)));
        assert!(matches!(Telling::decode(&[]), Err(Unreadable::Form(_))));
        assert!(matches!(Telling::decode(&[2, 0xbf, 0xff]), Err(Unreadable::Form(_))));
    }
}
