//! Eight lanes in registers of 256 bits: a word of every lane in each.
//!
//! Written with intrinsics: of loops over lanes the compiler makes code that is five times slower.
#![allow(clippy::wildcard_imports, reason = "a kernel names most of its instruction set")]
#![expect(unsafe_code, reason = "the instructions exist only on some processors")]

use super::step::{BLOCK_LEN, LANES, ROTATIONS, SINES, State, steps};
use std::arch::x86_64::*;

/// A word of every lane.
type Words = __m256i;

/// Bytes that fill a register: half of a lane's block.
const HALF_LEN: usize = BLOCK_LEN / 2;

/// The instructions that compress the lanes. The holder of a value of this type may use it: this
/// processor has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Engine(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instructions {
    /// Has a rotation and any function of three words as one instruction each.
    Avx512,
    Avx2,
}

impl Engine {
    /// Those that this processor can run, fastest first.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        let compiled = [Instructions::Avx512, Instructions::Avx2];
        compiled.into_iter().filter(|instructions| instructions.detected()).map(Self)
    }

    /// Compresses the first `blocks` blocks of every lane's data.
    pub(super) fn compress(
        self,
        states: &mut [State; LANES],
        data: &[&[u8]; LANES],
        blocks: usize,
    ) {
        let data = data.map(|bytes| &bytes.as_chunks().0[..blocks]);
        match self.0 {
            // SAFETY: the processor has the instructions, or this value would not exist.
            Instructions::Avx512 => unsafe { with_avx512(states, &data) },
            // SAFETY: as above.
            Instructions::Avx2 => unsafe { with_avx2(states, &data) },
        }
    }
}

impl Instructions {
    fn detected(self) -> bool {
        match self {
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
            }
            Self::Avx2 => is_x86_feature_detected!("avx2"),
        }
    }
}

/// A function that compresses the whole of every lane's data, from what differs between processors.
macro_rules! engine {
    (
        $name:ident, $features:literal, $rotate:ident,
        $choose:expr, $choose_by_last:expr, $parity:expr, $last:expr $(,)?
    ) => {
        #[target_feature(enable = $features)]
        fn $name(states: &mut [State; LANES], data: &[&[[u8; BLOCK_LEN]]; LANES]) {
            let mixes = ($choose, $choose_by_last, $parity, $last);
            let [mut a, mut b, mut c, mut d] = spread(states);
            for block in 0..data[0].len() {
                let words = words(data, block);
                let before = [a, b, c, d];
                // What waits for the step before is added last.
                macro_rules! step {
                    ($round:tt, $at:tt, $word:expr) => {{
                        let sine = _mm256_set1_epi32(SINES[16 * $round + $at].cast_signed());
                        let known = _mm256_add_epi32(a, _mm256_add_epi32(words[$word], sine));
                        let sum = _mm256_add_epi32(known, mixes.$round(b, c, d));
                        let rotated = $rotate!(sum, ROTATIONS[$round][$at % 4].cast_signed());
                        (a, d, c, b) = (d, c, b, _mm256_add_epi32(b, rotated));
                    }};
                }
                steps!(step);
                a = _mm256_add_epi32(a, before[0]);
                b = _mm256_add_epi32(b, before[1]);
                c = _mm256_add_epi32(c, before[2]);
                d = _mm256_add_epi32(d, before[3]);
            }
            gather(states, [a, b, c, d]);
        }
    };
}

macro_rules! rotated {
    ($words:expr, $left:expr) => {
        _mm256_rol_epi32::<{ $left }>($words)
    };
}

macro_rules! shifted_twice {
    ($words:expr, $left:expr) => {
        _mm256_or_si256(
            _mm256_slli_epi32::<{ $left }>($words),
            _mm256_srli_epi32::<{ 32 - $left }>($words),
        )
    };
}

// Tables of truth: bit 4·b + 2·c + d is what comes of these three.
engine!(
    with_avx512,
    "avx512f,avx512vl",
    rotated,
    |b, c, d| _mm256_ternarylogic_epi32::<0b1100_1010>(b, c, d),
    |b, c, d| _mm256_ternarylogic_epi32::<0b1110_0100>(b, c, d),
    |b, c, d| _mm256_ternarylogic_epi32::<0b1001_0110>(b, c, d),
    |b, c, d| _mm256_ternarylogic_epi32::<0b0011_1001>(b, c, d),
);

// What needs no b is computed before b is there.
engine!(
    with_avx2,
    "avx2",
    shifted_twice,
    |b, c, d| _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d))),
    |b, c, d| _mm256_or_si256(_mm256_and_si256(b, d), _mm256_andnot_si256(d, c)),
    |b, c, d| _mm256_xor_si256(b, _mm256_xor_si256(c, d)),
    |b, c, d| {
        let inverse = _mm256_xor_si256(d, _mm256_set1_epi32(-1));
        _mm256_xor_si256(c, _mm256_or_si256(b, inverse))
    },
);

/// The sixteen words of each lane's block.
#[inline]
#[target_feature(enable = "avx2")]
fn words(data: &[&[[u8; BLOCK_LEN]]; LANES], block: usize) -> [Words; 16] {
    let halves = data.map(|blocks| blocks[block].as_chunks::<HALF_LEN>().0);
    let [first, second] = [0, 1].map(|half| transposed(halves.map(|halves| load(&halves[half]))));
    std::array::from_fn(|word| if word < 8 { first[word] } else { second[word - 8] })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; HALF_LEN]) -> Words {
    // SAFETY: that many bytes can be read, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// From eight words of one lane in each register to one word of eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(lanes: [Words; LANES]) -> [Words; 8] {
    let [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
    let pairs = |a, b| (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    // Words 0, 1, 4 and 5 of two lanes, and words 2, 3, 6 and 7.
    let (low01, high01) = pairs(l0, l1);
    let (low23, high23) = pairs(l2, l3);
    let (low45, high45) = pairs(l4, l5);
    let (low67, high67) = pairs(l6, l7);
    let fours = |a, b| (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    // Two words of four lanes: that of the name and the fourth after it.
    let (word0, word1) = fours(low01, low23);
    let (word2, word3) = fours(high01, high23);
    let (other0, other1) = fours(low45, low67);
    let (other2, other3) = fours(high45, high67);
    [
        _mm256_permute2x128_si256::<0x20>(word0, other0),
        _mm256_permute2x128_si256::<0x20>(word1, other1),
        _mm256_permute2x128_si256::<0x20>(word2, other2),
        _mm256_permute2x128_si256::<0x20>(word3, other3),
        _mm256_permute2x128_si256::<0x31>(word0, other0),
        _mm256_permute2x128_si256::<0x31>(word1, other1),
        _mm256_permute2x128_si256::<0x31>(word2, other2),
        _mm256_permute2x128_si256::<0x31>(word3, other3),
    ]
}

/// A, B, C and D of all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn spread(states: &[State; LANES]) -> [Words; 4] {
    [0, 1, 2, 3].map(|word| {
        let [l0, l1, l2, l3, l4, l5, l6, l7] = states.map(|state| state[word].cast_signed());
        _mm256_setr_epi32(l0, l1, l2, l3, l4, l5, l6, l7)
    })
}

/// The way back from [`spread`].
#[inline]
#[target_feature(enable = "avx2")]
fn gather(states: &mut [State; LANES], words: [Words; 4]) {
    for (word, lanes) in words.into_iter().enumerate() {
        let mut found = [0_u32; LANES];
        // SAFETY: the array has the register's size, and the instruction asks for no alignment.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), lanes) };
        for (state, found) in states.iter_mut().zip(found) {
            state[word] = found;
        }
    }
}
