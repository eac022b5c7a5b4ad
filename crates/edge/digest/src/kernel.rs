//! MD5's compression function on several lanes. RFC 1321, section 3.4.

#[cfg(target_arch = "x86_64")]
mod vector;

/// Bytes that are compressed at a time.
pub(crate) const BLOCK_LEN: usize = 64;
/// Digests that are computed side by side.
pub(crate) const LANES: usize = 8;

/// A lane's A, B, C and D.
pub(crate) type State = [u32; 4];

/// What a digest begins with.
pub(crate) const INITIAL: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// By round: how far each of four steps rotates.
const ROTATIONS: [[u32; 4]; 4] =
    [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// T: the integer part of 2^32 · |sin(i + 1)|, i in radians.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// All 64 steps, each as `step!(round, place in the round, word)`: written out, so that every index is
/// known when it is compiled.
macro_rules! steps {
    ($step:ident) => {
        steps!(@ $step, 0, 1, 0, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 1, 5, 1, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 2, 3, 5, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 3, 7, 0, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    (@ $step:ident, $round:tt, $factor:literal, $first:literal, $($at:literal)*) => {
        $( $step!($round, $at, ($factor * $at + $first) % 16); )*
    };
}
use steps;

/// Compresses `blocks` blocks of each lane's data: what every processor can run, and every engine must
/// equal. Each word of the state is that of all lanes.
fn compress<const L: usize>(states: &mut [State; L], data: &[&[u8]; L], blocks: usize) {
    let mut spread: [[u32; L]; 4] =
        std::array::from_fn(|word| std::array::from_fn(|lane| states[lane][word]));
    for block in 0..blocks {
        let mut words = [[0; L]; 16];
        for (lane, bytes) in data.iter().enumerate() {
            let bytes = &bytes[block * BLOCK_LEN..][..BLOCK_LEN];
            let (found, _) = bytes.as_chunks::<4>();
            for (word, found) in words.iter_mut().zip(found) {
                word[lane] = u32::from_le_bytes(*found);
            }
        }
        compress_one(&mut spread, &words);
    }
    *states = std::array::from_fn(|lane| std::array::from_fn(|word| spread[word][lane]));
}

fn compress_one<const L: usize>(state: &mut [[u32; L]; 4], words: &[[u32; L]; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    let mixes = (
        |b: u32, c: u32, d: u32| d ^ (b & (c ^ d)),
        |b: u32, c: u32, d: u32| (c & !d) | (b & d),
        |b: u32, c: u32, d: u32| b ^ c ^ d,
        |b: u32, c: u32, d: u32| c ^ (b | !d),
    );
    macro_rules! step {
        ($round:tt, $at:tt, $word:expr) => {{
            let mut next = [0; L];
            // What waits for the step before is added last.
            for lane in 0..L {
                let sum = a[lane]
                    .wrapping_add(SINES[16 * $round + $at])
                    .wrapping_add(words[$word][lane])
                    .wrapping_add(mixes.$round(b[lane], c[lane], d[lane]));
                next[lane] = b[lane].wrapping_add(sum.rotate_left(ROTATIONS[$round][$at % 4]));
            }
            (a, d, c, b) = (d, c, b, next);
        }};
    }
    steps!(step);
    for (word, added) in state.iter_mut().zip([a, b, c, d]) {
        for (lane, added) in word.iter_mut().zip(added) {
            *lane = lane.wrapping_add(added);
        }
    }
}

/// Compresses the whole blocks of one lane's data.
pub(crate) fn one(state: &mut State, data: &[u8]) {
    let mut states = [*state];
    compress(&mut states, &[data], data.len() / BLOCK_LEN);
    [*state] = states;
}

/// Compresses `blocks` blocks of every lane's data, as fast as this processor can.
pub(crate) fn all(states: &mut [State; LANES], data: &[&[u8]; LANES], blocks: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(engine) = vector::Engine::available().next() {
        return engine.compress(states, data, blocks);
    }
    compress(states, data, blocks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Most blocks of a lane in these tests.
    const BLOCKS_MAX: usize = 12;

    /// What each lane begins with, its data, which may be longer than what is compressed, and where in an
    /// allocation they begin.
    fn lanes() -> impl Strategy<Value = Vec<(State, Vec<u8>, usize)>> {
        let bytes = prop::collection::vec(any::<u8>(), BLOCKS_MAX * BLOCK_LEN..=13 * BLOCK_LEN);
        prop::collection::vec((any::<State>(), bytes, 0..33_usize), LANES)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lanes_side_by_side_are_what_each_is_alone(lanes in lanes(), blocks in 0..BLOCKS_MAX) {
            let before: [State; LANES] = std::array::from_fn(|lane| lanes[lane].0);
            let data: [&[u8]; LANES] = std::array::from_fn(|lane| &lanes[lane].1[lanes[lane].2..]);
            let alone: [State; LANES] = std::array::from_fn(|lane| {
                let mut state = before[lane];
                one(&mut state, &data[lane][..blocks * BLOCK_LEN]);
                state
            });
            let mut plain = before;
            compress(&mut plain, &data, blocks);
            prop_assert_eq!(plain, alone);
            let mut fastest = before;
            all(&mut fastest, &data, blocks);
            prop_assert_eq!(fastest, alone);
            #[cfg(target_arch = "x86_64")]
            for engine in vector::Engine::available() {
                let mut states = before;
                engine.compress(&mut states, &data, blocks);
                prop_assert_eq!(states, alone, "{:?}", engine);
            }
        }
    }
}
