//! The tables, as a transaction writes them and as readers see them.

use super::kinds::{
    BUCKETS, CONVERTING, CURSORS, Cursor, FACTS, GARBAGE, GATEWAYS, LEASES, LEFTOVERS, LeftoverKey,
    NODES, Nothing, Number, OBJECTS, OUTLIVED, OUTLIVED_AT, OutlivedAtKey, OutlivedKey, PARTS,
    SESSIONS, STRIPES, TOMBSTONES, UPLOADS, UPLOADS_BY_KEY, USAGE, UploadKey, WATERMARKS,
};
use super::rows::{Bytes, Rows};
use crate::{
    Account, Bucket, CatalogError, Garbage, GatewayRecord, Held, Lease, Object, Tombstone, Upload,
    UploadedPart, Watermark,
};
use redb::{Key, ReadTransaction, WriteTransaction};
use std::sync::Arc;

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
            pub(super) fn open_all(&self) -> Result<(), CatalogError> {
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
        pub(super) const NAMES: &[&str] = &[$($kind.name),*];
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
    gateways: u64 => GatewayRecord = GATEWAYS, current;
    cursors: Bytes => Cursor = CURSORS, current;
}

impl<K: Key + 'static> Written<'_, K, Number> {
    /// The key's number, if it has one.
    pub(super) fn number(&self, key: &K::SelfType<'_>) -> Result<Option<u64>, CatalogError> {
        Ok(self.find(key)?.map(|number| number.0))
    }
}
