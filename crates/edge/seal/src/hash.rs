use crate::{
    kernel::Kernel,
    powers::{BLOCK_LEN, Block, Powers},
};
use zeroize::Zeroizing;

/// A key of POLYVAL.
#[derive(Debug)]
pub(crate) struct HashKey {
    kernel: Kernel,
    powers: Powers,
}

/// POLYVAL as AES-GCM-SIV takes it (RFC 8452, section 4), fed piece by piece: a context and bytes,
/// each padded with zeros to whole blocks, then the lengths of both in bits.
pub(crate) struct Hash {
    state: Zeroizing<Block>,
    context_len: u64,
    /// Bytes fed so far.
    len: u64,
    /// The block under way, zeros behind what is there of it.
    open: Zeroizing<Block>,
}

impl HashKey {
    pub(crate) fn new(key: &Block, kernel: Kernel) -> Self {
        Self { kernel, powers: Powers::new(key) }
    }

    fn absorb(&self, state: &mut Block, bytes: &[u8]) {
        self.kernel.absorb(&self.powers, state, bytes);
    }
}

impl Hash {
    /// Of no bytes yet.
    pub(crate) fn new(key: &HashKey, context: &[u8]) -> Self {
        let (blocks, rest) = context.split_at(context.len() / BLOCK_LEN * BLOCK_LEN);
        let (mut state, mut open) = (Block::default(), Block::default());
        key.absorb(&mut state, blocks);
        if !rest.is_empty() {
            open[..rest.len()].copy_from_slice(rest);
            key.absorb(&mut state, &open);
        }
        let context_len = context.len() as u64;
        Self { state: Zeroizing::new(state), context_len, len: 0, open: Zeroizing::default() }
    }

    /// Goes on over `bytes`. The key is the one that it was made with.
    pub(crate) fn update(&mut self, key: &HashKey, bytes: &[u8]) {
        let mut bytes = bytes;
        let filled = self.len as usize % BLOCK_LEN;
        self.len += bytes.len() as u64;
        if filled > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(BLOCK_LEN - filled));
            self.open[filled..filled + first.len()].copy_from_slice(first);
            if filled + first.len() < BLOCK_LEN {
                return;
            }
            key.absorb(&mut self.state, &*self.open);
            *self.open = Block::default();
            bytes = rest;
        }
        let (blocks, rest) = bytes.split_at(bytes.len() / BLOCK_LEN * BLOCK_LEN);
        key.absorb(&mut self.state, blocks);
        self.open[..rest.len()].copy_from_slice(rest);
    }

    /// The hash.
    pub(crate) fn finish(mut self, key: &HashKey) -> Zeroizing<Block> {
        if !self.len.is_multiple_of(BLOCK_LEN as u64) {
            key.absorb(&mut self.state, &*self.open);
        }
        let bits = [self.context_len, self.len].map(|bytes| (8 * bytes).to_le_bytes());
        key.absorb(&mut self.state, bits.as_flattened());
        self.state
    }
}
