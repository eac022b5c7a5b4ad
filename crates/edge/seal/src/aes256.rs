#[cfg(target_arch = "x86_64")]
use crate::kernel::RoundKeys;
use crate::{
    kernel::Kernel,
    powers::{BLOCK_LEN, Block},
};
use aes::{
    Aes256Enc,
    cipher::{Array, BlockCipherEncrypt as _, KeyInit as _},
};
use zeroize::Zeroizing;

/// Bytes of a key.
pub(crate) const KEY_LEN: usize = 32;

/// Blocks of the key stream that the library makes at a time.
const STREAM: usize = 64;

/// AES with a key of 256 bits, forwards: with the instructions of a kernel that has some, else by
/// the crate `aes`.
///
/// That crate has as wide instructions, and prepares for them with each call: alone in a call a
/// block takes three times as long as here, a key stream four times.
pub(crate) enum Aes256 {
    Library(Aes256Enc),
    #[cfg(target_arch = "x86_64")]
    Native(Kernel, RoundKeys),
}

impl Aes256 {
    pub(crate) fn new(key: &[u8; KEY_LEN], kernel: Kernel) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(keys) = kernel.round_keys(key) {
            return Self::Native(kernel, keys);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = kernel;
        Self::Library(Aes256Enc::new(key.into()))
    }

    pub(crate) fn encrypt(&self, block: &mut Block) {
        match self {
            Self::Library(cipher) => cipher.encrypt_block(block.into()),
            #[cfg(target_arch = "x86_64")]
            Self::Native(_, keys) => keys.encrypt(block),
        }
    }

    /// Adds to `bytes` the encrypted counters from `start` on: the first four bytes of each are a
    /// little-endian number, which wraps around.
    pub(crate) fn add_stream(&self, start: &Block, bytes: &mut [u8]) {
        match self {
            Self::Library(cipher) => add_stream(cipher, start, bytes),
            #[cfg(target_arch = "x86_64")]
            Self::Native(kernel, keys) => kernel.add_stream(keys, start, bytes),
        }
    }
}

fn add_stream(cipher: &Aes256Enc, start: &Block, bytes: &mut [u8]) {
    let (first, rest) = start.split_first_chunk().expect("longer than a number");
    let mut number = u32::from_le_bytes(*first);
    let mut stream = Zeroizing::new([Block::default(); STREAM]);
    for bytes in bytes.chunks_mut(STREAM * BLOCK_LEN) {
        let blocks = &mut stream[..bytes.len().div_ceil(BLOCK_LEN)];
        for block in &mut *blocks {
            block[..4].copy_from_slice(&number.to_le_bytes());
            block[4..].copy_from_slice(rest);
            number = number.wrapping_add(1);
        }
        cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
        bytes.iter_mut().zip(blocks.as_flattened()).for_each(|(byte, key)| *byte ^= key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zeroize::ZeroizeOnDrop;

    /// FIPS 197, appendix C.3.
    #[test]
    fn every_kernel_gives_the_example_of_the_standard() {
        let key = std::array::from_fn(|at| at as u8);
        for kernel in Kernel::available() {
            let mut block: Block = std::array::from_fn(|at| 0x11 * at as u8);
            Aes256::new(&key, kernel).encrypt(&mut block);
            assert_eq!(hex::encode(block), "8ea2b7ca516745bfeafc49904b496089", "{kernel}");
        }
    }

    #[test]
    fn keys_are_wiped() {
        fn is_wiped<T: ZeroizeOnDrop>() {}
        is_wiped::<Aes256Enc>();
        #[cfg(target_arch = "x86_64")]
        is_wiped::<RoundKeys>();
    }

    proptest! {
        #[test]
        fn every_kernel_is_what_the_library_is(key: [u8; KEY_LEN], block: Block) {
            let mut expected = block;
            Aes256Enc::new(&key.into()).encrypt_block((&mut expected).into());
            for kernel in Kernel::available() {
                let mut found = block;
                Aes256::new(&key, kernel).encrypt(&mut found);
                prop_assert_eq!(found, expected, "{}", kernel);
            }
        }
    }
}
