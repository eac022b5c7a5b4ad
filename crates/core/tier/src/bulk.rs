//! Values longer than a chunk: coded by themselves, a strip on every ring.

use crate::{
    ItemLabel, ItemName, ItemSource, MemoryTier, ServerId, TierAction,
    chunk::{BULK, Bulk, LOST},
    task::{Append, Appending, Origin, Wound},
};
use alloc::vec::Vec;

/// Bytes of a value, at most: a mebibyte, and what callers code before it.
pub const TIER_VALUE_LEN_MAX: u32 = (1 << 20) + 64;

impl MemoryTier {
    /// Stores a strip on every ring; false if fewer than K rings have a server.
    pub(crate) fn append_bulk(&mut self, append: Append, actions: &mut Vec<TierAction>) -> bool {
        let Append { key, version, len, expires, .. } = append;
        let count = self.rings.len();
        let ring = crate::ring::ring_of(key, count);
        // The first strip is on the key's own ring, so that rings have as much data as parity.
        let server =
            |at: usize| self.rings[(ring + at) % count].server(key, &self.down).unwrap_or(LOST);
        let servers: Vec<ServerId> = (0..count).map(server).collect();
        let up = servers.iter().filter(|server| **server != LOST).count();
        if up < self.code.k() {
            return false;
        }
        let id = self.chunk_id();
        let bulk = Bulk { key, version, len, servers: servers.clone(), is_wanted: false };
        self.bulks.insert(id, bulk);
        self.appending.insert((id, BULK), Appending { append, waiting: up as u16 });
        for (strip, server) in (0u8..).zip(servers) {
            if server == LOST {
                continue;
            }
            let name = ItemName::Strip { value: id, strip };
            let source = match append.origin {
                Origin::Client(ticket) => ItemSource::Strip { ticket, strip },
                Origin::Burial | Origin::Refusal(_) | Origin::Rewrite(_) => {
                    unreachable!("long values are only written by clients")
                }
            };
            let is_tombstone = false;
            let label = ItemLabel { name, key, version, offset: 0, len, expires, is_tombstone };
            self.store(server, name, (source, Some(label)), actions);
        }
        true
    }

    /// Nothing reads the value any more, and no parity covers it.
    pub(crate) fn drop_bulk(&mut self, value: crate::ChunkId, actions: &mut Vec<TierAction>) {
        let Some(bulk) = self.bulks.get(&value) else { return };
        let ring = crate::ring::ring_of(bulk.key, self.rings.len());
        for (strip, server) in (0u8..).zip(bulk.servers.clone()) {
            if server != LOST {
                self.delete_of((ring, value), server, ItemName::Strip { value, strip }, actions);
            }
        }
        self.bulks.remove(&value);
        self.forget_wound(Wound::Value(value));
    }
}
