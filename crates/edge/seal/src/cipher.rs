use crate::{
    address::Address,
    kernel::Kernel,
    key::{KeyId, StoreKey},
    powers::BLOCK_LEN,
    siv::Siv,
};
use std::{fmt, sync::Arc};
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use zeroize::Zeroize as _;

/// Bytes that stand with an encrypted block instead of its seal.
pub const CIPHER_TAG_LEN: usize = BLOCK_LEN;

/// What an encrypted block's tag is for.
const BLOCK: [u8; 12] = *b"block\0\0\0\0\0\0\0";

/// Encrypts blocks so that they need no other seal: AES-256-GCM-SIV (RFC 8452). No nonce has to
/// differ: the key stream is chosen by the tag, a function of the block's place and bytes. If a
/// place is written twice, nobody learns more than whether the bytes are the same.
#[derive(Clone)]
pub struct Cipher(Arc<Keys>);

struct Keys {
    id: KeyId,
    blocks: Siv,
}

/// A block is not what was encrypted, or not at this place, or not with this key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("block {number} of {address:?} is not what was encrypted with key {key}")]
pub struct Forged {
    /// What it should have been a block of.
    pub address: Address,
    /// Which block it should have been.
    pub number: u32,
    /// The key it was tried with.
    pub key: KeyId,
}

impl Cipher {
    /// Encrypts with a store's key, as fast as this processor can.
    pub fn new(key: &StoreKey) -> Self {
        Self::with_kernel(key, Kernel::best())
    }

    /// Encrypts with a store's key and the kernel that is asked for: the bytes are the same.
    pub fn with_kernel(key: &StoreKey, kernel: Kernel) -> Self {
        let blocks = Siv::new(&key.derive("ripstop encryption 1"), BLOCK, kernel);
        Self(Arc::new(Keys { id: key.id(), blocks }))
    }

    /// Encrypts block `number` of what is at `address` in place; answers its tag.
    #[must_use]
    pub fn encrypt(
        &self,
        address: &Address,
        number: u32,
        bytes: &mut [u8],
    ) -> [u8; CIPHER_TAG_LEN] {
        let tag = self.0.blocks.tag(&address.of_block(number), [&*bytes]);
        self.0.blocks.mix(&tag, bytes);
        tag
    }

    /// Decrypts what [`Cipher::encrypt`] made, in place. If that is not what it is, `bytes` are all
    /// zero afterwards.
    pub fn decrypt(
        &self,
        address: &Address,
        number: u32,
        bytes: &mut [u8],
        tag: &[u8; CIPHER_TAG_LEN],
    ) -> Result<(), Forged> {
        self.0.blocks.mix(tag, bytes);
        let found = self.0.blocks.tag(&address.of_block(number), [&*bytes]);
        if bool::from(found.ct_eq(tag)) {
            return Ok(());
        }
        bytes.zeroize();
        Err(Forged { address: *address, number, key: self.0.id })
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({})", self.0.id)
    }
}
