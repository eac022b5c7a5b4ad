#[cfg(test)]
mod tests;

use crate::{
    aes256::{Aes256, KEY_LEN},
    hash::{Hash, HashKey},
    kernel::Kernel,
    powers::{BLOCK_LEN, Block},
};
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of a nonce.
pub(crate) const NONCE_LEN: usize = 12;

/// AES-256-GCM-SIV (RFC 8452) with one key and one nonce, tag and encryption apart. Its tag is a
/// pseudorandom function of context and bytes, also where all have one nonce: the nonce says here
/// what the tag is for.
pub(crate) struct Siv {
    hash: HashKey,
    cipher: Aes256,
    nonce: [u8; NONCE_LEN],
}

impl Siv {
    /// The keys are those that section 4 derives.
    pub(crate) fn new(key: &[u8; KEY_LEN], nonce: [u8; NONCE_LEN], kernel: Kernel) -> Self {
        let root = Aes256::new(key, kernel);
        // Of each encrypted counter the first half is taken: two for the hash, four for the cipher.
        let mut keys = Zeroizing::new([0; 6 * BLOCK_LEN / 2]);
        for (counter, half) in (0_u32..).zip(keys.as_chunks_mut::<{ BLOCK_LEN / 2 }>().0) {
            let mut block = Zeroizing::new(Block::default());
            block[..4].copy_from_slice(&counter.to_le_bytes());
            block[4..].copy_from_slice(&nonce);
            root.encrypt(&mut block);
            half.copy_from_slice(&block[..BLOCK_LEN / 2]);
        }
        let (hash, cipher) = keys.split_first_chunk().expect("longer than a block");
        let cipher = Aes256::new(cipher.try_into().expect("four halves are a key"), kernel);
        Self { hash: HashKey::new(hash, kernel), cipher, nonce }
    }

    /// A tag's hash, of no bytes yet.
    pub(crate) fn begin(&self, context: &[u8]) -> Hash {
        Hash::new(&self.hash, context)
    }

    /// Goes on with a hash that was begun here.
    pub(crate) fn update(&self, hash: &mut Hash, bytes: &[u8]) {
        hash.update(&self.hash, bytes);
    }

    /// The tag of what was hashed.
    pub(crate) fn finish(&self, hash: Hash) -> Block {
        let mut block = hash.finish(&self.hash);
        block.iter_mut().zip(self.nonce).for_each(|(byte, nonce)| *byte ^= nonce);
        // Tells what becomes a tag from what becomes a key stream.
        block[BLOCK_LEN - 1] &= 0x7f;
        self.cipher.encrypt(&mut block);
        *block
    }

    /// The tag of a context with pieces that are read as one.
    pub(crate) fn tag<P: AsRef<[u8]>>(
        &self,
        context: &[u8],
        pieces: impl IntoIterator<Item = P>,
    ) -> Block {
        let mut hash = self.begin(context);
        for piece in pieces {
            self.update(&mut hash, piece.as_ref());
        }
        self.finish(hash)
    }

    /// Encrypts or decrypts `bytes` in place with the key stream that belongs to a tag.
    pub(crate) fn mix(&self, tag: &Block, bytes: &mut [u8]) {
        let mut start = *tag;
        start[BLOCK_LEN - 1] |= 0x80;
        self.cipher.add_stream(&start, bytes);
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Siv")
    }
}
