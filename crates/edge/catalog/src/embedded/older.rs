//! Format 1: records without numbers of fields and without checksums, each a version byte and its
//! postcard form, and numbers in tables of their own kind. Read, and never written again.

use super::failure::unavailable;
use super::kinds::{self, LeftoverKey, Nothing, Number, UploadKey};
use super::rows::{Bytes, Stored};
use crate::{Bucket, CatalogError, Garbage, Held, Object, Stripe, Upload, UploadedPart};
use redb::{Key, ReadableTable, TableDefinition, Value, WriteTransaction};
use serde::Deserialize;

/// The format.
pub(super) const FORMAT: u64 = 1;

/// In [`META`](super::kinds::META).
pub(super) const VOUCHED: Bytes = b"vouched before";
/// In [`META`](super::kinds::META).
pub(super) const USAGE_AS_OF: Bytes = b"usage as of";
pub(super) const LEFTOVERS: TableDefinition<'_, LeftoverKey, u64> =
    TableDefinition::new("leftovers");
pub(super) const UPLOADS_BY_KEY: TableDefinition<'_, UploadKey, ()> =
    TableDefinition::new("uploads_by_key");
pub(super) const NODES: TableDefinition<'_, Bytes, u16> = TableDefinition::new("nodes");
pub(super) const SESSIONS: TableDefinition<'_, u32, u64> = TableDefinition::new("sessions");
pub(super) const USAGE: TableDefinition<'_, Bytes, (u64, u64, u64)> = TableDefinition::new("usage");

/// Bytes of a garbage record before its stripe: since when it is garbage, the highest byte first.
const SINCE_LEN: usize = 8;

impl Stored for Bucket {
    fn older(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}

impl Stored for Object {
    fn older(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}

impl Stored for Upload {
    fn older(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}

impl Stored for UploadedPart {
    fn older(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}

impl Stored for Held {
    fn older(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Older {
            holders: u64,
            stripe: Stripe,
        }
        let Older { holders, stripe } = postcard::from_bytes(body).ok()?;
        Some(Self { holders, stripe, ..Self::default() })
    }
}

impl Stored for Garbage {
    fn older(body: &[u8]) -> Option<Self> {
        let (since_ms, stripe) = body.split_first_chunk::<SINCE_LEN>()?;
        let since_ms = u64::from_be_bytes(*since_ms);
        Some(Self { since_ms, stripe: postcard::from_bytes(stripe).ok()? })
    }
}

/// Takes over what a file of format 1 holds in tables of other kinds, and notes that records of its
/// long tables may be left.
pub(super) fn adopt(txn: &WriteTransaction) -> Result<(), CatalogError> {
    let mut facts = kinds::FACTS.write(txn, false);
    facts.insert(&kinds::CONVERTING, &Number(1))?;
    let mut meta = txn.open_table(kinds::META).map_err(unavailable)?;
    meta.remove(USAGE_AS_OF).map_err(unavailable)?;
    if let Some(before) = meta.remove(VOUCHED).map_err(unavailable)? {
        facts.insert(&kinds::VOUCHED, &Number(before.value()))?;
    }
    let mut leftovers = kinds::LEFTOVERS.write(txn, false);
    each(txn, LEFTOVERS, |key, since| leftovers.insert(&key, &Number(since)))?;
    let mut places = kinds::UPLOADS_BY_KEY.write(txn, false);
    each(txn, UPLOADS_BY_KEY, |key, ()| places.insert(&key, &Nothing))?;
    let mut nodes = kinds::NODES.write(txn, false);
    each(txn, NODES, |name, number| nodes.insert(&name, &Number(number.into())))?;
    let mut sessions = kinds::SESSIONS.write(txn, false);
    each(txn, SESSIONS, |session, until| sessions.insert(&session, &Number(until)))?;
    txn.delete_table(USAGE).map(drop).map_err(unavailable)
}

/// Hands over each row of a table, and deletes the table.
fn each<K: Key + 'static, V: Value + 'static>(
    txn: &WriteTransaction,
    definition: TableDefinition<'_, K, V>,
    mut take: impl FnMut(K::SelfType<'_>, V::SelfType<'_>) -> Result<(), CatalogError>,
) -> Result<(), CatalogError> {
    let table = txn.open_table(definition).map_err(unavailable)?;
    for entry in table.iter().map_err(unavailable)? {
        let (key, value) = entry.map_err(unavailable)?;
        take(key.value(), value.value())?;
    }
    drop(table);
    txn.delete_table(definition).map(drop).map_err(unavailable)
}
