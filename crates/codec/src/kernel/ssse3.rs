//! 16 bytes at a time, by looking up nibbles with `PSHUFB`.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "the instructions exist only on some processors")]

use super::{
    product::Product,
    walk::{Group, Vectors, groups},
};
use std::arch::x86_64::*;

/// Sums of this many outputs stay in the 16 registers.
const ROWS_MAX: usize = 6;

/// Bytes of each source that wait in the cache for the next group of outputs.
const BLOCK: usize = 4096;

struct Ssse3;

// SAFETY: loads, stores and streams are of `BYTES` bytes.
unsafe impl Vectors for Ssse3 {
    type Coefficient = [u8; 32];
    type Multiplier = (__m128i, __m128i);
    type Vector = __m128i;
    type Factor = (__m128i, __m128i);
    const BYTES: usize = 16;

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn zero() -> __m128i {
        _mm_setzero_si128()
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn add(a: __m128i, b: __m128i) -> __m128i {
        _mm_xor_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn multiplier(coefficient: *const [u8; 32]) -> (__m128i, __m128i) {
        let high = coefficient.cast::<u8>().wrapping_add(16);
        // SAFETY: the coefficient's two halves of 16 bytes are readable by contract.
        unsafe { (_mm_loadu_si128(coefficient.cast()), _mm_loadu_si128(high.cast())) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn factor(vector: __m128i) -> (__m128i, __m128i) {
        let nibble = _mm_set1_epi8(15);
        let high = _mm_and_si128(_mm_srli_epi64::<4>(vector), nibble);
        (_mm_and_si128(vector, nibble), high)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn multiply(tables: (__m128i, __m128i), nibbles: (__m128i, __m128i)) -> __m128i {
        let low = _mm_shuffle_epi8(tables.0, nibbles.0);
        _mm_xor_si128(low, _mm_shuffle_epi8(tables.1, nibbles.1))
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn load(from: *const u8) -> __m128i {
        // SAFETY: 16 bytes are readable by contract.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn store(to: *mut u8, vector: __m128i) {
        // SAFETY: 16 bytes are writable by contract.
        unsafe { _mm_storeu_si128(to.cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn stream(to: *mut u8, vector: __m128i) {
        // SAFETY: 16 bytes are writable, and aligned, by contract; `fence` follows.
        unsafe { _mm_stream_si128(to.cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn fence() {
        _mm_sfence();
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn prefetch(from: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(from.cast());
    }
}

pub(super) fn multiply(product: Product<'_, '_, [u8; 32]>) {
    groups(product, ROWS_MAX, BLOCK, |group, from, to| {
        // SAFETY: this engine was chosen, hence the processor has the instructions; `groups` keeps
        // within the strips, and to the alignment that streaming needs.
        unsafe { run(group, from, to) }
    });
}

#[target_feature(enable = "ssse3")]
unsafe fn run(mut group: Group<'_, '_, [u8; 32]>, from: usize, to: usize) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Ssse3, 1, 4, 0, false>(from, to),
            2 => group.walk::<Ssse3, 2, 2, 0, false>(from, to),
            3 => group.walk::<Ssse3, 3, 2, 0, false>(from, to),
            4 => group.walk::<Ssse3, 4, 2, 0, false>(from, to),
            5 => group.walk::<Ssse3, 5, 1, 0, false>(from, to),
            6 => group.walk::<Ssse3, 6, 1, 0, false>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}
