//! Items in a bounded number of bytes, under one lock.
//!
//! What gives way is chosen by SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is Simpler than
//! LRU, NSDI 2024): items stand in the order in which they came, a hand goes from the oldest to the
//! newest and round again, and takes the first one that was not used since it last passed. So a use
//! moves nothing.

use crate::item::{KvItem, Marks};
use bytes::{BufMut as _, Bytes};
use hashbrown::HashTable;
use std::mem::size_of;

/// No place.
const NOWHERE: u32 = u32::MAX;
/// Bytes that an item takes beside key and value: its place; the index, and the room that both have
/// to grow; what the allocator keeps; the count of those who read it. Measured, not only added up.
pub(crate) const SIEVE_ITEM_LEN: usize = size_of::<Place>() + 24 + 16 + 32;

/// An item and where it stands.
#[derive(Debug)]
struct Place {
    /// The key, then the value.
    bytes: Bytes,
    cas: u64,
    flags: u32,
    exptime_s: u32,
    used_s: u32,
    older: u32,
    newer: u32,
    key_len: u8,
    marks: Marks,
    is_visited: bool,
}

impl Place {
    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len.into()]
    }

    fn item(&self) -> KvItem {
        KvItem {
            flags: self.flags,
            exptime_s: self.exptime_s,
            used_s: self.used_s,
            cas: self.cas,
            marks: self.marks,
            value: self.bytes.slice(usize::from(self.key_len)..),
        }
    }

    fn take_fields(&mut self, item: &KvItem) {
        self.cas = item.cas;
        self.flags = item.flags;
        self.exptime_s = item.exptime_s;
        self.used_s = item.used_s;
        self.marks = item.marks;
    }

    const fn has_ended(&self, now_s: u32) -> bool {
        self.exptime_s != 0 && self.exptime_s <= now_s
    }

    const fn len(&self) -> usize {
        self.bytes.len() + SIEVE_ITEM_LEN
    }
}

/// What became of items that nobody removed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SieveCounts {
    pub(crate) stored: u64,
    pub(crate) evicted: u64,
    pub(crate) evicted_unfetched: u64,
    pub(crate) reclaimed: u64,
    pub(crate) expired_unfetched: u64,
}

/// The items.
#[derive(Debug)]
pub(crate) struct Sieve {
    index: HashTable<u32>,
    places: Vec<Place>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    hand: u32,
    bytes: usize,
    bytes_max: usize,
    pub(crate) counts: SieveCounts,
}

impl Sieve {
    pub(crate) const fn new(bytes_max: usize) -> Self {
        Self {
            index: HashTable::new(),
            places: Vec::new(),
            free: Vec::new(),
            oldest: NOWHERE,
            newest: NOWHERE,
            hand: NOWHERE,
            bytes: 0,
            bytes_max,
            counts: SieveCounts {
                stored: 0,
                evicted: 0,
                evicted_unfetched: 0,
                reclaimed: 0,
                expired_unfetched: 0,
            },
        }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.index.find(hash, |&at| self.places[at as usize].key() == key).copied()
    }

    /// A key's item.
    pub(crate) fn peek(&self, hash: u64, key: &[u8]) -> Option<KvItem> {
        self.find(hash, key).map(|at| self.places[at as usize].item())
    }

    /// The key's item is in use.
    pub(crate) fn touch(&mut self, hash: u64, key: &[u8], now_s: u32) {
        if let Some(at) = self.find(hash, key) {
            let place = &mut self.places[at as usize];
            place.is_visited = true;
            place.used_s = now_s;
            place.marks = place.marks.with(Marks::FETCHED);
        }
    }

    /// The key's item gets other fields, but keeps its value.
    pub(crate) fn edit(&mut self, hash: u64, key: &[u8], item: &KvItem) {
        if let Some(at) = self.find(hash, key) {
            let place = &mut self.places[at as usize];
            place.is_visited = true;
            place.take_fields(item);
        }
    }

    /// Gives the key an item; others may have to go. `hashed` is the hash of any key.
    pub(crate) fn store(
        &mut self,
        hash: u64,
        key: &[u8],
        item: &KvItem,
        now_s: u32,
        hashed: impl Fn(&[u8]) -> u64,
    ) {
        let mut bytes = Vec::with_capacity(key.len() + item.value.len());
        bytes.put_slice(key);
        bytes.put_slice(&item.value);
        let bytes = Bytes::from(bytes);
        self.counts.stored += 1;
        let at = self.find(hash, key).unwrap_or_else(|| self.enter(hash, key, &hashed));
        let place = &mut self.places[at as usize];
        self.bytes = self.bytes - place.len() + bytes.len() + SIEVE_ITEM_LEN;
        place.bytes = bytes;
        place.take_fields(item);
        self.make_room(at, now_s, &hashed);
    }

    /// A place for a new key, which is the newest.
    fn enter(&mut self, hash: u64, key: &[u8], hashed: &impl Fn(&[u8]) -> u64) -> u32 {
        let place = Place {
            bytes: Bytes::copy_from_slice(key),
            cas: 0,
            flags: 0,
            exptime_s: 0,
            used_s: 0,
            older: self.newest,
            newer: NOWHERE,
            key_len: key.len() as u8,
            marks: Marks::default(),
            is_visited: false,
        };
        self.bytes += place.len();
        let at = if let Some(at) = self.free.pop() {
            self.places[at as usize] = place;
            at
        } else {
            self.places.push(place);
            self.places.len() as u32 - 1
        };
        match self.newest {
            NOWHERE => self.oldest = at,
            newest => self.places[newest as usize].newer = at,
        }
        self.newest = at;
        let places = &self.places;
        self.index.insert_unique(hash, at, |&at| hashed(places[at as usize].key()));
        at
    }

    /// Has items go until all fit; `kept` stays.
    fn make_room(&mut self, kept: u32, now_s: u32, hashed: &impl Fn(&[u8]) -> u64) {
        while self.bytes > self.bytes_max && self.len() > 1 {
            let at = if self.hand == NOWHERE { self.oldest } else { self.hand };
            let place = &mut self.places[at as usize];
            let has_ended = place.has_ended(now_s);
            self.hand = place.newer;
            // Each is passed once at most before it is taken.
            if at == kept || (place.is_visited && !has_ended) {
                place.is_visited = false;
                continue;
            }
            let unfetched = u64::from(!place.marks.has(Marks::FETCHED));
            if has_ended {
                self.counts.reclaimed += 1;
                self.counts.expired_unfetched += unfetched;
            } else {
                self.counts.evicted += 1;
                self.counts.evicted_unfetched += unfetched;
            }
            let hash = hashed(self.places[at as usize].key());
            self.leave(hash, at);
        }
    }

    /// The key has no item any more; whether it had one.
    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) -> bool {
        let found = self.find(hash, key);
        if let Some(at) = found {
            self.leave(hash, at);
        }
        found.is_some()
    }

    fn leave(&mut self, hash: u64, at: u32) {
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == at) {
            entry.remove();
        }
        let place = &mut self.places[at as usize];
        let (older, newer) = (place.older, place.newer);
        self.bytes -= place.len();
        place.bytes = Bytes::new();
        match older {
            NOWHERE => self.oldest = newer,
            older => self.places[older as usize].newer = newer,
        }
        match newer {
            NOWHERE => self.newest = older,
            newer => self.places[newer as usize].older = older,
        }
        if self.hand == at {
            self.hand = newer;
        }
        self.free.push(at);
    }

    /// Nothing is there any more.
    pub(crate) fn clear(&mut self) {
        let counts = self.counts;
        *self = Self { counts, ..Self::new(self.bytes_max) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn hashed(key: &[u8]) -> u64 {
        // Few values, so that keys meet.
        key.iter().map(|&byte| u64::from(byte)).sum::<u64>() % 7
    }

    fn item(value: &[u8], exptime_s: u32) -> KvItem {
        let value = Bytes::copy_from_slice(value);
        KvItem { flags: 1, exptime_s, used_s: 0, cas: 2, marks: Marks::default(), value }
    }

    fn store(sieve: &mut Sieve, key: &str, value: &[u8], exptime_s: u32) {
        let key = key.as_bytes();
        sieve.store(hashed(key), key, &item(value, exptime_s), 10, hashed);
    }

    fn has(sieve: &Sieve, key: &str) -> bool {
        sieve.peek(hashed(key.as_bytes()), key.as_bytes()).is_some()
    }

    #[test]
    fn what_was_used_stays_and_what_has_ended_goes_although_it_was() {
        let mut sieve = Sieve::new(4 * (SIEVE_ITEM_LEN + 2));
        for (key, exptime_s) in [("a", 0), ("b", 0), ("c", 9), ("d", 0)] {
            store(&mut sieve, key, b"1", exptime_s);
        }
        for key in ["a", "c"] {
            sieve.touch(hashed(key.as_bytes()), key.as_bytes(), 10);
        }
        store(&mut sieve, "e", b"1", 0);
        let there = |sieve: &Sieve| ["a", "b", "c", "d", "e"].map(|key| has(sieve, key));
        assert_eq!(there(&sieve), [true, false, true, true, true]);
        store(&mut sieve, "f", b"1", 0);
        assert_eq!(there(&sieve), [true, false, false, true, true]);
        assert_eq!((sieve.counts.evicted, sieve.counts.evicted_unfetched), (1, 1));
        assert_eq!((sieve.counts.reclaimed, sieve.counts.expired_unfetched), (1, 0));
        store(&mut sieve, "g", b"1", 0);
        assert_eq!(there(&sieve), [true, false, false, false, true]);
    }

    #[test]
    fn one_item_alone_stays_whatever_its_length() {
        let mut sieve = Sieve::new(10);
        store(&mut sieve, "a", &[0; 100], 0);
        assert!(has(&sieve, "a"));
        store(&mut sieve, "b", &[0; 100], 0);
        assert!(has(&sieve, "b") && !has(&sieve, "a"));
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_does_but_for_what_had_to_go(
            steps in prop::collection::vec((0..4_u8, 0..12_u8, 0..40_usize), 1..300),
        ) {
            let mut sieve = Sieve::new(6 * SIEVE_ITEM_LEN + 100);
            let mut model = BTreeMap::new();
            for (step, key, len) in steps {
                let key = [key];
                match step {
                    0..=1 => {
                        let value = vec![key[0]; len];
                        sieve.store(hashed(&key), &key, &item(&value, 0), 1, hashed);
                        model.insert(key, value);
                    }
                    2 => {
                        let was = sieve.remove(hashed(&key), &key);
                        prop_assert!(!was || model.contains_key(&key));
                        model.remove(&key);
                    }
                    _ => sieve.touch(hashed(&key), &key, 1),
                }
                let mut bytes = 0;
                let mut count = 0;
                for (key, value) in &model {
                    if let Some(found) = sieve.peek(hashed(key), key) {
                        prop_assert_eq!(&found.value[..], &value[..]);
                        bytes += SIEVE_ITEM_LEN + 1 + value.len();
                        count += 1;
                    }
                }
                prop_assert_eq!((sieve.bytes(), sieve.len()), (bytes, count));
                prop_assert!(bytes <= sieve.bytes_max || count == 1);
            }
        }
    }
}
