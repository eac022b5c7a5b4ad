//! Tables whose records carry a checksum that is bound to the table and the key: a record that is
//! not what was written, or stands where another was, is an error and never an answer.

use super::failure::{corrupt, unavailable};
use crate::CatalogError;
use crate::sealed::{seal, unseal};
use redb::{
    AccessGuard, Key, Range, ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata,
    Table, TableDefinition, WriteTransaction,
};
use ripstop_form::{Record, Unreadable, decode};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, OnceLock};

pub(super) type Bytes = &'static [u8];

/// First byte of records of [format 1](super::older).
pub(super) const OLDER: u8 = 1;
/// What a table may hold.
pub(super) trait Stored: Record {
    /// One of format 1, without its version byte; that format had no checksums.
    fn older(_body: &[u8]) -> Option<Self> {
        None
    }
}

/// A table's name, and what it holds.
pub(super) struct Kind<K, R> {
    pub(super) name: &'static str,
    holds: PhantomData<fn() -> (K, R)>,
}

impl<K, R> Clone for Kind<K, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, R> Copy for Kind<K, R> {}

impl<K: Key + 'static, R: Stored> Kind<K, R> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, holds: PhantomData }
    }

    const fn definition(self) -> TableDefinition<'static, K, Bytes> {
        TableDefinition::new(self.name)
    }

    /// The table in a transaction that writes; made, once it is used, if it is not there. Some of
    /// its records may be of format 1 if `may_be_older`.
    pub(super) const fn write(
        self,
        txn: &WriteTransaction,
        may_be_older: bool,
    ) -> Rows<&WriteTransaction, K, R> {
        Rows { txn, table: OnceLock::new(), kind: self, may_be_older }
    }

    /// The table as one commit left it.
    pub(super) const fn read(
        self,
        txn: Arc<ReadTransaction>,
        may_be_older: bool,
    ) -> Rows<Arc<ReadTransaction>, K, R> {
        Rows { txn, table: OnceLock::new(), kind: self, may_be_older }
    }

    /// The record as bytes for this key.
    pub(super) fn seal(self, key: &K::SelfType<'_>, record: &R) -> Vec<u8> {
        seal(self.name, K::as_bytes(key).as_ref(), record)
    }

    /// A record's fields, if they are what was written for this key.
    fn fields<'b>(self, key: &K::SelfType<'_>, bytes: &'b [u8]) -> Result<&'b [u8], CatalogError> {
        unseal(self.name, K::as_bytes(key).as_ref(), bytes)
    }
}

/// A transaction in which tables are opened.
pub(super) trait Within<K: Key + 'static> {
    /// A table in it.
    type Table: ReadableTable<K, Bytes>;

    fn open(&self, table: TableDefinition<'_, K, Bytes>) -> Result<Self::Table, redb::TableError>;
}

impl<'txn, K: Key + 'static> Within<K> for &'txn WriteTransaction {
    type Table = Table<'txn, K, Bytes>;

    fn open(&self, table: TableDefinition<'_, K, Bytes>) -> Result<Self::Table, redb::TableError> {
        self.open_table(table)
    }
}

impl<K: Key + 'static> Within<K> for Arc<ReadTransaction> {
    type Table = ReadOnlyTable<K, Bytes>;

    fn open(&self, table: TableDefinition<'_, K, Bytes>) -> Result<Self::Table, redb::TableError> {
        self.open_table(table)
    }
}

/// A table's records.
pub(super) struct Rows<T: Within<K>, K: Key + 'static, R> {
    txn: T,
    /// Opened when it is first used: to open one costs more than a lookup, and a change touches a
    /// third of them.
    table: OnceLock<T::Table>,
    kind: Kind<K, R>,
    may_be_older: bool,
}

impl<T: Within<K>, K: Key + 'static, R: Stored> Rows<T, K, R> {
    fn table(&self) -> Result<&T::Table, CatalogError> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = self.txn.open(self.kind.definition()).map_err(unavailable)?;
        Ok(self.table.get_or_init(|| table))
    }

    /// Opens the table, and makes it if it is missing and may be made.
    pub(super) fn open(&self) -> Result<(), CatalogError> {
        self.table().map(drop)
    }

    /// The key's record. That there is none is answered only if what stands around its place is
    /// what was written: a flipped key leads a search astray, and then stands beside where it ends.
    pub(super) fn get(&self, key: &K::SelfType<'_>) -> Result<Option<R>, CatalogError> {
        match self.raw(key)? {
            Some(found) => self.decode(key, found.value()).map(Some),
            None => self.must_be_absent(key).map(|()| None),
        }
    }

    /// The key's record. That there is none is believed: for keys that are mostly new, where
    /// another search costs more than it finds.
    pub(super) fn find(&self, key: &K::SelfType<'_>) -> Result<Option<R>, CatalogError> {
        self.raw(key)?.map(|found| self.decode(key, found.value())).transpose()
    }

    /// Whether the key has a record, which is not looked at.
    pub(super) fn has(&self, key: &K::SelfType<'_>) -> Result<bool, CatalogError> {
        Ok(self.raw(key)?.is_some())
    }

    /// The bytes that stand at a key.
    pub(super) fn raw(
        &self,
        key: &K::SelfType<'_>,
    ) -> Result<Option<AccessGuard<'_, Bytes>>, CatalogError> {
        self.table()?.get(key).map_err(unavailable)
    }

    /// The record that such bytes are.
    pub(super) fn decode(&self, key: &K::SelfType<'_>, bytes: &[u8]) -> Result<R, CatalogError> {
        if self.may_be_older
            && let Some((&OLDER, body)) = bytes.split_first()
        {
            return R::older(body).ok_or_else(|| corrupt("a record is unreadable".into()));
        }
        decode(self.kind.fields(key, bytes)?).map_err(|why| unreadable(&why))
    }

    /// That a search for the key, which found nothing, was not led astray.
    pub(super) fn must_be_absent(&self, key: &K::SelfType<'_>) -> Result<(), CatalogError> {
        let wanted = K::as_bytes(key);
        let key = || K::from_bytes(wanted.as_ref());
        let is_beside = |entry: Entry<'_, K, R>, side| {
            let is_so = K::compare(K::as_bytes(&entry.key()).as_ref(), wanted.as_ref()) == side;
            let astray =
                || corrupt(format!("the keys of table {} are out of order", self.kind.name));
            if is_so { entry.verify() } else { Err(astray()) }
        };
        if let Some(before) = self.range((Bound::Unbounded, Bound::Excluded(key())))?.next_back() {
            is_beside(before?, Ordering::Less)?;
        }
        if let Some(behind) = self.range((Bound::Included(key()), Bound::Unbounded))?.next() {
            is_beside(behind?, Ordering::Greater)?;
        }
        Ok(())
    }

    /// The records of a range of keys, in order.
    pub(super) fn range<'k, Q: Borrow<K::SelfType<'k>> + 'k>(
        &self,
        range: impl RangeBounds<Q> + 'k,
    ) -> Result<Entries<'_, K, R>, CatalogError> {
        let range = self.table()?.range(range).map_err(unavailable)?;
        Ok(Entries { range, kind: self.kind, may_be_older: self.may_be_older })
    }

    /// All records, in order.
    pub(super) fn all(&self) -> Result<Entries<'_, K, R>, CatalogError> {
        let range = self.table()?.iter().map_err(unavailable)?;
        Ok(Entries { range, kind: self.kind, may_be_older: self.may_be_older })
    }

    /// How many there are.
    pub(super) fn len(&self) -> Result<u64, CatalogError> {
        self.table()?.len().map_err(unavailable)
    }
}

impl<'txn, K: Key + 'static, R: Stored> Rows<&'txn WriteTransaction, K, R> {
    fn table_mut(&mut self) -> Result<&mut Table<'txn, K, Bytes>, CatalogError> {
        self.open()?;
        Ok(self.table.get_mut().expect("it was opened just now"))
    }

    /// Writes the key's record.
    pub(super) fn insert(&mut self, key: &K::SelfType<'_>, record: &R) -> Result<(), CatalogError> {
        self.insert_raw(key, &self.kind.seal(key, record))
    }

    /// Writes bytes where a record should stand.
    pub(super) fn insert_raw(
        &mut self,
        key: &K::SelfType<'_>,
        bytes: &[u8],
    ) -> Result<(), CatalogError> {
        self.table_mut()?.insert(key, bytes).map(drop).map_err(unavailable)
    }

    /// Removes the key's record, if it has one.
    pub(super) fn remove(&mut self, key: &K::SelfType<'_>) -> Result<(), CatalogError> {
        self.table_mut()?.remove(key).map(drop).map_err(unavailable)
    }

    /// Removes all records.
    pub(super) fn clear(&mut self) -> Result<(), CatalogError> {
        self.table_mut()?.retain(|_, _| false).map_err(unavailable)
    }
}

/// Records one after another, from both ends.
pub(super) struct Entries<'a, K: Key + 'static, R> {
    range: Range<'a, K, Bytes>,
    kind: Kind<K, R>,
    may_be_older: bool,
}

type Guards<'a, K> = (AccessGuard<'a, K>, AccessGuard<'a, Bytes>);

impl<'a, K: Key + 'static, R> Entries<'a, K, R> {
    fn entry(
        &self,
        found: Result<Guards<'a, K>, redb::StorageError>,
    ) -> Result<Entry<'a, K, R>, CatalogError> {
        let (key, record) = found.map_err(unavailable)?;
        Ok(Entry { key, record, kind: self.kind, may_be_older: self.may_be_older })
    }
}

impl<'a, K: Key + 'static, R> Iterator for Entries<'a, K, R> {
    type Item = Result<Entry<'a, K, R>, CatalogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.range.next()?;
        Some(self.entry(found))
    }
}

impl<K: Key + 'static, R> DoubleEndedIterator for Entries<'_, K, R> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let found = self.range.next_back()?;
        Some(self.entry(found))
    }
}

/// A key and its record, which may not be what was written.
pub(super) struct Entry<'a, K: Key + 'static, R> {
    key: AccessGuard<'a, K>,
    record: AccessGuard<'a, Bytes>,
    kind: Kind<K, R>,
    may_be_older: bool,
}

impl<K: Key + 'static, R: Stored> Entry<'_, K, R> {
    pub(super) fn key(&self) -> K::SelfType<'_> {
        self.key.value()
    }

    /// Bytes of the record as it is stored.
    pub(super) fn len(&self) -> usize {
        self.record.value().len()
    }

    /// The record of format 1, without its version byte.
    pub(super) fn older(&self) -> Option<&[u8]> {
        let (version, body) = self.record.value().split_first()?;
        (self.may_be_older && *version == OLDER).then_some(body)
    }

    /// The record.
    pub(super) fn read(&self) -> Result<R, CatalogError> {
        match self.older() {
            Some(body) => R::older(body).ok_or_else(|| corrupt("a record is unreadable".into())),
            None => decode(self.fields()?).map_err(|why| unreadable(&why)),
        }
    }

    /// The record's fields, if they are what was written.
    pub(super) fn fields(&self) -> Result<&[u8], CatalogError> {
        self.kind.fields(&self.key(), self.record.value())
    }

    fn verify(&self) -> Result<(), CatalogError> {
        if self.older().is_some() { Ok(()) } else { self.fields().map(drop) }
    }
}

pub(super) fn unreadable(why: &Unreadable) -> CatalogError {
    corrupt(format!("a record is unreadable: {why}"))
}
