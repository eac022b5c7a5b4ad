use crate::{
    item::KvItem,
    shelf::{Changed, ItemDeed, Shelf, ShelfError, ShelfGauge, Sight, Trace},
    sieve::Sieve,
};
use bytes::Bytes;
use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

/// Parts with a lock each, at most.
const PARTS_MAX: usize = 16;
/// Bytes of a part, at least: the longest item is a small share of it.
const PART_LEN_MIN: usize = 8 << 20;
/// How far versions of one run are apart from those of a run that began a millisecond later.
const CAS_PER_MS: u64 = 1 << 20;

/// Items in this process's own memory, a bounded number of bytes.
#[derive(Debug)]
pub struct LocalShelf {
    parts: Vec<Mutex<Sieve>>,
    bytes_max: usize,
    hasher: RandomState,
    /// The last version.
    cas: AtomicU64,
    /// What was last used in this second or before is flushed, once that second has come; 0:
    /// nothing.
    flushed_s: AtomicU32,
    found_ended: AtomicU64,
    found_flushed: AtomicU64,
}

impl LocalShelf {
    /// Keeps at most this many bytes, keys and what is kept beside values included.
    pub fn new(bytes_max: usize) -> Self {
        let parts = (bytes_max / PART_LEN_MIN).clamp(1, PARTS_MAX);
        Self {
            parts: (0..parts).map(|_| Mutex::new(Sieve::new(bytes_max / parts))).collect(),
            bytes_max,
            hasher: RandomState::new(),
            cas: AtomicU64::new(first_cas()),
            flushed_s: AtomicU32::new(0),
            found_ended: AtomicU64::new(0),
            found_flushed: AtomicU64::new(0),
        }
    }

    fn part(&self, key: &[u8]) -> (u64, MutexGuard<'_, Sieve>) {
        let hash = self.hasher.hash_one(key);
        // The index goes by the lowest and the highest bits.
        let part = (hash >> 32) as usize % self.parts.len();
        (hash, lock(&self.parts[part]))
    }

    /// The key's item if it lives; one that does not is removed.
    fn find(&self, part: &mut Sieve, hash: u64, key: &[u8], now_s: u32) -> Option<KvItem> {
        let item = part.peek(hash, key)?;
        let flushed_s = self.flushed_s.load(Relaxed);
        let is_flushed = flushed_s != 0 && flushed_s <= now_s && item.used_s <= flushed_s;
        if !is_flushed && !item.has_ended(now_s) {
            return Some(item);
        }
        let count = if is_flushed { &self.found_flushed } else { &self.found_ended };
        count.fetch_add(1, Relaxed);
        part.remove(hash, key);
        None
    }

    fn read_now(&self, key: &[u8], trace: Trace, now_s: u32) -> Option<KvItem> {
        let (hash, mut part) = self.part(key);
        let found = self.find(&mut part, hash, key, now_s);
        if found.is_some() && trace == Trace::Use {
            part.touch(hash, key, now_s);
        }
        found
    }
}

/// Versions that clients kept from an earlier run are those of nothing in this one.
fn first_cas() -> u64 {
    ripstop_host::unix_ms().saturating_mul(CAS_PER_MS)
}

fn lock(part: &Mutex<Sieve>) -> MutexGuard<'_, Sieve> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf for LocalShelf {
    async fn read(
        &self,
        key: &[u8],
        trace: Trace,
        now_s: u32,
    ) -> Result<Option<KvItem>, ShelfError> {
        Ok(self.read_now(key, trace, now_s))
    }

    async fn read_many(
        &self,
        keys: &[Bytes],
        now_s: u32,
    ) -> Result<Vec<Option<KvItem>>, ShelfError> {
        Ok(keys.iter().map(|key| self.read_now(key, Trace::Use, now_s)).collect())
    }

    async fn change<T: Send>(
        &self,
        key: &[u8],
        _sight: Sight,
        now_s: u32,
        mut decide: impl FnMut(Option<&KvItem>) -> (ItemDeed, T) + Send,
    ) -> Result<Changed<T>, ShelfError> {
        let (hash, mut part) = self.part(key);
        let before = self.find(&mut part, hash, key, now_s);
        let (deed, told) = decide(before.as_ref());
        let after = match deed {
            ItemDeed::Keep => before.clone(),
            ItemDeed::Edit(item) => {
                part.edit(hash, key, &item);
                Some(item)
            }
            ItemDeed::Store(item) => {
                let cas = self.cas.fetch_add(1, Relaxed) + 1;
                let item = KvItem { cas, ..item };
                part.store(hash, key, &item, now_s, |key| self.hasher.hash_one(key));
                Some(item)
            }
            ItemDeed::Remove => {
                part.remove(hash, key);
                None
            }
        };
        Ok(Changed { before, after, told })
    }

    async fn flush(&self, at_s: u32, now_s: u32) {
        if at_s <= now_s {
            self.flushed_s.store(0, Relaxed);
            self.parts.iter().for_each(|part| lock(part).clear());
        } else {
            self.flushed_s.store(at_s - 1, Relaxed);
        }
    }

    fn gauge(&self) -> ShelfGauge {
        let mut gauge = ShelfGauge {
            bytes_max: self.bytes_max as u64,
            found_ended: self.found_ended.load(Relaxed),
            found_flushed: self.found_flushed.load(Relaxed),
            ..ShelfGauge::default()
        };
        for part in &self.parts {
            let part = lock(part);
            gauge.items += part.len() as u64;
            gauge.bytes += part.bytes() as u64;
            gauge.stored += part.counts.stored;
            gauge.evicted += part.counts.evicted;
            gauge.evicted_unfetched += part.counts.evicted_unfetched;
            gauge.reclaimed += part.counts.reclaimed;
            gauge.expired_unfetched += part.counts.expired_unfetched;
        }
        gauge
    }

    fn waits(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Marks;
    use futures::FutureExt as _;

    /// What is done at once, as all here is.
    fn block_on<T>(done: impl Future<Output = T>) -> T {
        done.now_or_never().expect("it waits for nobody")
    }

    fn item(value: &'static [u8]) -> KvItem {
        let value = Bytes::from_static(value);
        KvItem { flags: 0, exptime_s: 0, used_s: 5, cas: 0, marks: Marks::default(), value }
    }

    fn put(shelf: &LocalShelf, key: &[u8], item: &KvItem, now_s: u32) -> KvItem {
        let stored =
            shelf.change(key, Sight::Blind, now_s, |_| (ItemDeed::Store(item.clone()), ()));
        block_on(stored).unwrap().after.unwrap()
    }

    fn value(shelf: &LocalShelf, key: &[u8], now_s: u32) -> Option<Bytes> {
        block_on(shelf.read(key, Trace::Use, now_s)).unwrap().map(|item| item.value)
    }

    #[test]
    fn versions_grow_over_changes_and_runs_and_edits_keep_them() {
        let shelf = LocalShelf::new(1 << 20);
        let first = put(&shelf, b"k", &item(b"1"), 5).cas;
        let second = put(&shelf, b"k", &item(b"2"), 5).cas;
        assert!(second > first && first > first_cas() - CAS_PER_MS * 60_000);
        let edited = block_on(shelf.change(b"k", Sight::Open, 5, |item| {
            (ItemDeed::Edit(KvItem { exptime_s: 9, ..item.cloned().unwrap() }), ())
        }));
        assert_eq!(edited.unwrap().after.map(|item| (item.cas, item.exptime_s)), Some((second, 9)));
        assert!(value(&shelf, b"k", 8).is_some() && value(&shelf, b"k", 9).is_none());
        assert_eq!((shelf.gauge().found_ended, shelf.gauge().items), (1, 0));
    }

    #[test]
    fn a_flush_takes_what_is_there_now_or_what_was_used_before_it_comes() {
        let shelf = LocalShelf::new(1 << 20);
        put(&shelf, b"a", &item(b"1"), 5);
        block_on(shelf.flush(5, 5));
        assert_eq!((value(&shelf, b"a", 5), shelf.gauge().items), (None, 0));
        put(&shelf, b"a", &item(b"1"), 5);
        block_on(shelf.flush(9, 5));
        assert!(value(&shelf, b"a", 7).is_some());
        assert_eq!(value(&shelf, b"a", 8), None);
        assert_eq!(shelf.gauge().found_flushed, 1);
        put(&shelf, b"a", &KvItem { used_s: 9, ..item(b"1") }, 9);
        assert!(value(&shelf, b"a", 9).is_some());
    }
}
