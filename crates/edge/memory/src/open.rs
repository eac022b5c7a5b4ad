//! Bytes of chunks that are not sealed yet, so that encoding them asks no server.

use ripstop_tier::{ChunkId, Fragment, ItemName};
use std::collections::BTreeMap;

/// Chunks whose bytes are kept, at most; of others the bytes are fetched. Twice what one seal after
/// another leaves open at the largest code.
const OPEN_CHUNKS_MAX: usize = 1024;

/// Bytes of chunks, one behind the other as they came.
#[derive(Debug, Default)]
pub(crate) struct OpenChunks {
    chunks: BTreeMap<ChunkId, OpenChunk>,
}

#[derive(Debug, Default)]
struct OpenChunk {
    bytes: Vec<u8>,
    /// Where in these each object begins and ends.
    slots: BTreeMap<u16, (u32, u32)>,
}

impl OpenChunks {
    /// Keeps an object's bytes, which are the pieces, if they are not kept.
    pub(crate) fn put(&mut self, chunk: ChunkId, slot: u16, pieces: [&[u8]; 2]) {
        let OpenChunk { bytes, slots } = self.chunks.entry(chunk).or_default();
        slots.entry(slot).or_insert_with(|| {
            let start = bytes.len() as u32;
            for piece in pieces {
                bytes.extend_from_slice(piece);
            }
            (start, bytes.len() as u32)
        });
        if self.chunks.len() > OPEN_CHUNKS_MAX {
            self.chunks.pop_first();
        }
    }

    /// The bytes of a fragment, if they are kept.
    pub(crate) fn fragment(&self, fragment: &Fragment) -> Option<&[u8]> {
        let ItemName::Object { chunk, slot } = fragment.name else { return None };
        let kept = self.chunks.get(&chunk)?;
        let &(start, end) = kept.slots.get(&slot)?;
        let object = &kept.bytes[start as usize..end as usize];
        object.get(fragment.skip as usize..)?.get(..fragment.len as usize)
    }

    /// Nobody will ask for this chunk.
    pub(crate) fn forget(&mut self, chunk: ChunkId) {
        self.chunks.remove(&chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_tier::ServerId;

    fn fragment(chunk: u64, slot: u16, skip: u32, len: u32) -> Fragment {
        let name = ItemName::Object { chunk: ChunkId(chunk), slot };
        Fragment { strip: 0, at: 0, skip, len, server: ServerId(0), name }
    }

    #[test]
    fn what_is_kept_is_found_until_it_is_forgotten_or_older_than_many() {
        let mut open = OpenChunks::default();
        open.put(ChunkId(1), 0, [b"ab", b"cd"]);
        open.put(ChunkId(1), 2, [b"", b"xyz"]);
        open.put(ChunkId(1), 0, [b"no", b"no"]);
        assert_eq!(open.fragment(&fragment(1, 0, 1, 3)), Some(&b"bcd"[..]));
        assert_eq!(open.fragment(&fragment(1, 2, 0, 3)), Some(&b"xyz"[..]));
        assert_eq!(open.fragment(&fragment(1, 2, 1, 3)), None);
        assert_eq!(open.fragment(&fragment(1, 1, 0, 0)), None);
        assert_eq!(open.fragment(&fragment(2, 0, 0, 0)), None);
        for chunk in 0..OPEN_CHUNKS_MAX as u64 {
            open.put(ChunkId(chunk + 2), 0, [b"a", b"b"]);
        }
        assert_eq!(open.fragment(&fragment(1, 0, 0, 4)), None);
        assert_eq!(open.fragment(&fragment(2, 0, 0, 2)), Some(&b"ab"[..]));
        open.forget(ChunkId(2));
        assert_eq!(open.fragment(&fragment(2, 0, 0, 2)), None);
    }
}
