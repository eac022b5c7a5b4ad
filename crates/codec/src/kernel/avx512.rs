//! 64 bytes at a time: with Galois-field instructions, or by looking up nibbles.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "the instructions exist only on some processors")]

use super::{
    product::Product,
    walk::{Group, Vectors, groups},
};
use std::arch::x86_64::*;

/// Sums of this many outputs stay in the 32 registers.
const ROWS_MAX: usize = 6;

/// Bytes of each source that wait in the cache for the next group of outputs.
const BLOCK: usize = 4096;

struct Avx512;
struct Avx512Gfni;

macro_rules! shared {
    () => {
        type Vector = __m512i;
        const BYTES: usize = 64;

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn zero() -> __m512i {
            _mm512_setzero_si512()
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn add(a: __m512i, b: __m512i) -> __m512i {
            _mm512_xor_si512(a, b)
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn load(from: *const u8) -> __m512i {
            // SAFETY: 64 bytes are readable by contract.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn store(to: *mut u8, vector: __m512i) {
            // SAFETY: 64 bytes are writable by contract.
            unsafe { _mm512_storeu_si512(to.cast(), vector) }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn load_part(from: *const u8, len: usize) -> __m512i {
            // SAFETY: the mask selects the `len` bytes that are readable by contract.
            unsafe { _mm512_maskz_loadu_epi8(first(len), from.cast()) }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn store_part(to: *mut u8, vector: __m512i, len: usize) {
            // SAFETY: the mask selects the `len` bytes that are writable by contract.
            unsafe { _mm512_mask_storeu_epi8(to.cast(), first(len), vector) }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn stream(to: *mut u8, vector: __m512i) {
            // SAFETY: 64 bytes are writable, and aligned, by contract; `fence` follows.
            unsafe { _mm512_stream_si512(to.cast(), vector) }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn fence() {
            _mm_sfence();
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn prefetch(from: *const u8) {
            _mm_prefetch::<_MM_HINT_T0>(from.cast());
        }
    };
}

// SAFETY: loads, stores and streams are of `BYTES` bytes, the partial ones of those in the mask.
unsafe impl Vectors for Avx512Gfni {
    type Coefficient = u64;
    type Multiplier = __m512i;
    type Factor = __m512i;
    shared!();

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn multiplier(coefficient: *const u64) -> __m512i {
        // SAFETY: the coefficient is readable by contract.
        _mm512_set1_epi64(unsafe { *coefficient }.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn factor(vector: __m512i) -> __m512i {
        vector
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    unsafe fn multiply(multiplier: __m512i, factor: __m512i) -> __m512i {
        _mm512_gf2p8affine_epi64_epi8::<0>(factor, multiplier)
    }
}

// SAFETY: as above.
unsafe impl Vectors for Avx512 {
    type Coefficient = [u8; 32];
    type Multiplier = (__m512i, __m512i);
    type Factor = (__m512i, __m512i);
    shared!();

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn multiplier(coefficient: *const [u8; 32]) -> (__m512i, __m512i) {
        let high = coefficient.cast::<u8>().wrapping_add(16);
        // SAFETY: the coefficient's two halves of 16 bytes are readable by contract.
        let (low, high) =
            unsafe { (_mm_loadu_si128(coefficient.cast()), _mm_loadu_si128(high.cast())) };
        (_mm512_broadcast_i32x4(low), _mm512_broadcast_i32x4(high))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn factor(vector: __m512i) -> (__m512i, __m512i) {
        let nibble = _mm512_set1_epi8(15);
        let high = _mm512_and_si512(_mm512_srli_epi64::<4>(vector), nibble);
        (_mm512_and_si512(vector, nibble), high)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn multiply(tables: (__m512i, __m512i), nibbles: (__m512i, __m512i)) -> __m512i {
        let low = _mm512_shuffle_epi8(tables.0, nibbles.0);
        _mm512_xor_si512(low, _mm512_shuffle_epi8(tables.1, nibbles.1))
    }
}

/// A mask of the first `len` of 64 bytes, `len < 64`.
#[inline]
fn first(len: usize) -> __mmask64 {
    (1 << len) - 1
}

pub(super) fn multiply(product: Product<'_, '_, [u8; 32]>) {
    groups(product, 8, BLOCK, |group, from, to| {
        // SAFETY: this engine was chosen, hence the processor has the instructions; `groups` keeps
        // within the strips, and to the alignment that streaming needs.
        unsafe { run(group, from, to) }
    });
}

pub(super) fn multiply_gfni(product: Product<'_, '_, u64>) {
    let source_count = product.sources.len();
    groups(product, ROWS_MAX, BLOCK, |group, from, to| {
        // SAFETY: as above; the number of sources is matched.
        unsafe {
            match source_count {
                1 => run_gfni_few::<1>(group, from, to),
                2 => run_gfni_few::<2>(group, from, to),
                3 => run_gfni_few::<3>(group, from, to),
                4 => run_gfni_few::<4>(group, from, to),
                5 => run_gfni_few::<5>(group, from, to),
                6 => run_gfni_few::<6>(group, from, to),
                _ => run_gfni(group, from, to),
            }
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn run(mut group: Group<'_, '_, [u8; 32]>, from: usize, to: usize) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Avx512, 1, 4, 0, false>(from, to),
            2 => group.walk::<Avx512, 2, 2, 0, false>(from, to),
            3 => group.walk::<Avx512, 3, 2, 0, false>(from, to),
            4 => group.walk::<Avx512, 4, 2, 0, false>(from, to),
            5 => group.walk::<Avx512, 5, 2, 0, false>(from, to),
            6 => group.walk::<Avx512, 6, 2, 0, false>(from, to),
            7 => group.walk::<Avx512, 7, 2, 0, false>(from, to),
            8 => group.walk::<Avx512, 8, 2, 0, false>(from, to),
            rows => unreachable!("{rows} rows in a group of at most 8"),
        }
    }
}

/// Hardware prefetchers follow so few streams by themselves. Requests of our own would gain nothing
/// and take load slots, which is felt where strips come from the second-level cache.
///
/// # Safety
/// The processor has the instructions; and as for `walk_few`.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn run_gfni_few<const SOURCES: usize>(
    mut group: Group<'_, '_, u64>,
    from: usize,
    to: usize,
) {
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk_few::<Avx512Gfni, SOURCES, 1, 2>(from, to),
            2 => group.walk_few::<Avx512Gfni, SOURCES, 2, 2>(from, to),
            3 => group.walk_few::<Avx512Gfni, SOURCES, 3, 2>(from, to),
            4 => group.walk_few::<Avx512Gfni, SOURCES, 4, 2>(from, to),
            5 => group.walk_few::<Avx512Gfni, SOURCES, 5, 2>(from, to),
            6 => group.walk_few::<Avx512Gfni, SOURCES, 6, 2>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn run_gfni(mut group: Group<'_, '_, u64>, from: usize, to: usize) {
    // More streams than prefetchers follow; the distance of our own requests is measured.
    // SAFETY: passed on; the number of rows is matched.
    unsafe {
        match group.rows() {
            1 => group.walk::<Avx512Gfni, 1, 2, 256, true>(from, to),
            2 => group.walk::<Avx512Gfni, 2, 2, 256, true>(from, to),
            3 => group.walk::<Avx512Gfni, 3, 2, 256, true>(from, to),
            4 => group.walk::<Avx512Gfni, 4, 2, 256, true>(from, to),
            5 => group.walk::<Avx512Gfni, 5, 2, 256, true>(from, to),
            6 => group.walk::<Avx512Gfni, 6, 2, 256, true>(from, to),
            rows => unreachable!("{rows} rows in a group of at most {ROWS_MAX}"),
        }
    }
}
