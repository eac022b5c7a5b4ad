use crate::{
    hash::{Hash, HashKey},
    kernel::Kernel,
    powers::{BLOCK_LEN, Block},
};
use aes::{
    Aes256Enc,
    cipher::{Array, BlockCipherEncrypt as _, KeyInit as _},
};
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of the key that others are derived from.
pub(crate) const KEY_LEN: usize = 32;

/// Bytes of a nonce.
pub(crate) const NONCE_LEN: usize = 12;

/// Blocks of the key stream that are made at a time: as many as the widest implementation of AES takes.
const STREAM: usize = 64;

/// AES-256-GCM-SIV (RFC 8452) with one key and one nonce, tag and encryption apart. Its tag is a pseudorandom function
/// of context and bytes, also where all have one nonce: the nonce says here what the tag is for.
pub(crate) struct Siv {
    hash: HashKey,
    cipher: Aes256Enc,
    nonce: [u8; NONCE_LEN],
}

impl Siv {
    /// The keys are those that section 4 derives.
    pub(crate) fn new(key: &[u8; KEY_LEN], nonce: [u8; NONCE_LEN], kernel: Kernel) -> Self {
        let root = Aes256Enc::new(key.into());
        // Of each encrypted counter the first half is taken: two for the hash, four for the cipher.
        let mut keys = Zeroizing::new([0; 6 * BLOCK_LEN / 2]);
        for (counter, half) in (0_u32..).zip(keys.as_chunks_mut::<{ BLOCK_LEN / 2 }>().0) {
            let mut block = Zeroizing::new(Block::default());
            block[..4].copy_from_slice(&counter.to_le_bytes());
            block[4..].copy_from_slice(&nonce);
            root.encrypt_block((&mut *block).into());
            half.copy_from_slice(&block[..BLOCK_LEN / 2]);
        }
        let (hash, cipher) = keys.split_first_chunk().expect("longer than a block");
        let cipher = Aes256Enc::new_from_slice(cipher).expect("four halves are a key");
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
        self.cipher.encrypt_block((&mut *block).into());
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
        let mut counter = u32::from_le_bytes(*tag.first_chunk().expect("longer than a counter"));
        let mut start = *tag;
        start[BLOCK_LEN - 1] |= 0x80;
        let mut stream = Zeroizing::new([Block::default(); STREAM]);
        for bytes in bytes.chunks_mut(STREAM * BLOCK_LEN) {
            let blocks = &mut stream[..bytes.len().div_ceil(BLOCK_LEN)];
            for block in &mut *blocks {
                *block = start;
                block[..4].copy_from_slice(&counter.to_le_bytes());
                counter = counter.wrapping_add(1);
            }
            self.cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
            bytes.iter_mut().zip(blocks.as_flattened()).for_each(|(byte, key)| *byte ^= key);
        }
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Siv")
    }
}
