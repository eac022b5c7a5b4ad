use crate::kernel::{self, BLOCK_LEN, INITIAL, State};

/// An MD5 under computation.
#[derive(Clone, Debug)]
pub struct Md5 {
    pub(crate) state: State,
    /// Bytes that came.
    len: u64,
    /// The last of them, short of a block.
    rest: [u8; BLOCK_LEN],
}

impl Default for Md5 {
    fn default() -> Self {
        Self { state: INITIAL, len: 0, rest: [0; BLOCK_LEN] }
    }
}

impl Md5 {
    /// Takes `bytes` in.
    pub fn update(&mut self, bytes: &[u8]) {
        let bytes = &bytes[self.fill(bytes)..];
        let whole = bytes.len() / BLOCK_LEN * BLOCK_LEN;
        kernel::one(&mut self.state, &bytes[..whole]);
        self.take_whole(whole);
        self.fill(&bytes[whole..]);
    }

    /// Completes the block under way from the front of `bytes`, or begins one with less than a
    /// block; answers how many it took.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let held = (self.len % BLOCK_LEN as u64) as usize;
        if held == 0 && bytes.len() >= BLOCK_LEN {
            return 0;
        }
        let taken = bytes.len().min(BLOCK_LEN - held);
        self.rest[held..held + taken].copy_from_slice(&bytes[..taken]);
        self.len += taken as u64;
        if held + taken == BLOCK_LEN {
            kernel::one(&mut self.state, &self.rest);
        }
        taken
    }

    /// Counts blocks that were compressed into its state.
    pub(crate) fn take_whole(&mut self, bytes: usize) {
        self.len += bytes as u64;
    }

    /// The digest.
    pub fn finish(mut self) -> [u8; 16] {
        let bits = self.len.wrapping_mul(8);
        let held = self.len as usize % BLOCK_LEN;
        let zeros = (2 * BLOCK_LEN - 9 - held) % BLOCK_LEN;
        let mut padding = [0; 2 * BLOCK_LEN];
        padding[0] = 0x80;
        padding[1 + zeros..][..8].copy_from_slice(&bits.to_le_bytes());
        self.update(&padding[..1 + zeros + 8]);
        let mut digest = [0; 16];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::Digest as _;
    use proptest::prelude::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let of = |text: &str| {
            let mut md5 = Md5::default();
            md5.update(text.as_bytes());
            md5.finish().map(|byte| format!("{byte:02x}")).concat()
        };
        assert_eq!(of(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(of("abc"), "900150983cd24fb0d6963f7d28e17f72");
        let long = "1234567890".repeat(8);
        assert_eq!(of(&long), "57edf4a22be3c955ac49da2e2107b67a");
    }

    proptest! {
        #[test]
        fn digests_are_those_of_another_implementation(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..12),
        ) {
            let mut md5 = Md5::default();
            for piece in &pieces {
                md5.update(piece);
            }
            let expected: [u8; 16] = md5::Md5::digest(pieces.concat()).into();
            prop_assert_eq!(md5.finish(), expected);
        }
    }
}
