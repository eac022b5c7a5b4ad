//! Four blocks at a time.
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

type Vector = __m512i;

/// Blocks in a vector.
const LANES: usize = 4;

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; LANES * BLOCK_LEN]) -> Vector {
    // SAFETY: that many bytes can be read, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_block(block: &Block) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn first_lane(block: &Block) -> Vector {
    _mm512_zextsi128_si512(load_block(block))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all_lanes(block: &Block) -> Vector {
    _mm512_broadcast_i32x4(load_block(block))
}

/// Of fewer blocks than a vector has, at least one, with zeros behind.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_part(bytes: &[u8]) -> Vector {
    // SAFETY: the mask selects the halves of blocks that there are.
    unsafe { _mm512_maskz_loadu_epi64((1 << (bytes.len() / 8)) - 1, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(number: u64) -> Vector {
    _mm512_set1_epi64(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn zero() -> Vector {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm512_ternarylogic_epi64::<0b1001_0110>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8; LANES * BLOCK_LEN], vector: Vector) {
    // SAFETY: that many bytes can be written, and the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// Products of the lower halves.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn low(a: Vector, b: Vector) -> Vector {
    _mm512_clmulepi64_epi128::<0x00>(a, b)
}

/// Products of the upper halves.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn high(a: Vector, b: Vector) -> Vector {
    _mm512_clmulepi64_epi128::<0x11>(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn swapped(vector: Vector) -> Vector {
    _mm512_shuffle_epi32::<0b01_00_11_10>(vector)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_added(vector: Vector) -> Block {
    let halves = [_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector)];
    let half = _mm256_xor_si256(halves[0], halves[1]);
    let lanes = [_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half)];
    let mut block = [0; BLOCK_LEN];
    // SAFETY: a block has the register's size, and the instruction asks for no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), _mm_xor_si128(lanes[0], lanes[1])) };
    block
}

/// The first 32 bits of each lane added.
#[inline]
#[target_feature(enable = "avx512f")]
fn added(counters: Vector, numbers: Vector) -> Vector {
    _mm512_add_epi32(counters, numbers)
}

/// In the first 32 bits of each lane its number.
#[inline]
#[target_feature(enable = "avx512f")]
fn lane_numbers() -> Vector {
    _mm512_setr_epi64(0, 0, 1, 0, 2, 0, 3, 0)
}

/// In the first 32 bits of each lane how many there are.
#[inline]
#[target_feature(enable = "avx512f")]
fn one_further() -> Vector {
    _mm512_setr_epi64(4, 0, 4, 0, 4, 0, 4, 0)
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn round(vector: Vector, key: Vector) -> Vector {
    _mm512_aesenc_epi128(vector, key)
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn last_round(vector: Vector, key: Vector) -> Vector {
    _mm512_aesenclast_epi128(vector, key)
}

absorb!("avx512f,vpclmulqdq");
add_stream!("avx512f,vaes");
