//! What is recorded of an object that is encrypted before it comes to a store, and how long its
//! bytes are then.

use crate::Unknown;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of an object that are encrypted together, except at an end.
pub const CIPHER_BLOCK_LEN: u64 = 64 << 10;
/// Bytes that each block is longer by as it is stored.
pub const CIPHER_BLOCK_TAG_LEN: u64 = 16;
/// Bytes of a salt.
pub const SALT_LEN: usize = 8;

/// Bytes of a block with its tag.
const STORED_BLOCK_LEN: u64 = CIPHER_BLOCK_LEN + CIPHER_BLOCK_TAG_LEN;

/// Tells apart what is encrypted with one data key: random, of each stream another one.
pub type Salt = [u8; SALT_LEN];

/// Who has the key that a data key is wrapped with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EncryptionMethod {
    /// The client, with each request.
    #[default]
    Customer,
    /// The gateway, one for all objects.
    Managed,
    /// The gateway or a service, by names that clients give.
    Named,
}

/// How an object's bytes are encrypted. A store does not look into it, but for lengths: nothing here
/// is secret.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Encryption {
    /// Who has the key of its data key.
    pub method: EncryptionMethod,
    /// Which key wraps the data key: the id of one of the gateway's, or the name of a named one.
    /// Nothing where the client has it.
    pub key: String,
    /// The data key, wrapped.
    pub wrapped: Vec<u8>,
    /// What the client bound a named key's use to, as it said it; else nothing.
    pub context: String,
    /// Whether the client was told that a key of its bucket stands between.
    pub bucket_key: bool,
    /// The salt of each stream that is encrypted by itself, in order: of the whole, or one of each
    /// part.
    pub salts: Vec<Salt>,
    /// What a newer program wrote of it.
    pub unknown: Unknown,
}

/// How long a stream of this many bytes is once it is encrypted.
pub const fn encrypted_len(len: u64) -> u64 {
    len.saturating_add(len.div_ceil(CIPHER_BLOCK_LEN).saturating_mul(CIPHER_BLOCK_TAG_LEN))
}

/// How long a stream was before it was encrypted that is this long now.
pub const fn decrypted_len(len: u64) -> u64 {
    let rest = len % STORED_BLOCK_LEN;
    len / STORED_BLOCK_LEN * CIPHER_BLOCK_LEN + rest.saturating_sub(CIPHER_BLOCK_TAG_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_block_has_a_tag_and_nothing_has_none() {
        for (len, stored) in [
            (0, 0),
            (1, 17),
            (65_536, 65_552),
            (65_537, 65_569),
            (131_072, 131_104),
            (5 << 40, (5 << 40) + (5 << 40) / 65_536 * 16),
        ] {
            assert_eq!(encrypted_len(len), stored);
            assert_eq!(decrypted_len(stored), len);
        }
        assert_eq!(encrypted_len(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn lengths_go_both_ways(len in 0..1_u64 << 50) {
            prop_assert_eq!(decrypted_len(encrypted_len(len)), len);
        }
    }
}
