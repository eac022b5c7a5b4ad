use super::block::{BLOCK_LEN, SEAL_LEN, seal};
use bytes::{BufMut, Bytes, BytesMut};
use ripstop_block::{Blocks, Buffer};
use ripstop_model::StripeId;

/// A strip as it stands in a fragment's body: blocks, and behind each its checksum.
#[derive(Clone, Default, Debug)]
pub(crate) struct Strip {
    /// In order, all but the last of [`BLOCK_LEN`] bytes.
    pub blocks: Vec<Bytes>,
    /// One behind the other.
    seals: Bytes,
}

/// A strip that is being filled.
#[derive(Debug)]
pub(crate) struct StripDraft {
    stripe: StripeId,
    number: u8,
    strip_len: u32,
    blocks: Vec<Bytes>,
    seals: BytesMut,
    /// The block under way.
    open: Option<Buffer>,
}

impl Strip {
    /// The strip `number` of a stripe, of blocks that are whole.
    pub(crate) fn sealed(stripe: StripeId, number: u8, blocks: &[Bytes]) -> Self {
        let mut seals = BytesMut::with_capacity(blocks.len() * SEAL_LEN as usize);
        for (at, block) in (0..).zip(blocks) {
            seals.put_slice(&seal(stripe, number, at, block));
        }
        Self { blocks: blocks.to_vec(), seals: seals.freeze() }
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Bytes::len).sum::<usize>() + self.seals.len()
    }

    /// What stands in the fragment, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Bytes> + '_ {
        let seal_len = SEAL_LEN as usize;
        let seals = (0..).map(move |at| self.seals.slice(at * seal_len..(at + 1) * seal_len));
        self.blocks.iter().cloned().zip(seals).flat_map(|(block, seal)| [block, seal])
    }
}

impl StripDraft {
    /// The strip `number` of a stripe, empty.
    pub(crate) fn new(stripe: StripeId, number: u8, strip_len: u32) -> Self {
        let count = strip_len.div_ceil(BLOCK_LEN) as usize;
        Self {
            stripe,
            number,
            strip_len,
            blocks: Vec::with_capacity(count),
            seals: BytesMut::with_capacity(count * SEAL_LEN as usize),
            open: None,
        }
    }

    /// Whether all blocks are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.blocks.len() == self.strip_len.div_ceil(BLOCK_LEN) as usize
    }

    /// Bytes of the block under way, or of the next.
    fn block_len(&self) -> usize {
        (self.strip_len - self.blocks.len() as u32 * BLOCK_LEN).min(BLOCK_LEN) as usize
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
        self.blocks.iter().map(|block| &block[..]).chain(open)
    }

    /// Adds the next block, which is whole.
    pub(crate) fn push(&mut self, block: Buffer) {
        let at = self.blocks.len() as u32;
        self.seals.put_slice(&seal(self.stripe, self.number, at, block.filled()));
        self.blocks.push(block.freeze());
    }

    /// The strip, whole.
    pub(crate) fn finish(self) -> Strip {
        debug_assert!(self.is_whole(), "a strip is finished when it is full");
        Strip { blocks: self.blocks, seals: self.seals.freeze() }
    }
}
