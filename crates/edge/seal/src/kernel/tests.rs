use super::*;
use ::polyval::{Polyval, universal_hash::UniversalHash as _};
use proptest::prelude::*;

/// Bytes that look random.
fn noise(len: usize) -> Vec<u8> {
    let mut seed = 7_u64;
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// POLYVAL by the crate that stands for the RFC, from a state.
fn expected(key: &Block, state: &Block, bytes: &[u8]) -> Block {
    let mut blocks: Vec<Block> = bytes.as_chunks().0.to_vec();
    let Some(first) = blocks.first_mut() else { return *state };
    first.iter_mut().zip(state).for_each(|(byte, state)| *byte ^= state);
    let mut polyval = Polyval::new(key.into());
    polyval.update_padded(blocks.as_flattened());
    polyval.finalize().into()
}

fn found(kernel: Kernel, key: &Block, state: &Block, bytes: &[u8]) -> Block {
    let mut state = *state;
    kernel.absorb(&Powers::new(key), &mut state, bytes);
    state
}

fn block(text: &str) -> Block {
    hex::decode(text).unwrap().try_into().unwrap()
}

/// RFC 8452, appendix A.
#[test]
fn every_kernel_gives_the_example_of_the_rfc() {
    let key = block("25629347589242761d31f826ba4b757b");
    let blocks =
        [block("4f4f95668c83dfb6401762bb2d01a262"), block("d1a24ddd2721d006bbe45f20d3c9f362")];
    for kernel in Kernel::available() {
        let found = found(kernel, &key, &[0; 16], blocks.as_flattened());
        assert_eq!(found, block("f7a3b47b846119fae5b7866cf5e5b77e"), "{kernel}");
    }
}

#[test]
fn every_kernel_is_right_for_every_number_of_blocks_and_every_alignment() {
    let key = block("25629347589242761d31f826ba4b757b");
    let state = block("d1a24ddd2721d006bbe45f20d3c9f362");
    let bytes = noise(4096 + 64);
    for len in (0..=4096).step_by(BLOCK_LEN) {
        for start in (0..64).step_by(if len < 1200 { 1 } else { 21 }) {
            let bytes = &bytes[start..start + len];
            let expected = expected(&key, &state, bytes);
            for kernel in Kernel::available() {
                let found = found(kernel, &key, &state, bytes);
                assert_eq!(found, expected, "{kernel}: {len} bytes from {start}");
            }
        }
    }
}

#[test]
fn every_kernel_is_right_over_a_fragments_block() {
    let key = block("ffffffffffffffffffffffffffffffff");
    for bytes in [noise(64 << 10), vec![0xff; 64 << 10], noise((64 << 10) - 16)] {
        let expected = expected(&key, &[0xff; 16], &bytes);
        for kernel in Kernel::available() {
            assert_eq!(found(kernel, &key, &[0xff; 16], &bytes), expected, "{kernel}");
        }
    }
}

#[test]
fn the_best_kernel_is_one_that_is_available() {
    assert!(Kernel::available().any(|kernel| kernel == Kernel::best()));
    assert_eq!(Kernel::available().next(), Some(Kernel::PORTABLE));
}

proptest! {
    #[test]
    fn every_kernel_is_right(
        key: Block,
        state: Block,
        blocks in prop::collection::vec(any::<Block>(), 0..300),
    ) {
        let bytes = blocks.as_flattened();
        let expected = expected(&key, &state, bytes);
        for kernel in Kernel::available() {
            prop_assert_eq!(found(kernel, &key, &state, bytes), expected, "{}", kernel);
        }
    }
}
