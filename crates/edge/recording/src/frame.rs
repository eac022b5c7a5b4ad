//! What stands before the records of a block, and holds them together.

use crate::format::{BLOCK_LEN_MAX, POSITIONAL, VERSION};
use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};

/// Bytes before the records of a block.
pub(crate) const FRAME_LEN: usize = 18;
/// The same in [`POSITIONAL`].
const POSITIONAL_FRAME_LEN: usize = 14;
/// Bytes of a block's number and pool, which are part of what its length counts in [`POSITIONAL`].
const HEAD_LEN: usize = 6;

/// What the frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Bytes of the records.
    pub len: usize,
    /// The block's, from 0.
    pub number: u32,
    pub pool: u16,
    /// Of all that the block holds.
    sum: u32,
    version: u32,
}

/// Bytes of a frame in a file of this version.
pub(crate) const fn len(version: u32) -> usize {
    if version == POSITIONAL { POSITIONAL_FRAME_LEN } else { FRAME_LEN }
}

/// The frame of these records.
pub(crate) fn frame(number: u32, pool: u16, records: &[u8]) -> [u8; FRAME_LEN] {
    let mut frame = [0; FRAME_LEN];
    frame[..4].copy_from_slice(&(records.len() as u32).to_le_bytes());
    frame[4..8].copy_from_slice(&number.to_le_bytes());
    frame[8..10].copy_from_slice(&pool.to_le_bytes());
    let head = checksum(&[&VERSION.to_le_bytes(), &frame[..10]]);
    frame[10..14].copy_from_slice(&head.to_le_bytes());
    let whole = checksum(&[&frame[..14], records]);
    frame[14..].copy_from_slice(&whole.to_le_bytes());
    frame
}

impl Frame {
    /// Reads one of [`len`] bytes; none if they are no frame.
    pub(crate) fn read(version: u32, bytes: &[u8]) -> Option<Self> {
        let (len, head, pool, sum) = if version == POSITIONAL {
            let len = (int(&bytes[..4]) as usize).checked_sub(HEAD_LEN)?;
            (len, &bytes[8..12], &bytes[12..14], int(&bytes[4..8]))
        } else {
            if checksum(&[&version.to_le_bytes(), &bytes[..10]]) != int(&bytes[10..14]) {
                return None;
            }
            (int(&bytes[..4]) as usize, &bytes[4..8], &bytes[8..10], int(&bytes[14..]))
        };
        let pool = u16::from_le_bytes([pool[0], pool[1]]);
        (len <= BLOCK_LEN_MAX).then_some(Self { len, number: int(head), pool, sum, version })
    }

    /// Whether these records are those that were framed.
    pub(crate) fn holds(&self, frame: &[u8], records: &[u8]) -> bool {
        let before = if self.version == POSITIONAL { &frame[8..] } else { &frame[..14] };
        checksum(&[before, records]) == self.sum
    }
}

fn int(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    digest.finalize() as u32
}
