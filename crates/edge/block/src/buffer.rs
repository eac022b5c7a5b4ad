use crate::pool::Block;
use bytes::{Bytes, BytesMut};
use std::fmt;

/// Memory that is being filled from its front.
pub struct Buffer {
    memory: Memory,
    filled: usize,
    len_max: usize,
}

enum Memory {
    /// Zeros where nothing was filled in.
    Small(BytesMut),
    /// Whatever was there before where nothing was filled in.
    Block(Block),
}

impl Buffer {
    pub(crate) fn small(len_max: usize) -> Self {
        Self { memory: Memory::Small(BytesMut::zeroed(len_max)), filled: 0, len_max }
    }

    pub(crate) fn block(block: Block, len_max: usize) -> Self {
        Self { memory: Memory::Block(block), filled: 0, len_max }
    }

    /// Bytes that are filled in.
    pub const fn len(&self) -> usize {
        self.filled
    }

    /// Whether nothing is filled in.
    pub const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Bytes that still fit.
    pub const fn room(&self) -> usize {
        self.len_max - self.filled
    }

    /// Appends `bytes`.
    ///
    /// # Panics
    /// If they are more than there is room for.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        let filled = self.filled;
        self.whole()[filled..end].copy_from_slice(bytes);
        self.filled = end;
    }

    /// All of it, for a reader or a codec to fill; then say with [`Buffer::fill_to`] how much it
    /// was. What stands there before means nothing.
    pub fn whole(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Small(bytes) => &mut bytes[..self.len_max],
            Memory::Block(block) => &mut block.bytes[..self.len_max],
        }
    }

    /// The first `len` bytes are filled in now.
    ///
    /// # Panics
    /// If it is not for as many.
    pub fn fill_to(&mut self, len: usize) {
        assert!(len <= self.len_max, "{len} bytes in a buffer for {}", self.len_max);
        self.filled = len;
    }

    /// What is filled in.
    pub fn filled(&self) -> &[u8] {
        match &self.memory {
            Memory::Small(bytes) => &bytes[..self.filled],
            Memory::Block(block) => &block.bytes[..self.filled],
        }
    }

    /// What was filled in, to be shared; its block returns to the pool when the last slice of it is
    /// dropped.
    pub fn freeze(self) -> Bytes {
        let Self { memory, filled, .. } = self;
        match memory {
            Memory::Small(mut bytes) => {
                bytes.truncate(filled);
                bytes.freeze()
            }
            Memory::Block(block) => Bytes::from_owner(Filled { block, len: filled }),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("filled", &self.filled)
            .field("len_max", &self.len_max)
            .finish_non_exhaustive()
    }
}

struct Filled {
    block: Block,
    len: usize,
}

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        &self.block.bytes[..self.len]
    }
}
