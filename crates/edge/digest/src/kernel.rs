//! MD5's compression function on several lanes. RFC 1321, section 3.4.

mod step;
#[cfg(target_arch = "x86_64")]
mod vector;

pub(crate) use step::{BLOCK_LEN, LANES, State};

use step::{ROTATIONS, SINES, steps};

/// What a digest begins with.
pub(crate) const INITIAL: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Compresses `blocks` blocks of each lane's data: what every processor can run, and every engine
/// must equal. Each word of the state is that of all lanes.
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

    /// What each lane begins with, its data, which may be longer than what is compressed, and where
    /// in an allocation they begin.
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
