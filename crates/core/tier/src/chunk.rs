use crate::{
    ChunkId, Fragment, ItemLabel, ItemName, KeyHash, SealId, ServerId, Version, task::Suspects,
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// Bytes of a chunk.
pub(crate) const CHUNK_LEN: u16 = 4096;
/// Objects of a chunk, at most: short ones fill it before bytes do.
pub(crate) const CHUNK_OBJECTS_MAX: usize = 256;
/// Objects of a stripe, at most: what parity says of each of them is to fit into one item.
const STRIPE_OBJECTS_MAX: usize = 24_000;
/// The slot of a value that is coded by itself.
pub(crate) const BULK: u16 = u16::MAX;
/// Where an item was whose server was lost: an erasure.
pub(crate) const LOST: ServerId = ServerId(u16::MAX);
/// Where an object was that was lost before it was encoded: zeros were encoded in its place.
pub(crate) const HOLE: ServerId = ServerId(u16::MAX - 1);

/// An object of a chunk, 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Two halves of the key, so that a member is 32 bytes whatever a u128 is aligned to.
    pub(crate) halves: [u64; 2],
    pub(crate) version: Version,
    pub(crate) offset: u16,
    pub(crate) len: u16,
    pub(crate) server: ServerId,
    pub(crate) is_tombstone: bool,
    /// It was read since it was appended.
    pub(crate) is_wanted: bool,
}

impl Member {
    pub(crate) const fn halves(key: KeyHash) -> [u64; 2] {
        [(key.0 >> 64) as u64, key.0 as u64]
    }

    pub(crate) const fn key(&self) -> KeyHash {
        KeyHash((self.halves[0] as u128) << 64 | self.halves[1] as u128)
    }
}

/// A logical chunk: an ordered list of objects, wherever they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) members: Vec<Member>,
    pub(crate) used: u16,
    /// Bytes of objects that nothing reads any more.
    pub(crate) dead: u16,
    /// How many these are.
    pub(crate) corpses: u16,
    /// Bytes of objects whose items are deleted: zeros are, or will be, encoded instead.
    pub(crate) gone: u16,
    pub(crate) gone_count: u16,
    /// Its ring.
    pub(crate) ring: usize,
    /// The stripe whose parity protects it, and which strip of it it is.
    pub(crate) sealed: Option<(SealId, u8)>,
    /// Its stripe is being sealed.
    pub(crate) is_sealing: bool,
    /// Copies in other rings: slot and server. Empty once it is sealed.
    pub(crate) copies: Vec<(u16, ServerId)>,
    /// Writes that wait for acknowledgements.
    pub(crate) pending: u16,
}

impl Chunk {
    /// Whether an object of this length fits in, where stripes have K chunks.
    pub(crate) fn has_room(&self, len: u16, k: usize) -> bool {
        let count_max = CHUNK_OBJECTS_MAX.min(STRIPE_OBJECTS_MAX / k);
        CHUNK_LEN - self.used >= len && self.members.len() < count_max
    }

    /// Takes out the copies of what is on its own ring.
    pub(crate) fn spare_copies(&mut self) -> Vec<(u16, ServerId)> {
        let members = &self.members;
        let is_spare = |copy: &mut (u16, ServerId)| members[usize::from(copy.0)].server != LOST;
        self.copies.extract_if(.., is_spare).collect()
    }

    /// Where the object's bytes are as they were written.
    pub(crate) fn source(&self, slot: u16, avoided: &Suspects) -> Option<ServerId> {
        let own = self.members[usize::from(slot)].server;
        if own != LOST && own != HOLE && !avoided.contains_key(&own) {
            return Some(own);
        }
        let is_it = |copy: &&(u16, ServerId)| copy.0 == slot && !avoided.contains_key(&copy.1);
        self.copies.iter().find(is_it).map(|copy| copy.1)
    }

    /// What of this chunk overlaps the range. None if some of that is lost.
    pub(crate) fn overlapping(
        &self,
        (chunk, strip): (ChunkId, u8),
        (start, len): (u16, u16),
        avoided: &Suspects,
    ) -> Option<Vec<Fragment>> {
        let mut fragments = Vec::new();
        let end = start + len;
        for (slot, member) in (0u16..).zip(&self.members) {
            let member_end = member.offset + member.len;
            let is_overlapping = member.offset < end && start < member_end;
            if !is_overlapping || member.len == 0 || member.server == HOLE {
                continue;
            }
            let server = self.source(slot, avoided)?;
            let from = member.offset.max(start);
            fragments.push(Fragment {
                strip,
                at: (from - start).into(),
                skip: (from - member.offset).into(),
                len: (member_end.min(end) - from).into(),
                server,
                name: ItemName::Object { chunk, slot },
            });
        }
        Some(fragments)
    }

    /// What the object's items say of it.
    pub(crate) fn label(&self, chunk: ChunkId, slot: u16, expires: Option<Timestamp>) -> ItemLabel {
        let member = &self.members[usize::from(slot)];
        ItemLabel {
            name: ItemName::Object { chunk, slot },
            key: member.key(),
            version: member.version,
            offset: member.offset,
            len: member.len.into(),
            expires,
            is_tombstone: member.is_tombstone,
        }
    }
}

/// A value that is coded by itself: a strip on every ring.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) key: KeyHash,
    pub(crate) version: Version,
    pub(crate) len: u32,
    /// Servers of its strips.
    pub(crate) servers: Vec<ServerId>,
    /// It was read since the hand of the clock passed it.
    pub(crate) is_wanted: bool,
}

impl Bulk {
    /// Bytes of each strip.
    pub(crate) const fn strip_len(&self, k: usize) -> u32 {
        self.len.div_ceil(k as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_32_bytes() {
        assert_eq!(size_of::<Member>(), 32);
    }
}
