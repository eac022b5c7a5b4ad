//! Bytes on disk: each record is one version byte and its postcard form; keys compare as bytes.

use super::failure::corrupt;
use super::usage::AccountRow;
use crate::{CatalogError, Leftover, Stripe};
use redb::TableDefinition;
use serde::{Deserialize, Serialize};

pub(super) type Bytes = &'static [u8];
/// Bucket, key, upload id: redb compares tuples part by part.
pub(super) type UploadKey = (Bytes, Bytes, Bytes);
/// Stripe, index, node.
pub(super) type LeftoverKey = (u128, u8, u16);

/// Name → number: of the file's format (`format`), [`VOUCHED`], and [`USAGE_AS_OF`].
pub(super) const META: TableDefinition<Bytes, u64> = TableDefinition::new("meta");
/// Name → [`Bucket`](crate::Bucket).
pub(super) const BUCKETS: TableDefinition<Bytes, Bytes> = TableDefinition::new("buckets");
/// [`object_key`] → [`Object`](crate::Object).
pub(super) const OBJECTS: TableDefinition<Bytes, Bytes> = TableDefinition::new("objects");
/// Stripe id → [`Held`].
pub(super) const STRIPES: TableDefinition<u128, Bytes> = TableDefinition::new("stripes");
/// Stripe id → [`garbage`].
pub(super) const GARBAGE: TableDefinition<u128, Bytes> = TableDefinition::new("garbage");
/// Stripe, index and node of a [`Leftover`](crate::Leftover) → since when, in milliseconds.
pub(super) const LEFTOVERS: TableDefinition<LeftoverKey, u64> = TableDefinition::new("leftovers");
/// Upload id → [`Upload`](crate::Upload).
pub(super) const UPLOADS: TableDefinition<Bytes, Bytes> = TableDefinition::new("uploads");
/// Every upload by where it will write.
pub(super) const UPLOADS_BY_KEY: TableDefinition<UploadKey, ()> =
    TableDefinition::new("uploads_by_key");
/// Upload id and number → [`UploadedPart`](crate::UploadedPart).
pub(super) const PARTS: TableDefinition<(Bytes, u16), Bytes> = TableDefinition::new("parts");
/// Configured name → number.
pub(super) const NODES: TableDefinition<Bytes, u16> = TableDefinition::new("nodes");

/// Session → until when it may name stripes, in milliseconds.
pub(super) const SESSIONS: TableDefinition<u32, u64> = TableDefinition::new("sessions");

/// Bucket → how many objects it has, their bytes, and those of its uploads' parts.
pub(super) const USAGE: TableDefinition<Bytes, AccountRow> = TableDefinition::new("usage");
/// In [`META`]: of what vouched names [`USAGE`] is the count.
pub(super) const USAGE_AS_OF: Bytes = b"usage as of";
/// In [`META`]: before when all names of stripes are known, in milliseconds.
pub(super) const VOUCHED: Bytes = b"vouched before";
/// The format that this code writes.
pub(super) const FORMAT: u64 = 1;
/// The version of every record's encoding; another one is refused.
const RECORD_VERSION: u8 = 1;
/// Bytes before an object key's bucket: the length of the bucket's name.
const BUCKET_LEN_BYTES: usize = 4;
/// Bytes of a garbage record before its stripe: the version, the due time.
const GARBAGE_HEAD: usize = 9;

/// A stripe in force and how many holders (objects, parts, buckets) name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) holders: u64,
    pub(super) stripe: Stripe,
}

pub(super) fn encode<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_extend(record, vec![RECORD_VERSION])
        .expect("records are plain data and memory grows")
}

pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, CatalogError> {
    let body = body(bytes)?;
    postcard::from_bytes(body).map_err(|error| corrupt(format!("a record is unreadable: {error}")))
}

fn body(bytes: &[u8]) -> Result<&[u8], CatalogError> {
    match bytes.split_first() {
        Some((&RECORD_VERSION, body)) => Ok(body),
        Some((version, _)) => Err(corrupt(format!("a record has the unknown version {version}"))),
        None => Err(corrupt("a record is empty".into())),
    }
}

/// A garbage record: the due time comes first, at a fixed place, so that a sweep can pass over what
/// is not due without decoding it.
pub(super) fn garbage(due_ms: u64, stripe: &Stripe) -> Vec<u8> {
    let mut bytes = vec![RECORD_VERSION];
    bytes.extend_from_slice(&due_ms.to_be_bytes());
    postcard::to_extend(stripe, bytes).expect("records are plain data and memory grows")
}

/// When a garbage record is due, and the encoding of its stripe.
pub(super) fn garbage_due(bytes: &[u8]) -> Result<(u64, &[u8]), CatalogError> {
    body(bytes)?;
    let due = bytes
        .get(1..GARBAGE_HEAD)
        .and_then(|due| due.try_into().ok())
        .ok_or_else(|| corrupt("a garbage record is short".into()))?;
    Ok((u64::from_be_bytes(due), &bytes[GARBAGE_HEAD..]))
}

pub(super) fn garbage_stripe(stripe: &[u8]) -> Result<Stripe, CatalogError> {
    postcard::from_bytes(stripe)
        .map_err(|error| corrupt(format!("a garbage record is unreadable: {error}")))
}

pub(super) const fn leftover_key(copy: &Leftover) -> (u128, u8, u16) {
    (copy.stripe.0, copy.index, copy.node.0)
}

/// Orders by bucket (in an order of no meaning), then by key in byte order. The name's length comes
/// first so that any byte may occur in either.
pub(super) fn object_key(bucket: &str, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BUCKET_LEN_BYTES + bucket.len() + key.len());
    bytes.extend_from_slice(&(bucket.len() as u32).to_be_bytes());
    bytes.extend_from_slice(bucket.as_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// Bucket and key of an [`object_key`].
pub(super) fn split_object_key(bytes: &[u8]) -> Result<(String, String), CatalogError> {
    let (bucket, key) = split(bytes)?;
    Ok((text(bucket)?, text(key)?))
}

/// The bucket of an [`object_key`].
pub(super) fn object_bucket(bytes: &[u8]) -> Result<&str, CatalogError> {
    str::from_utf8(split(bytes)?.0).map_err(|_| not_utf8())
}

fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), CatalogError> {
    let short = || corrupt("an object's key is short".into());
    let (len, rest) = bytes.split_first_chunk::<BUCKET_LEN_BYTES>().ok_or_else(short)?;
    rest.split_at_checked(u32::from_be_bytes(*len) as usize).ok_or_else(short)
}

pub(super) fn text(bytes: &[u8]) -> Result<String, CatalogError> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| not_utf8())
}

fn not_utf8() -> CatalogError {
    corrupt("a name is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stripe() -> Stripe {
        Stripe {
            pool: 1,
            n: 3,
            k: 2,
            payload_len: 9,
            header_len: 64,
            nodes: vec![Some(4), None, Some(6)],
            run: 0,
        }
    }

    proptest! {
        #[test]
        fn object_keys_order_as_bucket_then_bytes(
            bucket in "[a-z\0]{0,3}", one in "[a\0/\u{e9}]{0,4}", other in "[a\0/\u{e9}]{0,4}",
        ) {
            let key = |key: &str| object_key(&bucket, key.as_bytes());
            prop_assert_eq!(key(&one).cmp(&key(&other)), one.cmp(&other));
            prop_assert_eq!(split_object_key(&key(&one)).unwrap(), (bucket, one));
        }
    }

    #[test]
    fn a_record_of_another_version_is_refused() {
        let mut bytes = encode(&Held { holders: 2, stripe: stripe() });
        assert_eq!(decode::<Held>(&bytes).unwrap().holders, 2);
        bytes[0] = 9;
        let error = decode::<Held>(&bytes).unwrap_err();
        assert_eq!(error.to_string(), "catalog corrupt: a record has the unknown version 9");
        assert!(decode::<Held>(&[]).is_err() && garbage_due(&[1, 2, 3]).is_err());
    }

    #[test]
    fn a_stripe_written_before_there_were_runs_reads_as_strips_apart() {
        let held = |run| Held { holders: 2, stripe: Stripe { run, ..stripe() } };
        let mut bytes = encode(&held(3));
        assert_eq!(decode::<Held>(&bytes).unwrap(), held(3));
        bytes.pop();
        assert_eq!(decode::<Held>(&bytes).unwrap(), held(0));
        bytes.pop();
        assert!(decode::<Held>(&bytes).is_err());
    }

    #[test]
    fn garbage_shows_when_it_is_due_without_decoding() {
        let bytes = garbage(77, &stripe());
        let (due, rest) = garbage_due(&bytes).unwrap();
        assert_eq!((due, garbage_stripe(rest).unwrap()), (77, stripe()));
    }
}
