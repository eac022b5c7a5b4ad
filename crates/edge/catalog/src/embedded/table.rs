//! The tables, as a transaction writes them and as readers see them.

use super::encoding::{
    BUCKETS, Bytes, FORMAT, GARBAGE, LEFTOVERS, LeftoverKey, META, NODES, OBJECTS, PARTS, STRIPES,
    UPLOADS, UPLOADS_BY_KEY, UploadKey,
};
use super::failure::{Stop, corrupt, unavailable};
use crate::CatalogError;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableHandle, WriteTransaction};

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
        })
    }
}

/// Every table as one commit left them. Opening tables costs more than a lookup, so readers share
/// one view until the next commit.
pub(super) struct View {
    pub(super) buckets: ReadOnlyTable<Bytes, Bytes>,
    pub(super) objects: ReadOnlyTable<Bytes, Bytes>,
    pub(super) stripes: ReadOnlyTable<u128, Bytes>,
    pub(super) garbage: ReadOnlyTable<u128, Bytes>,
    pub(super) leftovers: ReadOnlyTable<LeftoverKey, u64>,
    pub(super) uploads: ReadOnlyTable<Bytes, Bytes>,
    pub(super) uploads_by_key: ReadOnlyTable<UploadKey, ()>,
    pub(super) parts: ReadOnlyTable<(Bytes, u16), Bytes>,
    pub(super) nodes: ReadOnlyTable<Bytes, u16>,
}

impl View {
    pub(super) fn open(txn: &ReadTransaction) -> Result<Self, redb::TableError> {
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
        })
    }
}

/// Makes the tables of a new file, and those that an older one lacks; refuses a file of another
/// format.
pub(super) fn prepare(txn: WriteTransaction) -> Result<(), CatalogError> {
    let is_whole = {
        let mut meta = txn.open_table(META).map_err(unavailable)?;
        let found = meta.get(b"format".as_slice()).map_err(unavailable)?.map(|is| is.value());
        match found {
            Some(FORMAT) => {
                let mut tables = txn.list_tables().map_err(unavailable)?;
                tables.any(|table| table.name() == LEFTOVERS.name())
            }
            Some(format) => {
                return Err(corrupt(format!("the file has the unknown format {format}")));
            }
            None => {
                meta.insert(b"format".as_slice(), FORMAT).map_err(unavailable)?;
                false
            }
        }
    };
    if is_whole {
        return txn.abort().map_err(unavailable);
    }
    drop(Tables::open(&txn).map_err(unavailable)?);
    txn.commit().map_err(unavailable)
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
