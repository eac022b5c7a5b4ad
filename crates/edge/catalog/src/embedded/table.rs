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
use redb::{Key, ReadTransaction, TableHandle, WriteTransaction};
use ripstop_model::StripeId;
use std::sync::Arc;

/// The format before live bytes, tombstones, and what is outlived.
const UNCOUNTED: u64 = 2;

/// A table in a transaction that writes.
pub(super) type Written<'txn, K, R> = Rows<&'txn WriteTransaction, K, R>;
/// A table as one commit left it.
pub(super) type Kept<K, R> = Rows<Arc<ReadTransaction>, K, R>;

/// Every table, once: as a write transaction has it ([`Tables`]), and as one commit left it
/// ([`View`]). An `older` one may have records of format 1 while these are being converted.
macro_rules! tables {
    ($($field:ident: $key:ty => $record:ty = $kind:ident, $age:ident;)*) => {
        /// Every table of one write transaction, each opened when it is first used.
        pub(super) struct Tables<'txn> {
            $(pub(super) $field: Written<'txn, $key, $record>,)*
        }

        impl<'txn> Tables<'txn> {
            pub(super) fn open(txn: &'txn WriteTransaction) -> Result<Self, CatalogError> {
                let is_converting = FACTS.write(txn, false).has(&CONVERTING)?;
                Ok(Self { $($field: $kind.write(txn, tables!($age, is_converting)),)* })
            }

            /// Opens all, making those that are missing.
            fn open_all(&self) -> Result<(), CatalogError> {
                $(self.$field.open()?;)*
                Ok(())
            }
        }

        /// Every table as one commit left it, each opened when it is first used. Readers share one
        /// view until the next commit.
        pub(super) struct View {
            /// Which opening of the database it belongs to.
            pub(super) opening: u64,
            $(pub(super) $field: Kept<$key, $record>,)*
        }

        impl View {
            pub(super) fn open(txn: ReadTransaction, opening: u64) -> Result<Self, CatalogError> {
                let txn = Arc::new(txn);
                let is_converting = FACTS.read(txn.clone(), false).has(&CONVERTING)?;
                Ok(Self {
                    opening,
                    $($field: $kind.read(txn.clone(), tables!($age, is_converting)),)*
                })
            }

            /// Fails where one is missing, or is no table of the kind.
            pub(super) fn open_all(&self) -> Result<(), CatalogError> {
                $(self.$field.open()?;)*
                Ok(())
            }
        }

        /// How they are called in the file.
        const NAMES: &[&str] = &[$($kind.name),*];
    };
    (current, $is_converting:ident) => { false };
    (older, $is_converting:ident) => { $is_converting };
}

tables! {
    facts: Bytes => Number = FACTS, current;
    buckets: Bytes => Bucket = BUCKETS, older;
    objects: Bytes => Object = OBJECTS, older;
    stripes: u128 => Held = STRIPES, older;
    garbage: u128 => Garbage = GARBAGE, older;
    leftovers: LeftoverKey => Number = LEFTOVERS, current;
    uploads: Bytes => Upload = UPLOADS, older;
    uploads_by_key: UploadKey => Nothing = UPLOADS_BY_KEY, current;
    parts: (Bytes, u16) => UploadedPart = PARTS, older;
    nodes: Bytes => Number = NODES, current;
    sessions: u32 => Number = SESSIONS, current;
    usage: Bytes => Account = USAGE, current;
    tombstones: Bytes => Tombstone = TOMBSTONES, current;
    outlived: OutlivedKey => Nothing = OUTLIVED, current;
    outlived_at: OutlivedAtKey => Nothing = OUTLIVED_AT, current;
    watermarks: u32 => Watermark = WATERMARKS, current;
    leases: Bytes => Lease = LEASES, current;
    cursors: Bytes => Cursor = CURSORS, current;
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
        tables.open_all()?;
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
    if NAMES.iter().any(|wanted| !names.iter().any(|name| name == wanted)) {
        return Ok(false);
    }
    let facts = FACTS.write(txn, false);
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
