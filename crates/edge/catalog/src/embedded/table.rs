//! The tables, as a transaction writes them and as readers see them.

use super::encoding::{
    BUCKETS, Bytes, FORMAT, GARBAGE, LEFTOVERS, LeftoverKey, META, NODES, OBJECTS, PARTS, SESSIONS,
    STRIPES, UPLOADS, UPLOADS_BY_KEY, USAGE, UploadKey, VOUCHED,
};
use super::failure::{Stop, corrupt, unavailable};
use super::usage::{self, AccountRow, Accounts};
use crate::CatalogError;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableHandle, WriteTransaction};
use ripstop_model::StripeId;
use std::time::{SystemTime, UNIX_EPOCH};

/// Every table of one write transaction.
pub(super) struct Tables<'txn> {
    pub(super) buckets: Table<'txn, Bytes, Bytes>,
    pub(super) objects: Table<'txn, Bytes, Bytes>,
    pub(super) stripes: Table<'txn, u128, Bytes>,
    pub(super) garbage: Table<'txn, u128, Bytes>,
    pub(super) leftovers: Table<'txn, LeftoverKey, u64>,
    pub(super) uploads: Table<'txn, Bytes, Bytes>,
    pub(super) uploads_by_key: Table<'txn, UploadKey, ()>,
    pub(super) parts: Table<'txn, (Bytes, u16), Bytes>,
    pub(super) nodes: Table<'txn, Bytes, u16>,
    pub(super) sessions: Table<'txn, u32, u64>,
    pub(super) meta: Table<'txn, Bytes, u64>,
    pub(super) usage: Table<'txn, Bytes, AccountRow>,
    /// What of `usage` has changed, until it is written.
    pub(super) accounts: Accounts,
}

impl<'txn> Tables<'txn> {
    /// Opens every table, making those that are missing.
    pub(super) fn open(txn: &'txn WriteTransaction) -> Result<Self, redb::TableError> {
        Ok(Self {
            buckets: txn.open_table(BUCKETS)?,
            objects: txn.open_table(OBJECTS)?,
            stripes: txn.open_table(STRIPES)?,
            garbage: txn.open_table(GARBAGE)?,
            leftovers: txn.open_table(LEFTOVERS)?,
            uploads: txn.open_table(UPLOADS)?,
            uploads_by_key: txn.open_table(UPLOADS_BY_KEY)?,
            parts: txn.open_table(PARTS)?,
            nodes: txn.open_table(NODES)?,
            sessions: txn.open_table(SESSIONS)?,
            meta: txn.open_table(META)?,
            usage: txn.open_table(USAGE)?,
            accounts: Accounts::default(),
        })
    }
}

/// Every table as one commit left them. Opening tables costs more than a lookup, so readers share
/// one view until the next commit.
pub(super) struct View {
    /// Which opening of the database it belongs to.
    pub(super) opening: u64,
    pub(super) buckets: ReadOnlyTable<Bytes, Bytes>,
    pub(super) objects: ReadOnlyTable<Bytes, Bytes>,
    pub(super) stripes: ReadOnlyTable<u128, Bytes>,
    pub(super) garbage: ReadOnlyTable<u128, Bytes>,
    pub(super) leftovers: ReadOnlyTable<LeftoverKey, u64>,
    pub(super) uploads: ReadOnlyTable<Bytes, Bytes>,
    pub(super) uploads_by_key: ReadOnlyTable<UploadKey, ()>,
    pub(super) parts: ReadOnlyTable<(Bytes, u16), Bytes>,
    pub(super) nodes: ReadOnlyTable<Bytes, u16>,
    pub(super) sessions: ReadOnlyTable<u32, u64>,
    pub(super) meta: ReadOnlyTable<Bytes, u64>,
    pub(super) usage: ReadOnlyTable<Bytes, AccountRow>,
}

impl View {
    pub(super) fn open(txn: &ReadTransaction, opening: u64) -> Result<Self, redb::TableError> {
        Ok(Self {
            opening,
            buckets: txn.open_table(BUCKETS)?,
            objects: txn.open_table(OBJECTS)?,
            stripes: txn.open_table(STRIPES)?,
            garbage: txn.open_table(GARBAGE)?,
            leftovers: txn.open_table(LEFTOVERS)?,
            uploads: txn.open_table(UPLOADS)?,
            uploads_by_key: txn.open_table(UPLOADS_BY_KEY)?,
            parts: txn.open_table(PARTS)?,
            nodes: txn.open_table(NODES)?,
            sessions: txn.open_table(SESSIONS)?,
            meta: txn.open_table(META)?,
            usage: txn.open_table(USAGE)?,
        })
    }
}

/// Makes the tables of a new file, and those that an older one lacks, and counts what buckets hold where
/// an older program may have changed it; refuses a file of another format.
pub(super) fn prepare(txn: WriteTransaction) -> Result<(), CatalogError> {
    let (format, vouched) = {
        let meta = txn.open_table(META).map_err(unavailable)?;
        let number = |name: Bytes| -> Result<Option<u64>, CatalogError> {
            Ok(meta.get(name).map_err(unavailable)?.map(|is| is.value()))
        };
        (number(b"format")?, number(VOUCHED)?)
    };
    if let Some(format) = format.filter(|format| *format != FORMAT) {
        return Err(corrupt(format!("the file has the unknown format {format}")));
    }
    let has_all = |txn: &WriteTransaction| -> Result<bool, CatalogError> {
        let names: Vec<String> =
            txn.list_tables().map_err(unavailable)?.map(|table| table.name().to_owned()).collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        Ok(has(LEFTOVERS.name()) && has(SESSIONS.name()) && has(USAGE.name()))
    };
    if format.is_some() && vouched.is_some() && has_all(&txn)? && is_counted(&txn)? {
        return txn.abort().map_err(unavailable);
    }
    {
        let mut tables = Tables::open(&txn).map_err(unavailable)?;
        let before = first_vouched(&tables)?;
        tables.meta.insert(b"format".as_slice(), FORMAT).map_err(unavailable)?;
        if vouched.is_none() {
            tables.meta.insert(VOUCHED, before).map_err(unavailable)?;
        }
        usage::count(&mut tables)?;
    }
    txn.commit().map_err(unavailable)
}

fn is_counted(txn: &WriteTransaction) -> Result<bool, CatalogError> {
    usage::is_counted(&Tables::open(txn).map_err(unavailable)?).map_err(usage::error)
}

/// What a file that never said so is taken to know: all names given until now, and those it holds.
fn first_vouched(tables: &Tables<'_>) -> Result<u64, CatalogError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut before = u64::try_from(now).unwrap_or(u64::MAX);
    for table in [&tables.stripes, &tables.garbage] {
        if let Some((id, _)) = table.last().map_err(unavailable)? {
            before = before.max(StripeId(id.value()).unix_ms() + 1);
        }
    }
    Ok(before)
}

/// A record of the present state, decoded.
pub(super) fn record<T: serde::de::DeserializeOwned>(
    table: &impl ReadableTable<Bytes, Bytes>,
    key: &[u8],
) -> Result<Option<T>, Stop> {
    table
        .get(key)?
        .map(|found| super::encoding::decode(found.value()))
        .transpose()
        .map_err(Stop::Failed)
}
