use hmac::{Hmac, KeyInit as _, Mac as _};
use ripstop_object::Salt;
use ripstop_seal::{Address, CIPHER_TAG_LEN, Cipher, StoreKey};
use sha2::Sha256;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Bytes of a data key.
pub(crate) const DATA_KEY_LEN: usize = 32;
/// What addresses of blocks begin with; a salt follows.
const BLOCKS: &[u8; 20] = b"ripstop object block";
/// What makes entity tags of digests.
const TAGS: &[u8] = b"ripstop entity tag 1";

/// Encrypts what one object has. Wiped from memory as it is dropped; never printed.
#[derive(Clone)]
pub struct DataKey(pub(crate) Zeroizing<[u8; DATA_KEY_LEN]>);

/// A block is not what was encrypted, or not at this place, or not with this key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("block {number} of an encrypted stream is not what was encrypted there")]
pub struct Altered {
    /// Which block it should have been.
    pub number: u32,
}

impl DataKey {
    /// A new one, from the system's randomness.
    pub fn generate() -> Self {
        let mut key = Zeroizing::new([0; DATA_KEY_LEN]);
        ripstop_host::fill(&mut *key);
        Self(key)
    }

    /// What encrypts the stream with this salt, which no other stream under this key has.
    pub fn stream(&self, salt: &Salt) -> StreamCipher {
        let mut address = [0; BLOCKS.len() + size_of::<Salt>()];
        let (kind, of) = address.split_at_mut(BLOCKS.len());
        kind.copy_from_slice(BLOCKS);
        of.copy_from_slice(salt);
        let cipher = Cipher::new(&StoreKey::from_bytes(*self.0));
        StreamCipher { cipher, address: Address::new(address) }
    }

    /// An entity tag that tells nothing of the bytes to whoever has not the key, and differs where
    /// their MD5 does.
    pub fn entity_tag(&self, md5: &[u8; 16]) -> [u8; 16] {
        let mac = Hmac::<Sha256>::new_from_slice(&*self.0);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(TAGS);
        mac.update(md5);
        *mac.finalize().into_bytes().first_chunk().expect("shorter than what is derived")
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataKey").finish_non_exhaustive()
    }
}

/// A salt that no other stream has.
pub(crate) fn new_salt() -> Salt {
    let mut salt = Salt::default();
    ripstop_host::fill(&mut salt);
    salt
}

/// Encrypts the blocks of one stream.
#[derive(Clone, Debug)]
pub struct StreamCipher {
    cipher: Cipher,
    address: Address,
}

impl StreamCipher {
    /// The salt of a new stream.
    pub fn salt() -> Salt {
        new_salt()
    }

    /// Encrypts a block where it is, and puts its tag behind it.
    pub fn encrypt(&self, number: u32, block: &mut Vec<u8>) {
        let tag = self.cipher.encrypt(&self.address, number, block);
        block.extend_from_slice(&tag);
    }

    /// Decrypts a block where it is, with its tag behind it; answers how many bytes it has without.
    /// If it is not what was encrypted, nothing of it is left.
    pub fn decrypt(&self, number: u32, block: &mut [u8]) -> Result<usize, Altered> {
        let altered = Altered { number };
        let len = block.len().checked_sub(CIPHER_TAG_LEN).ok_or(altered)?;
        let (bytes, tag) = block.split_at_mut(len);
        let tag = tag.first_chunk().expect("as long as a tag");
        self.cipher.decrypt(&self.address, number, bytes, tag).map_err(|_| altered)?;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_is_of_its_key_its_stream_and_its_place() {
        let (key, other) = (DataKey::generate(), DataKey::generate());
        let mut block = b"some bytes".to_vec();
        key.stream(&[1; 8]).encrypt(3, &mut block);
        assert_eq!(block.len(), 10 + CIPHER_TAG_LEN);
        for (key, salt, number) in [(&other, 1, 3), (&key, 2, 3), (&key, 1, 4)] {
            let mut copy = block.clone();
            let found = key.stream(&[salt; 8]).decrypt(number, &mut copy);
            assert_eq!(found, Err(Altered { number }));
        }
        assert_eq!(key.stream(&[1; 8]).decrypt(3, &mut block), Ok(10));
        assert_eq!(&block[..10], b"some bytes");
        assert!(key.stream(&[1; 8]).decrypt(0, &mut [0; CIPHER_TAG_LEN - 1]).is_err());
    }

    #[test]
    fn a_key_is_never_printed() {
        let key = DataKey(Zeroizing::new([0xab; DATA_KEY_LEN]));
        let shown = format!("{key:?} {:?}", key.stream(&[0; 8]));
        assert!(!shown.contains("171") && !shown.contains("abab"), "{shown}");
    }

    #[test]
    fn entity_tags_depend_on_key_and_bytes() {
        let (key, other) = (DataKey::generate(), DataKey::generate());
        assert_eq!(key.entity_tag(&[1; 16]), key.entity_tag(&[1; 16]));
        assert_ne!(key.entity_tag(&[1; 16]), key.entity_tag(&[2; 16]));
        assert_ne!(key.entity_tag(&[1; 16]), other.entity_tag(&[1; 16]));
    }

    proptest! {
        #[test]
        fn every_flipped_bit_is_found(
            bytes in prop::collection::vec(any::<u8>(), 1..200), bit: prop::sample::Index,
        ) {
            let stream = DataKey::generate().stream(&[9; 8]);
            let mut block = bytes;
            stream.encrypt(0, &mut block);
            let bit = bit.index(8 * block.len());
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(stream.decrypt(0, &mut block).is_err());
        }
    }
}
