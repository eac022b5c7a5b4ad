use super::block::{BLOCK_LEN, SEAL_LEN, body_range, cover, seal};
use bytes::Bytes;
use ripstop_model::StripeId;
use std::ops::Range;

/// Whole blocks of one strip whose checksums hold, or that were computed from such.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Columns of the strip that are here; begins at a block.
    columns: Range<u32>,
    /// One piece per block, without checksums.
    blocks: Vec<Bytes>,
}

impl Chunk {
    /// Checks the blocks that cover `columns` of a strip of `strip_len` bytes; `None` if a checksum
    /// does not hold or `bytes` is not as long as these blocks are.
    pub(crate) fn verify(
        stripe: StripeId,
        strip: u8,
        strip_len: u32,
        columns: &Range<u32>,
        bytes: &Bytes,
    ) -> Option<Self> {
        let covered = cover(columns, strip_len);
        let expected = body_range(columns, strip_len);
        if bytes.len() as u64 != u64::from(expected.end - expected.start) {
            return None;
        }
        let mut blocks = Vec::with_capacity(bytes.len().div_ceil((BLOCK_LEN + SEAL_LEN) as usize));
        let mut at = 0;
        let first = covered.start / BLOCK_LEN;
        for number in first..covered.end.div_ceil(BLOCK_LEN) {
            let len = (covered.end - number * BLOCK_LEN).min(BLOCK_LEN) as usize;
            let block = bytes.slice(at..at + len);
            let found = &bytes[at + len..at + len + SEAL_LEN as usize];
            if seal(stripe, strip, number, &block) != *found {
                return None;
            }
            at += len + SEAL_LEN as usize;
            blocks.push(block);
        }
        Some(Self { columns: covered, blocks })
    }

    /// A strip's columns from `start` on that were computed, not read.
    pub(crate) fn computed(start: u32, bytes: Vec<u8>) -> Self {
        let bytes = Bytes::from(bytes);
        let len = bytes.len();
        let step = BLOCK_LEN as usize;
        let blocks = (0..len).step_by(step).map(|at| bytes.slice(at..len.min(at + step))).collect();
        Self { columns: start..start + len as u32, blocks }
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> &[Bytes] {
        &self.blocks
    }

    /// Columns that are here.
    pub(crate) fn columns(&self) -> Range<u32> {
        self.columns.clone()
    }

    /// The strip as it stands in a fragment's body: each block with its checksum. All must be here.
    pub(crate) fn sealed(&self, stripe: StripeId, strip: u8) -> Bytes {
        let len: usize = self.blocks.iter().map(|block| block.len() + SEAL_LEN as usize).sum();
        let mut body = Vec::with_capacity(len);
        for (number, block) in self.blocks.iter().enumerate() {
            body.extend_from_slice(block);
            body.extend_from_slice(&seal(stripe, strip, number as u32, block));
        }
        body.into()
    }

    /// Appends the bytes of `columns`, all of which must be here, to `pieces` without copying.
    pub(crate) fn slice_into(&self, columns: &Range<u32>, pieces: &mut Vec<Bytes>) {
        debug_assert!(self.columns.start <= columns.start && columns.end <= self.columns.end);
        let mut start = self.columns.start;
        for block in &self.blocks {
            let end = start + block.len() as u32;
            let (from, to) = (columns.start.max(start), columns.end.min(end));
            if from < to {
                pieces.push(block.slice((from - start) as usize..(to - start) as usize));
            }
            start = end;
        }
    }
}
