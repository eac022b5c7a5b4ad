//! Keyed seals of fragments: they show what somebody without the store's key has changed.
//!
//! A checksum finds accidents; an attacker who changes bytes can mend it. A [`Sealer`] makes seals
//! that need the store's key: eight bytes for each block, over its [`Address`], its number and its
//! bytes, and sixteen for a header. They take the place of CRC-64 and one pass over the bytes, at
//! about its speed where bytes come from memory. A [`Cipher`] encrypts a block so that it needs no
//! other seal. Both are AES-256-GCM-SIV (RFC 8452) with keys derived from one [`StoreKey`]; a seal
//! is the tag of what would be encrypted, the block's cut to eight bytes. No random number or
//! counter has to be kept: seals of equal things are equal. The arithmetic is done by a [`Kernel`],
//! chosen at run time.
//!
//! It deliberately does not keep keys in files, find out that an older thing was put back where
//! names are used twice, or tell which holder of the key made a seal.
//!
//! ```
//! use ripstop_seal::{Address, Sealer, StoreKey};
//!
//! let key = StoreKey::from_text(&StoreKey::generate().to_text())?;
//! let sealer = Sealer::new(&key);
//! let address = Address::new(*b"store, stripe, strip: unique");
//! let seal = sealer.block(&address, 0, ["bytes ", "of a block"]);
//! assert!(sealer.block_holds(&address, 0, ["bytes of a block"], &seal));
//! assert!(!sealer.block_holds(&address, 1, ["bytes of a block"], &seal));
//! # Ok::<(), ripstop_seal::KeyError>(())
//! ```

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
