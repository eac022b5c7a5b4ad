//! Keyed seals of fragments: what was changed by somebody without the store's key is found out.

mod address;
mod aes256;
mod cipher;
mod field;
mod hash;
mod kernel;
mod key;
mod powers;
mod sealer;
mod siv;

pub use address::{ADDRESS_LEN, Address};
pub use cipher::{CIPHER_TAG_LEN, Cipher, Forged};
pub use kernel::Kernel;
pub use key::{KeyError, KeyId, StoreKey};
pub use sealer::{BLOCK_SEAL_LEN, BlockSeal, HEADER_SEAL_LEN, Sealer};
