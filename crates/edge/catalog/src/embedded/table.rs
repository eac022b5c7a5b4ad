//! The tables, as a transaction writes them and as readers see them.

use super::kinds::{
    BUCKETS, CONVERTING, CURSORS, Cursor, FACTS, GARBAGE, LEASES, LEFTOVERS, LeftoverKey, NODES,
    Nothing, Number, OBJECTS, OUTLIVED, OUTLIVED_AT, OutlivedAtKey, OutlivedKey, PARTS, SESSIONS,
    STRIPES, TOMBSTONES, UPLOADS, UPLOADS_BY_KEY, USAGE, UploadKey, WATERMARKS,
};
use super::rows::{Bytes, Rows};
use crate::{
    Account, Bucket, CatalogError, Garbage, Held, Lease, Object, Tombstone, Upload, UploadedPart,
    Watermark,
};
use redb::{Key, ReadOnlyTable, ReadTransaction, Table, WriteTransaction};

/// A table in a transaction that writes.
pub(super) type Written<'txn, K, R> = Rows<Table<'txn, K, Bytes>, K, R>;
/// A table as one commit left it.
pub(super) type Kept<K, R> = Rows<ReadOnlyTable<K, Bytes>, K, R>;

/// Every table of one write transaction.
pub(super) struct Tables<'txn> {
    pub(super) facts: Written<'txn, Bytes, Number>,
    pub(super) buckets: Written<'txn, Bytes, Bucket>,
    pub(super) objects: Written<'txn, Bytes, Object>,
    pub(super) stripes: Written<'txn, u128, Held>,
    pub(super) garbage: Written<'txn, u128, Garbage>,
    pub(super) leftovers: Written<'txn, LeftoverKey, Number>,
    pub(super) uploads: Written<'txn, Bytes, Upload>,
    pub(super) uploads_by_key: Written<'txn, UploadKey, Nothing>,
    pub(super) parts: Written<'txn, (Bytes, u16), UploadedPart>,
    pub(super) nodes: Written<'txn, Bytes, Number>,
    pub(super) sessions: Written<'txn, u32, Number>,
    pub(super) usage: Written<'txn, Bytes, Account>,
    pub(super) tombstones: Written<'txn, Bytes, Tombstone>,
    pub(super) outlived: Written<'txn, OutlivedKey, Nothing>,
    pub(super) outlived_at: Written<'txn, OutlivedAtKey, Nothing>,
    pub(super) watermarks: Written<'txn, u32, Watermark>,
    pub(super) leases: Written<'txn, Bytes, Lease>,
    pub(super) cursors: Written<'txn, Bytes, Cursor>,
}

impl<'txn> Tables<'txn> {
    /// Opens every table, making those that are missing.
    pub(super) fn open(txn: &'txn WriteTransaction) -> Result<Self, CatalogError> {
        let facts = FACTS.write(txn, false)?;
        let older = facts.has(&CONVERTING)?;
        Ok(Self {
            facts,
            buckets: BUCKETS.write(txn, older)?,
            objects: OBJECTS.write(txn, older)?,
            stripes: STRIPES.write(txn, older)?,
            garbage: GARBAGE.write(txn, older)?,
            leftovers: LEFTOVERS.write(txn, false)?,
            uploads: UPLOADS.write(txn, older)?,
            uploads_by_key: UPLOADS_BY_KEY.write(txn, false)?,
            parts: PARTS.write(txn, older)?,
            nodes: NODES.write(txn, false)?,
            sessions: SESSIONS.write(txn, false)?,
            usage: USAGE.write(txn, false)?,
            tombstones: TOMBSTONES.write(txn, false)?,
            outlived: OUTLIVED.write(txn, false)?,
            outlived_at: OUTLIVED_AT.write(txn, false)?,
            watermarks: WATERMARKS.write(txn, false)?,
            leases: LEASES.write(txn, false)?,
            cursors: CURSORS.write(txn, false)?,
        })
    }
}

/// Every table as one commit left them. Opening tables costs more than a lookup, so readers share
/// one view until the next commit.
pub(super) struct View {
    /// Which opening of the database it belongs to.
    pub(super) opening: u64,
    pub(super) facts: Kept<Bytes, Number>,
    pub(super) buckets: Kept<Bytes, Bucket>,
    pub(super) objects: Kept<Bytes, Object>,
    pub(super) stripes: Kept<u128, Held>,
    pub(super) garbage: Kept<u128, Garbage>,
    pub(super) leftovers: Kept<LeftoverKey, Number>,
    pub(super) uploads: Kept<Bytes, Upload>,
    pub(super) uploads_by_key: Kept<UploadKey, Nothing>,
    pub(super) parts: Kept<(Bytes, u16), UploadedPart>,
    pub(super) nodes: Kept<Bytes, Number>,
    pub(super) sessions: Kept<u32, Number>,
    pub(super) usage: Kept<Bytes, Account>,
    pub(super) tombstones: Kept<Bytes, Tombstone>,
    pub(super) outlived: Kept<OutlivedKey, Nothing>,
    pub(super) outlived_at: Kept<OutlivedAtKey, Nothing>,
    pub(super) watermarks: Kept<u32, Watermark>,
    pub(super) leases: Kept<Bytes, Lease>,
    pub(super) cursors: Kept<Bytes, Cursor>,
}

impl View {
    pub(super) fn open(txn: &ReadTransaction, opening: u64) -> Result<Self, CatalogError> {
        let facts = FACTS.read(txn, false)?;
        let older = facts.has(&CONVERTING)?;
        Ok(Self {
            opening,
            facts,
            buckets: BUCKETS.read(txn, older)?,
            objects: OBJECTS.read(txn, older)?,
            stripes: STRIPES.read(txn, older)?,
            garbage: GARBAGE.read(txn, older)?,
            leftovers: LEFTOVERS.read(txn, false)?,
            uploads: UPLOADS.read(txn, older)?,
            uploads_by_key: UPLOADS_BY_KEY.read(txn, false)?,
            parts: PARTS.read(txn, older)?,
            nodes: NODES.read(txn, false)?,
            sessions: SESSIONS.read(txn, false)?,
            usage: USAGE.read(txn, false)?,
            tombstones: TOMBSTONES.read(txn, false)?,
            outlived: OUTLIVED.read(txn, false)?,
            outlived_at: OUTLIVED_AT.read(txn, false)?,
            watermarks: WATERMARKS.read(txn, false)?,
            leases: LEASES.read(txn, false)?,
            cursors: CURSORS.read(txn, false)?,
        })
    }
}

impl<K: Key + 'static> Written<'_, K, Number> {
    /// The key's number, if it has one.
    pub(super) fn number(&self, key: &K::SelfType<'_>) -> Result<Option<u64>, CatalogError> {
        Ok(self.find(key)?.map(|number| number.0))
    }
}
