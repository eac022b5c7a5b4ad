//! A block at a time.
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

type Vector = __m128i;

/// Blocks in a vector.
const LANES: usize = 1;

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &Block) -> Vector {
    // SAFETY: that many bytes can be read, and the instruction asks for no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn first_lane(block: &Block) -> Vector {
    load(block)
}

#[inline]
#[target_feature(enable = "sse2")]
fn all_lanes(block: &Block) -> Vector {
    load(block)
}

/// Of fewer blocks than a vector has, at least one, with zeros behind.
#[inline]
#[target_feature(enable = "sse2")]
fn load_part(bytes: &[u8]) -> Vector {
    load(bytes.first_chunk().expect("a whole block"))
}

#[inline]
#[target_feature(enable = "sse2")]
fn numbers(number: u64) -> Vector {
    _mm_set1_epi64x(number.cast_signed())
}

#[inline]
#[target_feature(enable = "sse2")]
fn zero() -> Vector {
    _mm_setzero_si128()
}

#[inline]
#[target_feature(enable = "sse2")]
fn sum(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm_xor_si128(_mm_xor_si128(a, b), c)
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(bytes: &mut [u8; LANES * BLOCK_LEN], vector: Vector) {
    // SAFETY: that many bytes can be written, and the instruction asks for no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), vector) }
}

/// Products of the lower halves.
#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn low(a: Vector, b: Vector) -> Vector {
    _mm_clmulepi64_si128::<0x00>(a, b)
}

/// Products of the upper halves.
#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn high(a: Vector, b: Vector) -> Vector {
    _mm_clmulepi64_si128::<0x11>(a, b)
}

#[inline]
#[target_feature(enable = "sse2")]
fn swapped(vector: Vector) -> Vector {
    _mm_shuffle_epi32::<0b01_00_11_10>(vector)
}

#[inline]
#[target_feature(enable = "sse2")]
fn lanes_added(vector: Vector) -> Block {
    let mut block = [0; BLOCK_LEN];
    // SAFETY: a block has the register's size, and the instruction asks for no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), vector) };
    block
}

/// The first 32 bits of each lane added.
#[inline]
#[target_feature(enable = "sse2")]
fn added(counters: Vector, numbers: Vector) -> Vector {
    _mm_add_epi32(counters, numbers)
}

/// In the first 32 bits of each lane its number.
#[inline]
#[target_feature(enable = "sse2")]
fn lane_numbers() -> Vector {
    _mm_setzero_si128()
}

/// In the first 32 bits of each lane how many there are.
#[inline]
#[target_feature(enable = "sse2")]
fn one_further() -> Vector {
    _mm_set_epi64x(0, 1)
}

#[inline]
#[target_feature(enable = "sse2,aes")]
fn round(vector: Vector, key: Vector) -> Vector {
    _mm_aesenc_si128(vector, key)
}

#[inline]
#[target_feature(enable = "sse2,aes")]
fn last_round(vector: Vector, key: Vector) -> Vector {
    _mm_aesenclast_si128(vector, key)
}

absorb!("sse2,pclmulqdq");
add_stream!("sse2,aes");
