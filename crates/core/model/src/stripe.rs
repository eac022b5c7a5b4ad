use crate::{BlockLen, Code};

/// Most bytes of payload that one stripe may hold.
pub const STRIPE_PAYLOAD_MAX: u32 = 64 << 20;

/// How a payload lies in a stripe: K data strips of equal length, the last padded with zeros, and
/// N−K parity strips of the same length. Data strip `j` holds payload bytes
/// `j·strip_len .. (j+1)·strip_len`. A strip is sealed block by block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StripeShape {
    code: Code,
    payload_len: u32,
    block_len: BlockLen,
}

impl StripeShape {
    /// The shape of `payload_len` bytes under the storage code (N,K), in the longest blocks; none
    /// above [`STRIPE_PAYLOAD_MAX`].
    pub const fn new(code: Code, payload_len: u32) -> Option<Self> {
        let block_len = BlockLen::LONGEST;
        if payload_len > STRIPE_PAYLOAD_MAX {
            return None;
        }
        Some(Self { code, payload_len, block_len })
    }

    /// The same, sealed in blocks of this length.
    #[must_use]
    pub const fn in_blocks(self, block_len: BlockLen) -> Self {
        Self { block_len, ..self }
    }

    /// Bytes of a strip between two seals.
    pub const fn block_len(self) -> BlockLen {
        self.block_len
    }

    /// Blocks of one strip.
    pub const fn blocks(self) -> u32 {
        self.block_len.count(self.strip_len())
    }

    /// The storage code (N,K).
    pub const fn code(self) -> Code {
        self.code
    }

    /// Bytes of payload.
    pub const fn payload_len(self) -> u32 {
        self.payload_len
    }

    /// Bytes of one strip; 0 only for an empty payload.
    pub const fn strip_len(self) -> u32 {
        self.payload_len.div_ceil(self.code.k() as u32)
    }

    /// Fragments that suffice to make the others: K, or one where there is no payload.
    pub const fn needed(self) -> usize {
        if self.payload_len == 0 { 1 } else { self.code.k() }
    }

    /// Bytes of payload in data strip `index`: less than the strip's length where padding begins.
    pub const fn payload_in(self, index: usize) -> u32 {
        let start = self.strip_len() as u64 * index as u64;
        let rest = (self.payload_len as u64).saturating_sub(start);
        if rest < self.strip_len() as u64 { rest as u32 } else { self.strip_len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strips_hold_the_payload(n in 1..=255usize, k in 1..=255usize, len in 0..=STRIPE_PAYLOAD_MAX) {
            prop_assume!(k <= n);
            let shape = StripeShape::new(Code::new(n, k)?, len).expect("within limits");
            let held: u32 = (0..k).map(|j| shape.payload_in(j)).sum();
            prop_assert_eq!(held, len);
            prop_assert!((0..k).all(|j| shape.payload_in(j) <= shape.strip_len()));
        }
    }
}
