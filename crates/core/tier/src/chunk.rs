use crate::{ChunkId, Fragment, ItemName, SealId, ServerId};
use alloc::vec::Vec;

/// Bytes of a chunk.
pub(crate) const CHUNK_LEN: u16 = 4096;
/// Objects of a chunk, at most: short ones fill it before bytes do.
pub(crate) const CHUNK_OBJECTS_MAX: usize = 256;
/// Where an item was whose server was lost: an erasure.
pub(crate) const LOST: ServerId = ServerId(u16::MAX);
/// Where an object was that was lost before it was encoded: zeros were encoded in its place.
pub(crate) const HOLE: ServerId = ServerId(u16::MAX - 1);

/// An object of a chunk, 6 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) offset: u16,
    pub(crate) len: u16,
    pub(crate) server: ServerId,
}

/// A logical chunk: an ordered list of objects, wherever they are.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) members: Vec<Member>,
    pub(crate) used: u16,
    pub(crate) live: u16,
    /// The stripe whose parity protects it, and which strip of it it is.
    pub(crate) sealed: Option<(SealId, u8)>,
    /// Copies in other rings: slot and server. Empty once it is sealed.
    pub(crate) copies: Vec<(u16, ServerId)>,
    /// Writes that wait for acknowledgements.
    pub(crate) pending: u16,
}

impl Chunk {
    pub(crate) fn new() -> Self {
        let (members, copies) = (Vec::new(), Vec::new());
        Self { members, used: 0, live: 0, sealed: None, copies, pending: 0 }
    }

    pub(crate) const fn has_room(&self, len: u16) -> bool {
        CHUNK_LEN - self.used >= len && self.members.len() < CHUNK_OBJECTS_MAX
    }

    /// Where the object's bytes are as they were written.
    pub(crate) fn source(&self, slot: u16) -> Option<ServerId> {
        match self.members[usize::from(slot)].server {
            LOST => self.copies.iter().find(|copy| copy.0 == slot).map(|copy| copy.1),
            HOLE => None,
            server => Some(server),
        }
    }

    /// What of this chunk overlaps the range. None if some of that is lost.
    pub(crate) fn overlapping(
        &self,
        chunk: ChunkId,
        strip: u8,
        start: u16,
        len: u16,
    ) -> Option<Vec<Fragment>> {
        let mut fragments = Vec::new();
        let end = start + len;
        for (slot, member) in self.members.iter().enumerate() {
            let member_end = member.offset + member.len;
            let is_overlapping = member.offset < end && start < member_end;
            if !is_overlapping || member.len == 0 || member.server == HOLE {
                continue;
            }
            let server = self.source(slot as u16)?;
            let from = member.offset.max(start);
            fragments.push(Fragment {
                strip,
                at: from - start,
                skip: from - member.offset,
                len: member_end.min(end) - from,
                server,
                name: ItemName::Object { chunk, slot: slot as u16 },
            });
        }
        Some(fragments)
    }
}
