use super::{
    Strip,
    block::{BLOCK_LEN, body_range, cover, piece_lens, seal},
};
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
    /// Checks the blocks that cover `columns` of a strip of `strip_len` bytes, taken from the front of
    /// `pieces`: each block, then its checksum. `None` if one does not hold or is not as long as it was
    /// written.
    pub(crate) fn verify(
        stripe: StripeId,
        strip: u8,
        strip_len: u32,
        columns: &Range<u32>,
        pieces: &mut impl Iterator<Item = Bytes>,
    ) -> Option<Self> {
        let covered = cover(columns, strip_len);
        let first = covered.start / BLOCK_LEN;
        let numbers = first..covered.end.div_ceil(BLOCK_LEN);
        let mut blocks = Vec::with_capacity(numbers.len());
        for number in numbers {
            let len = (covered.end - number * BLOCK_LEN).min(BLOCK_LEN) as usize;
            let (block, found) = (pieces.next()?, pieces.next()?);
            if block.len() != len || seal(stripe, strip, number, &block) != *found {
                return None;
            }
            blocks.push(block);
        }
        Some(Self { columns: covered, blocks })
    }

    /// The same of bytes that stand one behind the other; they must be all of them.
    pub(crate) fn verify_whole(
        stripe: StripeId,
        strip: u8,
        strip_len: u32,
        bytes: &Bytes,
    ) -> Option<Self> {
        let columns = 0..strip_len;
        if bytes.len() != body_range(&columns, strip_len).len() {
            return None;
        }
        let mut rest = bytes.clone();
        let mut pieces =
            piece_lens(&columns, strip_len).map(|len| rest.split_to(rest.len().min(len as usize)));
        Self::verify(stripe, strip, strip_len, &columns, &mut pieces)
    }

    /// A strip's columns from `start` on, a block's first, that were computed, not read.
    pub(crate) fn computed(start: u32, blocks: Vec<Bytes>) -> Self {
        let len: usize = blocks.iter().map(Bytes::len).sum();
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

    /// The strip as it stands in a fragment's body. All of it must be here.
    pub(crate) fn sealed(&self, stripe: StripeId, strip: u8) -> Strip {
        Strip::sealed(stripe, strip, &self.blocks)
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
