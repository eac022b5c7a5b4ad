//! Block by block, as RFC 8452 defines it.

use crate::{
    field::dot,
    powers::{BLOCK_LEN, Block, Powers},
};

/// Goes on with POLYVAL from `state` over `bytes`, which are whole blocks.
pub(super) fn absorb(powers: &Powers, state: &mut Block, bytes: &[u8]) {
    let key = u128::from_le_bytes(powers.from(1).0[0]);
    let mut sum = u128::from_le_bytes(*state);
    for block in bytes.as_chunks::<BLOCK_LEN>().0 {
        sum = dot(sum ^ u128::from_le_bytes(*block), key);
    }
    *state = sum.to_le_bytes();
}
