//! The tables, as a transaction writes them and as readers see them.

use super::failure::{corrupt, unavailable};
use super::kinds::{
    BUCKETS, CONVERTING, COUNTED, CURSORS, Cursor, FACTS, FORMAT, FORMAT_NAME, GARBAGE, LEASES,
    LEFTOVERS, LIVE, LeftoverKey, META, NODES, Nothing, Number, OBJECTS, OUTLIVED, OUTLIVED_AT,
    OutlivedAtKey, OutlivedKey, PARTS, SESSIONS, STRIPES, TOMBSTONES, UPLOADS, UPLOADS_BY_KEY,
    USAGE, UploadKey, VOUCHED, WATERMARKS,
};
use super::older;
use super::rows::{Bytes, Rows, Stored};
use super::{live, usage};
use crate::{
    Account, Bucket, CatalogError, Garbage, Held, Lease, Object, Tombstone, Upload, UploadedPart,
    Watermark,
};
use redb::{Key, ReadOnlyTable, ReadTransaction, Table, TableHandle, WriteTransaction};
use ripstop_model::StripeId;

/// The format before live bytes, tombstones, and what is outlived.
const UNCOUNTED: u64 = 2;

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

/// Makes the tables of a new file, and those that an older one lacks, counts what buckets hold
/// where nobody has, and notes where live bytes are to be counted; takes over from format 1 all but
/// its long tables, whose records stay as they are until they are [converted](super::convert).
/// Refuses a file of another format.
pub(super) fn prepare(txn: WriteTransaction) -> Result<(), CatalogError> {
    let format = format(&txn)?;
    match format {
        Some(FORMAT) if is_prepared(&txn)? => return txn.abort().map_err(unavailable),
        Some(older::FORMAT | UNCOUNTED | FORMAT) | None => {}
        Some(format) => {
            return Err(corrupt(format!(
                "the file has format {format}, and this program knows none above {FORMAT}: a newer one wrote it"
            )));
        }
    }
    if format == Some(older::FORMAT) {
        older::adopt(&txn)?;
    }
    {
        let mut tables = Tables::open(&txn)?;
        if !tables.facts.has(&VOUCHED)? {
            let before = first_vouched(&tables)?;
            tables.facts.insert(&VOUCHED, &Number(before))?;
        }
        if !tables.facts.has(&COUNTED)? {
            usage::count(&mut tables)?;
        }
        if matches!(format, Some(older::FORMAT | UNCOUNTED)) {
            tables.cursors.insert(&LIVE, &live::BEGIN)?;
        }
    }
    set_format(&txn)?;
    txn.commit().map_err(unavailable)
}

fn format(txn: &WriteTransaction) -> Result<Option<u64>, CatalogError> {
    let meta = txn.open_table(META).map_err(unavailable)?;
    let format = redb::ReadableTable::get(&meta, FORMAT_NAME).map_err(unavailable)?;
    Ok(format.map(|format| format.value()))
}

/// Writes which format the file has.
pub(super) fn set_format(txn: &WriteTransaction) -> Result<(), CatalogError> {
    let mut meta = txn.open_table(META).map_err(unavailable)?;
    meta.insert(FORMAT_NAME, FORMAT).map(drop).map_err(unavailable)
}

/// Whether all tables are there, and what buckets hold is counted.
fn is_prepared(txn: &WriteTransaction) -> Result<bool, CatalogError> {
    let names: Vec<String> =
        txn.list_tables().map_err(unavailable)?.map(|table| table.name().to_owned()).collect();
    let wanted = [
        FACTS.name,
        BUCKETS.name,
        OBJECTS.name,
        STRIPES.name,
        GARBAGE.name,
        LEFTOVERS.name,
        UPLOADS.name,
        UPLOADS_BY_KEY.name,
        PARTS.name,
        NODES.name,
        SESSIONS.name,
        USAGE.name,
        TOMBSTONES.name,
        OUTLIVED.name,
        OUTLIVED_AT.name,
        WATERMARKS.name,
        LEASES.name,
        CURSORS.name,
    ];
    if wanted.iter().any(|wanted| !names.iter().any(|name| name == wanted)) {
        return Ok(false);
    }
    let facts = FACTS.write(txn, false)?;
    Ok(facts.has(&VOUCHED)? && facts.has(&COUNTED)?)
}

/// What a file that never said so is taken to know: all names given until now, and those it holds.
fn first_vouched(tables: &Tables<'_>) -> Result<u64, CatalogError> {
    let now = ripstop_host::since_1970().as_millis();
    let mut before = u64::try_from(now).unwrap_or(u64::MAX);
    let last = [last_of(&tables.stripes)?, last_of(&tables.garbage)?];
    for id in last.into_iter().flatten() {
        before = before.max(id.unix_ms() + 1);
    }
    Ok(before)
}

fn last_of<R: Stored>(table: &Written<'_, u128, R>) -> Result<Option<StripeId>, CatalogError> {
    let last = table.all()?.next_back().transpose()?;
    Ok(last.map(|entry| StripeId(entry.key())))
}

impl<K: Key + 'static> Written<'_, K, Number> {
    /// The key's number, if it has one.
    pub(super) fn number(&self, key: &K::SelfType<'_>) -> Result<Option<u64>, CatalogError> {
        Ok(self.find(key)?.map(|number| number.0))
    }
}
