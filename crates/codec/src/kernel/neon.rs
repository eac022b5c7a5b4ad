//! 16 bytes at a time, by looking up nibbles with `TBL`.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "the instructions work on memory through pointers")]

use super::{
    product::Product,
    walk::{Group, Vectors, groups},
};
use std::arch::aarch64::*;

/// Sums of this many outputs stay in the 32 registers.
const ROWS_MAX: usize = 8;

/// Bytes of each source that wait in the cache for the next group of outputs.
const BLOCK: usize = 4096;

struct Neon;

// SAFETY: loads and stores are of `BYTES` bytes.
unsafe impl Vectors for Neon {
    type Coefficient = [u8; 32];
    type Multiplier = (uint8x16_t, uint8x16_t);
    type Vector = uint8x16_t;
    type Factor = (uint8x16_t, uint8x16_t);
    const BYTES: usize = 16;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zero() -> uint8x16_t {
        vdupq_n_u8(0)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        veorq_u8(a, b)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn multiplier(coefficient: *const [u8; 32]) -> (uint8x16_t, uint8x16_t) {
        let halves = coefficient.cast::<u8>();
        // SAFETY: the coefficient's two halves of 16 bytes are readable by contract.
        unsafe { (vld1q_u8(halves), vld1q_u8(halves.add(16))) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn factor(vector: uint8x16_t) -> (uint8x16_t, uint8x16_t) {
        (vandq_u8(vector, vdupq_n_u8(15)), vshrq_n_u8::<4>(vector))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn multiply(
        tables: (uint8x16_t, uint8x16_t),
        nibbles: (uint8x16_t, uint8x16_t),
    ) -> uint8x16_t {
        veorq_u8(vqtbl1q_u8(tables.0, nibbles.0), vqtbl1q_u8(tables.1, nibbles.1))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const u8) -> uint8x16_t {
        // SAFETY: 16 bytes are readable by contract.
        unsafe { vld1q_u8(from) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(to: *mut u8, vector: uint8x16_t) {
        // SAFETY: 16 bytes are writable by contract.
        unsafe { vst1q_u8(to, vector) }
    }

    // There is no intrinsic for stores past the cache.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn stream(to: *mut u8, vector: uint8x16_t) {
        // SAFETY: as `store`.
        unsafe { vst1q_u8(to, vector) }
    }

    #[inline]
    unsafe fn fence() {}

    #[inline]
    unsafe fn prefetch(_from: *const u8) {}
}

pub(super) fn multiply(product: Product<'_, '_, [u8; 32]>) {
    groups(product, ROWS_MAX, BLOCK, |group, from, to| {
        // SAFETY: this engine was chosen, hence the processor has the instructions; `groups` keeps
        // within the strips.
        unsafe { run(group, from, to) }
    });
}

#[target_feature(enable = "neon")]
unsafe fn run(mut group: Group<'_, '_, [u8; 32]>, from: usize, to: usize) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Neon, 1, 4, 0, false>(from, to),
            2 => group.walk::<Neon, 2, 4, 0, false>(from, to),
            3 => group.walk::<Neon, 3, 2, 0, false>(from, to),
            4 => group.walk::<Neon, 4, 2, 0, false>(from, to),
            5 => group.walk::<Neon, 5, 2, 0, false>(from, to),
            6 => group.walk::<Neon, 6, 2, 0, false>(from, to),
            7 => group.walk::<Neon, 7, 2, 0, false>(from, to),
            8 => group.walk::<Neon, 8, 2, 0, false>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}
