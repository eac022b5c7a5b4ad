//! 32 bytes at a time: with Galois-field instructions, or by looking up nibbles.
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

struct Avx2;
struct Avx2Gfni;

macro_rules! shared {
    () => {
        type Vector = __m256i;
        const BYTES: usize = 32;

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn zero() -> __m256i {
            _mm256_setzero_si256()
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn add(a: __m256i, b: __m256i) -> __m256i {
            _mm256_xor_si256(a, b)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn load(from: *const u8) -> __m256i {
            // SAFETY: 32 bytes are readable by contract.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn store(to: *mut u8, vector: __m256i) {
            // SAFETY: 32 bytes are writable by contract.
            unsafe { _mm256_storeu_si256(to.cast(), vector) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn stream(to: *mut u8, vector: __m256i) {
            // SAFETY: 32 bytes are writable, and aligned, by contract; `fence` follows.
            unsafe { _mm256_stream_si256(to.cast(), vector) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn fence() {
            _mm_sfence();
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn prefetch(from: *const u8) {
            _mm_prefetch::<_MM_HINT_T0>(from.cast());
        }
    };
}

// SAFETY: loads, stores and streams are of `BYTES` bytes.
unsafe impl Vectors for Avx2Gfni {
    type Coefficient = u64;
    type Multiplier = __m256i;
    type Factor = __m256i;
    shared!();

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiplier(coefficient: *const u64) -> __m256i {
        // SAFETY: the coefficient is readable by contract.
        _mm256_set1_epi64x(unsafe { *coefficient }.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn factor(vector: __m256i) -> __m256i {
        vector
    }

    #[inline]
    #[target_feature(enable = "avx2,gfni")]
    unsafe fn multiply(multiplier: __m256i, factor: __m256i) -> __m256i {
        _mm256_gf2p8affine_epi64_epi8::<0>(factor, multiplier)
    }
}

// SAFETY: as above.
unsafe impl Vectors for Avx2 {
    type Coefficient = [u8; 32];
    type Multiplier = (__m256i, __m256i);
    type Factor = (__m256i, __m256i);
    shared!();

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiplier(coefficient: *const [u8; 32]) -> (__m256i, __m256i) {
        let high = coefficient.cast::<u8>().wrapping_add(16);
        // SAFETY: the coefficient's two halves of 16 bytes are readable by contract.
        let (low, high) =
            unsafe { (_mm_loadu_si128(coefficient.cast()), _mm_loadu_si128(high.cast())) };
        (_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn factor(vector: __m256i) -> (__m256i, __m256i) {
        let nibble = _mm256_set1_epi8(15);
        let high = _mm256_and_si256(_mm256_srli_epi64::<4>(vector), nibble);
        (_mm256_and_si256(vector, nibble), high)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply(tables: (__m256i, __m256i), nibbles: (__m256i, __m256i)) -> __m256i {
        let low = _mm256_shuffle_epi8(tables.0, nibbles.0);
        _mm256_xor_si256(low, _mm256_shuffle_epi8(tables.1, nibbles.1))
    }
}

pub(super) fn multiply(product: Product<'_, '_, [u8; 32]>) {
    groups(product, ROWS_MAX, BLOCK, |group, from, to| {
        // SAFETY: this engine was chosen, hence the processor has the instructions; `groups` keeps
        // within the strips, and to the alignment that streaming needs.
        unsafe { run(group, from, to) }
    });
}

pub(super) fn multiply_gfni(product: Product<'_, '_, u64>) {
    groups(product, ROWS_MAX, BLOCK, |group, from, to| {
        // SAFETY: as above.
        unsafe { run_gfni(group, from, to) }
    });
}

#[target_feature(enable = "avx2")]
unsafe fn run(mut group: Group<'_, '_, [u8; 32]>, from: usize, to: usize) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Avx2, 1, 2, 0, false>(from, to),
            2 => group.walk::<Avx2, 2, 2, 0, false>(from, to),
            3 => group.walk::<Avx2, 3, 2, 0, false>(from, to),
            4 => group.walk::<Avx2, 4, 2, 0, false>(from, to),
            5 => group.walk::<Avx2, 5, 1, 0, false>(from, to),
            6 => group.walk::<Avx2, 6, 1, 0, false>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}

#[target_feature(enable = "avx2,gfni")]
unsafe fn run_gfni(mut group: Group<'_, '_, u64>, from: usize, to: usize) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Avx2Gfni, 1, 4, 0, false>(from, to),
            2 => group.walk::<Avx2Gfni, 2, 4, 0, false>(from, to),
            3 => group.walk::<Avx2Gfni, 3, 2, 0, false>(from, to),
            4 => group.walk::<Avx2Gfni, 4, 2, 0, false>(from, to),
            5 => group.walk::<Avx2Gfni, 5, 2, 0, false>(from, to),
            6 => group.walk::<Avx2Gfni, 6, 2, 0, false>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}
