use crate::field::dot;
use std::fmt;
use zeroize::{Zeroize as _, ZeroizeOnDrop};

/// Bytes that are multiplied at a time.
pub(crate) const BLOCK_LEN: usize = 16;

/// An element of the field, little-endian.
pub(crate) type Block = [u8; BLOCK_LEN];

/// Powers that the widest kernel needs: for a stride of twelve vectors of four blocks and less than
/// a vector more.
pub(crate) const POWERS: usize = 52;

/// Zeros behind the powers: a vector that begins at the last of them is whole.
const PADDING: usize = 4;

/// The powers of a key by which blocks are multiplied, the highest first.
#[repr(C, align(64))]
pub(crate) struct Powers {
    powers: [Block; POWERS + PADDING],
    /// Of each power the sum of its halves, as both halves: what Karatsuba's third product takes.
    sums: [Block; POWERS + PADDING],
}

impl Powers {
    /// Those of `key`.
    pub(crate) fn new(key: &Block) -> Self {
        let mut made = Self {
            powers: [[0; BLOCK_LEN]; POWERS + PADDING],
            sums: [[0; BLOCK_LEN]; POWERS + PADDING],
        };
        let key = u128::from_le_bytes(*key);
        let mut power = key;
        for at in (0..POWERS).rev() {
            made.powers[at] = power.to_le_bytes();
            made.sums[at] = (power ^ power.rotate_left(64)).to_le_bytes();
            power = dot(power, key);
        }
        made
    }

    /// The powers from `highest` on down to the first, then zeros; and their sums.
    #[inline]
    pub(crate) fn from(&self, highest: usize) -> (&[Block], &[Block]) {
        (&self.powers[POWERS - highest..], &self.sums[POWERS - highest..])
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.powers.zeroize();
        self.sums.zeroize();
    }
}

impl ZeroizeOnDrop for Powers {}

impl fmt::Debug for Powers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Powers")
    }
}
