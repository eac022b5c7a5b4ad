//! Which blocks a read wants, and what was found of them.

use crate::{
    BlockKey, HOT_BLOCKS_MAX, HotBlocks, HotFound, Sealing, StripePlace,
    fragment::{Chunk, Guard, cover},
    job::Part,
    span::columns,
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::{StripSet, StripeShape};
use std::ops::Range;

/// The blocks that a read wants, strip by strip.
#[derive(Debug)]
pub(crate) struct Lookup {
    shape: StripeShape,
    guard: Guard,
    /// Each strip, in order, and the columns of its blocks.
    strips: Vec<(u8, Range<u32>)>,
    pub(crate) keys: Vec<BlockKey>,
}

/// What was found of a lookup.
#[derive(Debug)]
pub(crate) struct Sifted {
    /// For each strip of the lookup, its chunk if all of its blocks were there.
    pub(crate) chunks: Vec<Option<Chunk>>,
    /// For each of its blocks, whether it is worth keeping.
    wanted: Vec<bool>,
}

impl Lookup {
    /// The blocks of the `wanted` strips of a part; `None` if they cannot be verified, or are more
    /// than may be asked for.
    pub(crate) fn new(
        place: &StripePlace,
        guard: Guard,
        part: &Part,
        wanted: &StripSet,
    ) -> Option<Self> {
        if guard.sealing() == Sealing::Unverified {
            return None;
        }
        let shape = place.shape;
        let touched: Vec<_> = match part {
            Part::Columns { columns, .. } => {
                wanted.iter().map(|strip| (strip, columns.clone())).collect()
            }
            Part::Bytes(range) => columns(shape, range).collect(),
        };
        let covered = |(strip, columns)| (strip as u8, cover(&columns, shape));
        let strips: Vec<_> = touched.into_iter().map(covered).collect();
        let count = |(_, columns): &(u8, Range<u32>)| numbers(shape, columns).len();
        let blocks: usize = strips.iter().map(count).sum();
        if blocks == 0 || blocks > HOT_BLOCKS_MAX {
            return None;
        }
        let keys = strips.iter().flat_map(|(strip, columns)| {
            let key = |block| BlockKey { stripe: place.id, strip: *strip, block };
            numbers(shape, columns).map(key)
        });
        let keys = keys.collect();
        Some(Self { shape, guard, strips, keys })
    }

    /// The strips, in order.
    pub(crate) fn strips(&self) -> impl Iterator<Item = u8> + '_ {
        self.strips.iter().map(|(strip, _)| *strip)
    }

    /// Verifies what was found. What is encrypted is opened into `into`.
    pub(crate) fn sift(&self, found: Vec<HotFound>, hot: &dyn HotBlocks, into: &Blocks) -> Sifted {
        let mut found = found.into_iter();
        let mut keys = self.keys.iter();
        let mut wanted = Vec::with_capacity(self.keys.len());
        let chunks = self.strips.iter().map(|(_, columns)| {
            let count = numbers(self.shape, columns).len();
            let mut blocks = Vec::with_capacity(count);
            for key in keys.by_ref().take(count) {
                let found = found.next().unwrap_or(HotFound::Unwanted);
                wanted.push(found == HotFound::Wanted);
                let HotFound::Kept(kept) = found else { continue };
                match self.open(*key, kept, into) {
                    Some(block) => blocks.push(block),
                    None => hot.spoiled(*key),
                }
            }
            (blocks.len() == count).then(|| Chunk::computed(columns.start, blocks))
        });
        let chunks = chunks.collect();
        Sifted { chunks, wanted }
    }

    /// A block that is what it should be.
    fn open(&self, key: BlockKey, mut kept: Bytes, into: &Blocks) -> Option<Bytes> {
        let len = self.block_len(key.block);
        let seal_len = self.guard.sealing().seal_len() as usize;
        if kept.len() != len + seal_len {
            return None;
        }
        let seal = kept.split_off(len);
        self.guard.open(key.strip, key.block, kept, &seal, into)
    }

    fn block_len(&self, number: u32) -> usize {
        let block = self.shape.block_len();
        (self.shape.strip_len() - block.start(number)).min(block.bytes()) as usize
    }

    /// Gives what is worth it of some strips' chunks, which nodes had, to be kept.
    pub(crate) fn offer(&self, sifted: &Sifted, chunks: &[(u8, Chunk)], hot: &dyn HotBlocks) {
        let seal_len = self.guard.sealing().seal_len() as usize;
        let mut worth = self.keys.iter().zip(&sifted.wanted);
        for (strip, columns) in &self.strips {
            let worth = worth.by_ref().take(numbers(self.shape, columns).len());
            let chunk = chunks.iter().find(|(at, _)| at == strip).map(|(_, chunk)| chunk);
            let Some(chunk) = chunk.filter(|chunk| chunk.columns() == *columns) else {
                worth.for_each(drop);
                continue;
            };
            for ((key, &is_wanted), block) in worth.zip(chunk.blocks()) {
                if is_wanted {
                    let mut close = || self.guard.close(key.strip, key.block, block);
                    hot.keep(*key, block.len() + seal_len, &mut close);
                }
            }
        }
    }
}

impl Sifted {
    /// Whether nothing is missing.
    pub(crate) fn is_whole(&self) -> bool {
        self.chunks.iter().all(Option::is_some)
    }

    /// Whether something is worth keeping.
    pub(crate) fn wants_some(&self) -> bool {
        self.wanted.contains(&true)
    }

    /// Bytes that were found, of whole strips.
    pub(crate) fn bytes(&self) -> u64 {
        let len = |chunk: &Chunk| chunk.columns().len() as u64;
        self.chunks.iter().flatten().map(len).sum()
    }
}

/// The numbers of the blocks that make up `columns`, which are of whole blocks.
fn numbers(shape: StripeShape, columns: &Range<u32>) -> Range<u32> {
    let block = shape.block_len();
    block.of(columns.start)..block.count(columns.end)
}
