//! Where keys' values are: open addressing with linear probing, 32 bytes a slot.

use crate::{ChunkId, KeyHash, Version};
use alloc::{vec, vec::Vec};

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Location {
    pub(crate) version: Version,
    pub(crate) chunk: ChunkId,
    pub(crate) slot: u16,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// Two halves, so that a row is 32 bytes whatever a u128 is aligned to.
    key: [u64; 2],
    version: u64,
    /// The chunk above 16 bits of the slot.
    place: u64,
}

impl Row {
    const fn is_used(&self) -> bool {
        self.place != NOWHERE
    }
}

const NOWHERE: u64 = u64::MAX;
const FREE: Row = Row { key: [0; 2], version: 0, place: NOWHERE };
const ROWS_MIN: usize = 16;

/// Keys' locations.
#[derive(Clone, Debug)]
pub(crate) struct KeyIndex {
    rows: Vec<Row>,
    len: usize,
}

impl KeyIndex {
    pub(crate) fn new() -> Self {
        Self { rows: vec![FREE; ROWS_MIN], len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
    }

    pub(crate) fn get(&self, key: KeyHash) -> Option<Location> {
        let row = self.rows[self.find(key)];
        let (chunk, slot) = (ChunkId(row.place >> 16), row.place as u16);
        row.is_used().then_some(Location { version: Version(row.version), chunk, slot })
    }

    pub(crate) fn insert(&mut self, key: KeyHash, location: Location) {
        let at = self.find(key);
        self.len += usize::from(!self.rows[at].is_used());
        let Location { version, chunk, slot } = location;
        debug_assert!(chunk.0 < 1 << 48, "an exbibyte is not written");
        let place = chunk.0 << 16 | u64::from(slot);
        self.rows[at] = Row { key: halves(key), version: version.0, place };
        // Seven eighths full: longer probes cost less than memory does.
        if self.len * 8 > self.rows.len() * 7 {
            // By a half at a time: doubling would leave more than half of it free.
            self.resize(self.rows.len() + self.rows.len() / 2);
        }
    }

    pub(crate) fn remove(&mut self, key: KeyHash) {
        let mut gap = self.find(key);
        if !self.rows[gap].is_used() {
            return;
        }
        self.len -= 1;
        let count = self.rows.len();
        let mut at = gap;
        loop {
            at = (at + 1) % count;
            if !self.rows[at].is_used() {
                break;
            }
            // A row may fill the gap if it was to be at the gap or before it.
            let home = home(self.rows[at].key, count);
            if (at + count - home) % count >= (at + count - gap) % count {
                self.rows[gap] = self.rows[at];
                gap = at;
            }
        }
        self.rows[gap] = FREE;
        if self.len * 4 < count && count > ROWS_MIN {
            self.resize((count / 2).max(ROWS_MIN));
        }
    }

    /// Where the key is, or the free row where it would be.
    fn find(&self, key: KeyHash) -> usize {
        let (key, count) = (halves(key), self.rows.len());
        let mut at = home(key, count);
        while self.rows[at].is_used() && self.rows[at].key != key {
            at = (at + 1) % count;
        }
        at
    }

    fn resize(&mut self, count: usize) {
        let rows = core::mem::replace(&mut self.rows, vec![FREE; count]);
        for row in rows.into_iter().filter(Row::is_used) {
            let mut at = home(row.key, count);
            while self.rows[at].is_used() {
                at = (at + 1) % count;
            }
            self.rows[at] = row;
        }
    }
}

const fn halves(key: KeyHash) -> [u64; 2] {
    [(key.0 >> 64) as u64, key.0 as u64]
}

const fn home(key: [u64; 2], count: usize) -> usize {
    ((key[1] as u128 * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(
            steps in prop::collection::vec((0u64..60, any::<bool>()), 0..400),
        ) {
            let (mut index, mut model) = (KeyIndex::new(), BTreeMap::new());
            // Few homes, at the end of the table too: rows displace each other and wrap around.
            let key = |number: u64| KeyHash(u128::from(number) << 64 | u128::from(!0 - number % 3));
            for (step, (number, is_put)) in steps.into_iter().enumerate() {
                let version = Version(step as u64);
                let place = Location { version, chunk: ChunkId(step as u64), slot: 3 };
                if is_put {
                    index.insert(key(number), place);
                    model.insert(number, place);
                } else {
                    index.remove(key(number));
                    model.remove(&number);
                }
                prop_assert_eq!(index.len(), model.len());
                for number in 0..60 {
                    prop_assert_eq!(index.get(key(number)), model.get(&number).copied());
                }
            }
            for number in 0..60 {
                index.remove(key(number));
            }
            prop_assert_eq!((index.len(), index.rows.len()), (0, ROWS_MIN));
        }
    }

    #[test]
    fn a_row_is_32_bytes() {
        assert_eq!(size_of::<Row>(), 32);
    }
}
