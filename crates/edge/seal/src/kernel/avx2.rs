//! Two blocks at a time.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "vectors are loaded and stored through pointers")]

use super::{
    rounds::{ABREAST, KEYS, RoundKeys, add_stream},
    strides::{VECTORS, absorb, window},
};
use crate::{
    field::FOLD,
    powers::{BLOCK_LEN, Block, Powers},
};
use std::arch::x86_64::*;

type Vector = __m256i;

/// Blocks in a vector.
const LANES: usize = 2;

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; LANES * BLOCK_LEN]) -> Vector {
    // SAFETY: that many bytes can be read, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_block(block: &Block) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn first_lane(block: &Block) -> Vector {
    _mm256_zextsi128_si256(load_block(block))
}

#[inline]
#[target_feature(enable = "avx2")]
fn all_lanes(block: &Block) -> Vector {
    _mm256_broadcastsi128_si256(load_block(block))
}

/// Of fewer blocks than a vector has, at least one, with zeros behind.
#[inline]
#[target_feature(enable = "avx2")]
fn load_part(bytes: &[u8]) -> Vector {
    first_lane(bytes.first_chunk().expect("a whole block"))
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(number: u64) -> Vector {
    _mm256_set1_epi64x(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Vector {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(bytes: &mut [u8; LANES * BLOCK_LEN], vector: Vector) {
    // SAFETY: that many bytes can be written, and the instruction asks for no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
}

/// Products of the lower halves.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn low(a: Vector, b: Vector) -> Vector {
    _mm256_clmulepi64_epi128::<0x00>(a, b)
}

/// Products of the upper halves.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn high(a: Vector, b: Vector) -> Vector {
    _mm256_clmulepi64_epi128::<0x11>(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn swapped(vector: Vector) -> Vector {
    _mm256_shuffle_epi32::<0b01_00_11_10>(vector)
}

#[inline]
#[target_feature(enable = "avx2")]
fn lanes_added(vector: Vector) -> Block {
    let lanes = [_mm256_castsi256_si128(vector), _mm256_extracti128_si256::<1>(vector)];
    let mut block = [0; BLOCK_LEN];
    // SAFETY: a block has the register's size, and the instruction asks for no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), _mm_xor_si128(lanes[0], lanes[1])) };
    block
}

/// The first 32 bits of each lane added.
#[inline]
#[target_feature(enable = "avx2")]
fn added(counters: Vector, numbers: Vector) -> Vector {
    _mm256_add_epi32(counters, numbers)
}

/// In the first 32 bits of each lane its number.
#[inline]
#[target_feature(enable = "avx2")]
fn lane_numbers() -> Vector {
    _mm256_setr_epi64x(0, 0, 1, 0)
}

/// In the first 32 bits of each lane how many there are.
#[inline]
#[target_feature(enable = "avx2")]
fn one_further() -> Vector {
    _mm256_setr_epi64x(2, 0, 2, 0)
}

#[inline]
#[target_feature(enable = "avx2,vaes")]
fn round(vector: Vector, key: Vector) -> Vector {
    _mm256_aesenc_epi128(vector, key)
}

#[inline]
#[target_feature(enable = "avx2,vaes")]
fn last_round(vector: Vector, key: Vector) -> Vector {
    _mm256_aesenclast_epi128(vector, key)
}

absorb!("avx2,vpclmulqdq");
add_stream!("avx2,vaes");
