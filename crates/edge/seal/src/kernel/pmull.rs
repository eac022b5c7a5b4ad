//! A block at a time.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "vectors are loaded and stored through pointers")]

use super::strides::{VECTORS, absorb, window};
use crate::{
    field::FOLD,
    powers::{BLOCK_LEN, Block, Powers},
};
use std::arch::aarch64::*;

type Vector = uint64x2_t;

/// Blocks in a vector.
const LANES: usize = 1;

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &Block) -> Vector {
    // SAFETY: that many bytes can be read, and the instruction asks for no alignment.
    vreinterpretq_u64_u8(unsafe { vld1q_u8(bytes.as_ptr()) })
}

#[inline]
#[target_feature(enable = "neon")]
fn first_lane(block: &Block) -> Vector {
    load(block)
}

#[inline]
#[target_feature(enable = "neon")]
fn all_lanes(block: &Block) -> Vector {
    load(block)
}

/// Of fewer blocks than a vector has, at least one, with zeros behind.
#[inline]
#[target_feature(enable = "neon")]
fn load_part(bytes: &[u8]) -> Vector {
    load(bytes.first_chunk().expect("a whole block"))
}

#[inline]
#[target_feature(enable = "neon")]
fn numbers(number: u64) -> Vector {
    vdupq_n_u64(number)
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Vector {
    vdupq_n_u64(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn sum(a: Vector, b: Vector, c: Vector) -> Vector {
    veorq_u64(veorq_u64(a, b), c)
}

/// The product of the lower halves.
#[inline]
#[target_feature(enable = "neon,aes")]
fn low(a: Vector, b: Vector) -> Vector {
    vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64::<0>(a), vgetq_lane_u64::<0>(b)))
}

/// The product of the upper halves.
#[inline]
#[target_feature(enable = "neon,aes")]
fn high(a: Vector, b: Vector) -> Vector {
    vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)))
}

#[inline]
#[target_feature(enable = "neon")]
fn swapped(vector: Vector) -> Vector {
    vextq_u64::<1>(vector, vector)
}

#[inline]
#[target_feature(enable = "neon")]
fn lanes_added(vector: Vector) -> Block {
    let mut block = [0; BLOCK_LEN];
    // SAFETY: a block has the register's size, and the instruction asks for no alignment.
    unsafe { vst1q_u8(block.as_mut_ptr(), vreinterpretq_u8_u64(vector)) };
    block
}

absorb!("neon,aes");
