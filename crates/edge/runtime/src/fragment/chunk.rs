use super::{
    Guard, Strip,
    block::{body_range, cover, piece_lens},
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::StripeShape;
use std::ops::Range;

/// Whole blocks of one strip, in plain text, whose seals hold, or that were computed from such.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Columns of the strip that are here; begins at a block.
    columns: Range<u32>,
    /// One piece per block, without seals.
    blocks: Vec<Bytes>,
}

impl Chunk {
    /// Checks the blocks that cover `columns` of a strip of this shape, taken from the front of
    /// `pieces`: each block, then its seal. `None` if one does not hold or is not as long as it
    /// was written. What is decrypted goes into `into`.
    pub(crate) fn verify(
        guard: &Guard,
        strip: u8,
        shape: StripeShape,
        columns: &Range<u32>,
        pieces: &mut impl Iterator<Item = Bytes>,
        into: &Blocks,
    ) -> Option<Self> {
        let (covered, block) = (cover(columns, shape), shape.block_len());
        let numbers = block.of(covered.start)..block.count(covered.end);
        let mut blocks = Vec::with_capacity(numbers.len());
        for number in numbers {
            let len = (covered.end - block.start(number)).min(block.bytes()) as usize;
            let (block, found) = (pieces.next()?, pieces.next()?);
            if block.len() != len {
                return None;
            }
            blocks.push(guard.open(strip, number, block, &found, into)?);
        }
        Some(Self { columns: covered, blocks })
    }

    /// The same of bytes that stand one behind the other; they must be all of them.
    pub(crate) fn verify_whole(
        guard: &Guard,
        strip: u8,
        shape: StripeShape,
        bytes: &Bytes,
        into: &Blocks,
    ) -> Option<Self> {
        let columns = 0..shape.strip_len();
        if bytes.len() != body_range(&columns, shape, guard.sealing()).len() {
            return None;
        }
        Self::verify(guard, strip, shape, &columns, &mut pieces(guard, bytes, shape), into)
    }

    /// Whether a strip that should be sealed with a key has a block with a checksum that holds:
    /// somebody changed it who has no key.
    pub(crate) fn is_forged(guard: &Guard, strip: u8, shape: StripeShape, bytes: &Bytes) -> bool {
        let mut pieces = pieces(guard, bytes, shape);
        (0..shape.blocks()).any(|number| match (pieces.next(), pieces.next()) {
            (Some(block), Some(seal)) => guard.is_downgraded(strip, number, &block, &seal),
            _ => false,
        })
    }

    /// A strip's columns from `start` on, a block's first, in blocks that were computed or verified
    /// before.
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
    pub(crate) fn sealed(&self, guard: &Guard, strip: u8, into: &Blocks) -> Strip {
        Strip::sealed(guard, strip, &self.blocks, into)
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

/// Blocks of a strip and their seals by turns, of bytes that stand one behind the other.
fn pieces(guard: &Guard, bytes: &Bytes, shape: StripeShape) -> impl Iterator<Item = Bytes> + use<> {
    let mut rest = bytes.clone();
    let lens = piece_lens(&(0..shape.strip_len()), shape, guard.sealing());
    lens.map(move |len| rest.split_to(rest.len().min(len as usize)))
}
