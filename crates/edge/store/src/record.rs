use crate::{
    StoreError,
    deletion::Deletion,
    extents::EXTENTS_MAX,
    pack::{DIRECTORY_LEN_MAX, PackMark},
};
use bytes::Bytes;
use ripstop_catalog::{Bucket, Object, Stamp};
use ripstop_form::{Found, PASSABLE, Unreadable, paired};
use ripstop_host::spawn_blocking;
use ripstop_model::StripeId;
use ripstop_runtime::RECORD_LEN_MAX;
use serde::Deserialize;

/// Records of objects with more extents than this are made on another thread.
const ENCODED_HERE_MAX: usize = 4096;

/// Refuses to make an object of more extents than its record has room for.
pub(crate) fn check_extents(extents: usize) -> Result<(), StoreError> {
    if extents <= EXTENTS_MAX { Ok(()) } else { Err(StoreError::Extents { extents }) }
}

/// What a stripe's headers tell, so that a lost catalog can be made again.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "made one at a time, and mostly the large one")]
pub enum Telling {
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
    /// That names stand for nothing any more.
    Deletions {
        /// The stripe that is to tell it.
        told_by: StripeId,
        /// Of what.
        of: Vec<Deletion>,
    },
    /// That it is a pack: what it tells is in its payload.
    Pack(PackMark),
}

/// What records without numbers of fields told.
#[derive(Deserialize)]
#[expect(clippy::large_enum_variant, reason = "read one at a time, and mostly the large one")]
enum Older {
    Bucket(Bucket),
    Object { bucket: String, key: String, object: Object },
}

impl From<Older> for Telling {
    fn from(older: Older) -> Self {
        match older {
            Older::Bucket(bucket) => Self::Bucket(bucket),
            Older::Object { bucket, key, object } => Self::Object { bucket, key, object },
        }
    }
}

/// First byte of every record that is written: the format's version.
const VERSION: u8 = 2;
/// Of records without numbers of fields, which are read for ever.
const POSTCARD: u8 = 1;

/// Numbers of a telling's fields: for ever. A stripe that is told again is told from the catalog,
/// so what must outlive that is a field of the bucket's or the object's.
mod field {
    pub(super) const BUCKET: u64 = 1;
    pub(super) const BUCKET_NAME: u64 = 2;
    pub(super) const KEY: u64 = 3;
    pub(super) const OBJECT: u64 = 4;
    pub(super) const DELETED_BY: u64 = 5;
    pub(super) const DELETED: u64 = 6;
    pub(super) const DELETED_WHEN: u64 = 7;
    pub(super) const DELETED_FIRST_BY: u64 = 8;
    pub(super) const PACK: u64 = 9;
    pub(super) const MEMBERS: u64 = 10;
    pub(super) const DIRECTORY_LEN: u64 = 11;
    pub(super) const DIRECTORY_DIGEST: u64 = 12;
    pub(super) const MEMBER_BYTES: u64 = 13;
}

impl Telling {
    /// As bytes of a header's record, if there is room for them.
    pub(crate) async fn record(self) -> Result<Bytes, StoreError> {
        let extents = match &self {
            Self::Bucket(_) | Self::Deletions { .. } | Self::Pack(_) => 0,
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
    pub fn encode(&self) -> Bytes {
        let record = ripstop_form::compose(vec![VERSION], |to| match self {
            Self::Bucket(bucket) => to.record(field::BUCKET, bucket),
            Self::Object { bucket, key, object } => {
                to.text(field::BUCKET_NAME, bucket);
                to.text(field::KEY, key);
                to.record(field::OBJECT, object);
            }
            Self::Deletions { told_by, of } => {
                let names: Vec<_> =
                    of.iter().map(|one| (one.bucket.clone(), one.key.clone())).collect();
                let stripes = of.iter().map(|one| one.stamp.stripe.0.to_be_bytes());
                to.bytes(field::DELETED_BY, &told_by.0.to_be_bytes());
                to.pairs(field::DELETED, &names);
                to.column(field::DELETED_WHEN, of.iter().map(|one| one.stamp.when.to_be_bytes()));
                // Nearly always all of them are this stripe's: then nothing is said.
                if of.iter().any(|one| one.stamp.stripe != *told_by) {
                    to.column(field::DELETED_FIRST_BY, stripes);
                }
            }
            Self::Pack(mark) => {
                to.bytes(field::PACK, &mark.told_by.0.to_be_bytes());
                to.number(field::MEMBERS, mark.members.into());
                to.number(field::DIRECTORY_LEN, mark.directory_len.into());
                to.bytes(field::DIRECTORY_DIGEST, &mark.digest);
                to.number(field::MEMBER_BYTES, mark.member_bytes.into());
            }
        });
        record.into()
    }

    /// From a header's record.
    pub fn decode(record: &[u8]) -> Result<Self, Unreadable> {
        let nothing = || Unreadable::Form("it is empty".into());
        let (&version, rest) = record.split_first().ok_or_else(nothing)?;
        match version {
            VERSION => Self::read(rest),
            POSTCARD => {
                let older = postcard::from_bytes::<Older>(rest);
                older.map(Self::from).map_err(|error| Unreadable::Form(error.to_string()))
            }
            _ => Err(Unreadable::Version(version)),
        }
    }

    fn read(fields: &[u8]) -> Result<Self, Unreadable> {
        let (mut told, mut of, mut name, mut object) = (None, String::new(), String::new(), None);
        let (mut deleted_by, mut deleted, mut pack) = (None, Vec::new(), None);
        ripstop_form::scan(fields, |field, from| {
            match field {
                field::BUCKET => told = Some(from.record()?),
                field::BUCKET_NAME => of = from.text()?.into(),
                field::KEY => name = from.text()?.into(),
                field::OBJECT => object = Some(from.record()?),
                field::DELETED_BY => {
                    deleted_by = Some(StripeId(u128::from_be_bytes(from.array()?)));
                }
                field::DELETED..=field::DELETED_FIRST_BY => {
                    read_deletions(field, from, deleted_by, &mut deleted)?;
                }
                field::PACK..=field::MEMBER_BYTES => read_mark(field, from, &mut pack)?,
                PASSABLE.. => return Ok(Some(false)),
                _ => return Err(Unreadable::Newer(field)),
            }
            Ok(Some(true))
        })?;
        match (told, object, deleted_by, pack) {
            (Some(bucket), None, None, None) => Ok(Self::Bucket(bucket)),
            (None, Some(object), None, None) => Ok(Self::Object { bucket: of, key: name, object }),
            (None, None, Some(told_by), None) => Ok(Self::Deletions { told_by, of: deleted }),
            (None, None, None, Some(mark)) => Ok(Self::Pack(mark)),
            _ => Err(Unreadable::Form("it tells of no bucket, no object and no deletion".into())),
        }
    }

    /// The stripe that is to tell it.
    pub fn told_by(&self) -> StripeId {
        match self {
            Self::Bucket(bucket) => bucket.told_by,
            Self::Object { object, .. } => object.told_by,
            Self::Deletions { told_by, .. } => *told_by,
            Self::Pack(mark) => mark.told_by,
        }
    }

    /// Whether it could have been written: names are never empty.
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Bucket(bucket) => !bucket.name.is_empty(),
            Self::Object { bucket, key, .. } => !bucket.is_empty() && !key.is_empty(),
            Self::Deletions { of, .. } => of.iter().all(|one| !one.bucket.is_empty()),
            Self::Pack(mark) => (1..=DIRECTORY_LEN_MAX).contains(&(mark.directory_len as usize)),
        }
    }
}

/// One field of what headers tell of a pack; its name, which comes first, makes it one.
fn read_mark(
    field: u64,
    from: &mut Found<'_>,
    pack: &mut Option<PackMark>,
) -> Result<(), Unreadable> {
    if field == field::PACK {
        let told_by = StripeId(u128::from_be_bytes(from.array()?));
        let (members, member_bytes, directory_len, digest) = Default::default();
        *pack = Some(PackMark { told_by, members, member_bytes, directory_len, digest });
        return Ok(());
    }
    let Some(mark) = pack else { return Err(from.wrong("has no stripe before it")) };
    match field {
        field::MEMBERS => mark.members = from.small()?,
        field::DIRECTORY_LEN => mark.directory_len = from.small()?,
        field::MEMBER_BYTES => mark.member_bytes = from.small()?,
        _ => mark.digest = from.array()?,
    }
    Ok(())
}

/// One column of deletions; the names, which come first, say how many there are.
fn read_deletions(
    field: u64,
    from: &mut Found<'_>,
    told_by: Option<StripeId>,
    deletions: &mut Vec<Deletion>,
) -> Result<(), Unreadable> {
    match field {
        field::DELETED => {
            let stripe = told_by.ok_or_else(|| from.wrong("has no stripe before it"))?;
            let deletion =
                |(bucket, key)| Deletion { bucket, key, stamp: Stamp { when: 0, stripe } };
            deletions.extend(from.pairs()?.into_iter().map(deletion));
        }
        field::DELETED_WHEN => {
            let whens = from.column()?;
            for (deletion, when) in paired(deletions, whens, from)? {
                deletion.stamp.when = u64::from_be_bytes(*when);
            }
        }
        _ => {
            let stripes = from.column()?;
            for (deletion, stripe) in paired(deletions, stripes, from)? {
                deletion.stamp.stripe = StripeId(u128::from_be_bytes(*stripe));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_catalog::{
        Attributes, Checksum, ChecksumAlgorithm, Encryption, EncryptionMethod, Extent, Part,
        VersionId, version_name, versions_of,
    };
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
                encryption: Some(Box::new(Encryption {
                    method: EncryptionMethod::Named,
                    key: "k".repeat(2048),
                    wrapped: vec![255; 512],
                    context: "c".repeat(2048),
                    bucket_key: true,
                    salts: vec![[255; 8]; 10_000],
                    ..Encryption::default()
                })),
                ..Attributes::default()
            },
            extents: vec![extent; extents],
            told_by: StripeId(u128::MAX),
            ..Object::default()
        };
        let key = version_name(&"\0".repeat(1024), VersionId(0));
        Telling::Object { bucket: versions_of(&"b".repeat(63)), key, object }
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
        // There was no encryption.
        let attributes = Attributes { encryption: None, ..object.attributes };
        let object = Object { attributes, ..object };
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
    fn deletions_are_told_with_the_stripe_of_their_stamp_only_where_it_is_another() {
        let told_by = StripeId(7);
        let deletion = |key: &str, when, stripe| Deletion {
            bucket: "b".into(),
            key: key.into(),
            stamp: Stamp { when, stripe: StripeId(stripe) },
        };
        let first =
            Telling::Deletions { told_by, of: vec![deletion("k", 1, 7), deletion("", 2, 7)] };
        let again =
            Telling::Deletions { told_by, of: vec![deletion("k", 1, 3), deletion("", 2, 7)] };
        for told in [&first, &again] {
            assert_eq!(Telling::decode(&told.encode()).as_ref(), Ok(told));
            assert!(told.is_sound() && told.told_by() == told_by);
        }
        assert_eq!(again.encode().len(), first.encode().len() + 3 + 2 * 16);
        let nameless = Deletion { bucket: String::new(), ..deletion("k", 1, 7) };
        assert!(!Telling::Deletions { told_by, of: vec![nameless] }.is_sound());
        let stray = ripstop_form::compose(vec![VERSION], |to| {
            to.pairs(field::DELETED, &[("b".into(), "k".into())]);
        });
        let wrong = Unreadable::Field { field: 6, reason: "has no stripe before it" };
        assert_eq!(Telling::decode(&stray), Err(wrong));
    }

    #[test]
    fn what_a_newer_program_tells_is_refused_unless_it_may_be_passed_over() {
        let told = longest(1);
        let mut record = told.encode().to_vec();
        assert_eq!(record.pop(), Some(0xff));
        let more = |field: &[u8]| Telling::decode(&[&record, field, &[0xff]].concat());
        assert_eq!(more(&[0x18, 128, 1]), Ok(told));
        assert_eq!(more(&[14, 1]), Err(Unreadable::Newer(14)));
        record[0] = 3;
        assert_eq!(Telling::decode(&record), Err(Unreadable::Version(3)));
        assert!(matches!(Telling::decode(&[]), Err(Unreadable::Form(_))));
        assert!(matches!(Telling::decode(&[2, 0xbf, 0xff]), Err(Unreadable::Form(_))));
    }
}
