use crate::StoreError;
use bytes::Bytes;
use ripstop_catalog::{Bucket, Object};
use ripstop_model::StripeId;
use ripstop_runtime::RECORD_LEN_MAX;
use serde::{Deserialize, Serialize};
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

/// What a stripe's headers tell, so that a lost catalog can be made anew.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

/// First byte of every record: the format's version.
const VERSION: u8 = 1;

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
        let out = postcard::to_extend(self, vec![VERSION]);
        out.expect("plain records always have a form").into()
    }

    /// From a header's record; `None` where it tells nothing that this version understands.
    pub(crate) fn decode(record: &[u8]) -> Option<Self> {
        let (&version, rest) = record.split_first()?;
        if version != VERSION {
            return None;
        }
        postcard::from_bytes(rest).ok()
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
        assert!(Telling::decode(&record) == Some(told));
        let refused = longest(EXTENTS_MAX + 1).record().await;
        assert!(matches!(refused, Err(StoreError::Extents { .. })));
    }
}
