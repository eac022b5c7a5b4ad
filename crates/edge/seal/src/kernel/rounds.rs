//! AES-256 (FIPS 197) with the processor's instructions: a block alone, and the loop of key streams
//! that all vector kernels share.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "vectors are loaded and stored through pointers")]

use crate::powers::{BLOCK_LEN, Block};
use std::arch::x86_64::*;
use zeroize::{Zeroize as _, ZeroizeOnDrop};

/// Keys that a block meets on its way.
pub(super) const KEYS: usize = 15;

/// Vectors of counters that are encrypted side by side: a round ends long after another could
/// begin.
pub(super) const ABREAST: usize = 8;

/// A key, expanded. The holder of a value of this type may use the instructions: this processor has
/// them.
pub(crate) struct RoundKeys([Block; KEYS]);

impl RoundKeys {
    /// FIPS 197, section 5.2: two keys of 128 bits are given, the others follow from the two before
    /// each.
    #[target_feature(enable = "sse2,aes")]
    pub(super) fn new(key: &[u8; 2 * BLOCK_LEN]) -> Self {
        let mut keys = Self([Block::default(); KEYS]);
        let (mut even, mut odd) = (load(window(key, 0)), load(window(key, BLOCK_LEN)));
        keys.put(0, [even, odd]);
        macro_rules! next {
            ($at:literal, $constant:literal) => {
                let mixed = _mm_aeskeygenassist_si128::<$constant>(odd);
                even =
                    _mm_xor_si128(sums_of_words(even), _mm_shuffle_epi32::<0b11_11_11_11>(mixed));
                let mixed = _mm_aeskeygenassist_si128::<0>(even);
                odd = _mm_xor_si128(sums_of_words(odd), _mm_shuffle_epi32::<0b10_10_10_10>(mixed));
                keys.put($at, [even, odd]);
            };
        }
        next!(2, 0x01);
        next!(4, 0x02);
        next!(6, 0x04);
        next!(8, 0x08);
        next!(10, 0x10);
        next!(12, 0x20);
        next!(14, 0x40);
        keys
    }

    /// Puts two keys at `at`, or one where only one is left.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn put(&mut self, at: usize, keys: [__m128i; 2]) {
        for (to, key) in self.0[at..].iter_mut().zip(keys) {
            store(to, key);
        }
    }

    pub(super) fn blocks(&self) -> &[Block; KEYS] {
        &self.0
    }

    /// Encrypts one block.
    pub(crate) fn encrypt(&self, block: &mut Block) {
        // SAFETY: the processor has the instructions, or this value would not exist.
        unsafe { self.encrypt_with_aes(block) }
    }

    #[target_feature(enable = "sse2,aes")]
    fn encrypt_with_aes(&self, block: &mut Block) {
        let [first, between @ .., last] = &self.0;
        let mut state = _mm_xor_si128(load(block), load(first));
        for key in between {
            state = _mm_aesenc_si128(state, load(key));
        }
        store(block, _mm_aesenclast_si128(state, load(last)));
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for RoundKeys {}

/// Of each word the sum of it and those before.
#[inline]
#[target_feature(enable = "sse2")]
fn sums_of_words(words: __m128i) -> __m128i {
    let words = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(words, _mm_slli_si128::<8>(words))
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: a block has the register's size, and the instruction asks for no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(block: &mut Block, register: __m128i) {
    // SAFETY: as above.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), register) }
}

fn window(bytes: &[u8], at: usize) -> &Block {
    bytes[at..at + BLOCK_LEN].try_into().expect("as long as it was cut")
}

/// Defines `add_stream`, which adds to `bytes` the encrypted counters from `start` on: the first
/// four bytes of each are a little-endian number, which wraps around.
macro_rules! add_stream {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        pub(super) fn add_stream(keys: &RoundKeys, start: &Block, bytes: &mut [u8]) {
            const VECTOR_LEN: usize = LANES * BLOCK_LEN;
            let blocks = keys.blocks();
            let mut keys = [zero(); KEYS];
            for (key, block) in keys.iter_mut().zip(blocks) {
                *key = all_lanes(block);
            }
            let mut counters = added(all_lanes(start), lane_numbers());
            for bytes in bytes.chunks_mut(ABREAST * VECTOR_LEN) {
                let mut stream = [zero(); ABREAST];
                for vector in &mut stream {
                    *vector = sum(counters, keys[0], zero());
                    counters = added(counters, one_further());
                }
                for key in &keys[1..KEYS - 1] {
                    for vector in &mut stream {
                        *vector = round(*vector, *key);
                    }
                }
                for vector in &mut stream {
                    *vector = last_round(*vector, keys[KEYS - 1]);
                }
                let (vectors, rest) = bytes.as_chunks_mut::<VECTOR_LEN>();
                for (vector, stream) in vectors.iter_mut().zip(stream) {
                    let mixed = sum(load(vector), stream, zero());
                    store(vector, mixed);
                }
                if !rest.is_empty() {
                    let mut last = [0; VECTOR_LEN];
                    store(&mut last, stream[vectors.len()]);
                    rest.iter_mut().zip(last).for_each(|(byte, key)| *byte ^= key);
                }
            }
        }
    };
}
pub(super) use add_stream;
