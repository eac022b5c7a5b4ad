use super::Guard;
use crate::Sealing;
use bytes::Bytes;
use ripstop_block::{Blocks, Buffer};
use ripstop_model::StripeShape;

/// A strip as it stands in a fragment's body: blocks, and behind each its seal.
#[derive(Clone, Default, Debug)]
pub(crate) struct Strip {
    /// In order, all but the last as long as the stripe's shape says.
    pub blocks: Vec<Bytes>,
    /// One behind the other.
    seals: Bytes,
    seal_len: usize,
}

/// A strip that is being filled.
#[derive(Debug)]
pub(crate) struct StripDraft {
    guard: Guard,
    number: u8,
    shape: StripeShape,
    /// In plain text: parity is computed of that.
    blocks: Vec<Buffer>,
    seals: Vec<u8>,
    /// The block under way.
    open: Option<Buffer>,
}

impl Strip {
    /// The strip `number` of a stripe, of blocks that are whole. What is encrypted goes into
    /// `into`.
    pub(crate) fn sealed(guard: &Guard, number: u8, blocks: &[Bytes], into: &Blocks) -> Self {
        let seal_len = guard.sealing().seal_len() as usize;
        let mut seals = Vec::with_capacity(blocks.len() * seal_len);
        let blocks = (0..).zip(blocks).map(|(at, block)| {
            guard.seal(number, at, block, &mut seals);
            if guard.sealing() != Sealing::Encrypted {
                return block.clone();
            }
            let mut closed = into.buffer(block.len());
            closed.extend_from_slice(block);
            guard.encrypt(number, at, closed.whole(), &mut seals);
            closed.freeze()
        });
        let blocks = blocks.collect();
        Self { blocks, seals: seals.into(), seal_len }
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Bytes::len).sum::<usize>() + self.seals.len()
    }

    /// What stands in the fragment, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Bytes> + '_ {
        let seal_len = self.seal_len;
        let seals = (0..).map(move |at| self.seals.slice(at * seal_len..(at + 1) * seal_len));
        self.blocks.iter().cloned().zip(seals).flat_map(|(block, seal)| [block, seal])
    }
}

impl StripDraft {
    /// The strip `number` of a stripe, empty.
    pub(crate) fn new(guard: Guard, number: u8, shape: StripeShape) -> Self {
        let count = shape.blocks() as usize;
        let seals = Vec::with_capacity(count * guard.sealing().seal_len() as usize);
        Self { guard, number, shape, blocks: Vec::with_capacity(count), seals, open: None }
    }

    /// Whether all blocks are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.blocks.len() == self.shape.blocks() as usize
    }

    /// Bytes of the block under way, or of the next.
    fn block_len(&self) -> usize {
        let block = self.shape.block_len();
        let start = block.start(self.blocks.len() as u32);
        (self.shape.strip_len() - start).min(block.bytes()) as usize
    }

    /// Takes from the front of `bytes` up to the end of the strip; answers the rest.
    pub(crate) fn append<'a>(&mut self, bytes: &'a [u8], blocks: &Blocks) -> &'a [u8] {
        let mut bytes = bytes;
        while !bytes.is_empty() && !self.is_whole() {
            let len = self.block_len();
            let mut open = self.open.take().unwrap_or_else(|| blocks.buffer(len));
            let (taken, rest) = bytes.split_at(open.room().min(bytes.len()));
            open.extend_from_slice(taken);
            bytes = rest;
            if open.room() == 0 {
                self.push(open);
            } else {
                self.open = Some(open);
            }
        }
        bytes
    }

    /// What is filled in, in order.
    pub(crate) fn filled(&self) -> impl Iterator<Item = &[u8]> {
        let open = self.open.as_ref().map(Buffer::filled);
        self.blocks.iter().map(Buffer::filled).chain(open)
    }

    /// The bytes of a block that is whole.
    pub(crate) fn block(&self, number: usize) -> &[u8] {
        self.blocks[number].filled()
    }

    /// Adds the next block, which is whole.
    pub(crate) fn push(&mut self, block: Buffer) {
        let at = self.blocks.len() as u32;
        self.guard.seal(self.number, at, block.filled(), &mut self.seals);
        self.blocks.push(block);
    }

    /// The strip, whole: encrypted, where it is to be.
    pub(crate) fn finish(self) -> Strip {
        debug_assert!(self.is_whole(), "a strip is finished when it is full");
        let Self { guard, number, blocks, mut seals, .. } = self;
        let blocks = (0..).zip(blocks).map(|(at, mut block)| {
            guard.encrypt(number, at, block.whole(), &mut seals);
            block.freeze()
        });
        let blocks = blocks.collect();
        let seal_len = guard.sealing().seal_len() as usize;
        Strip { blocks, seals: seals.into(), seal_len }
    }
}
