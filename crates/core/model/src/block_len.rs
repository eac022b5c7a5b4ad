/// Bytes of a strip between two seals: a power of two from 4 KiB to 64 KiB. A read of a strip
/// fetches whole blocks, so small ones suit stripes of which little is read at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockLen {
    shift: u8,
}

impl BlockLen {
    /// 4 KiB.
    pub const SHORTEST: Self = Self { shift: 12 };
    /// 64 KiB: of all stripes that do not say otherwise.
    pub const LONGEST: Self = Self { shift: 16 };

    /// The length in bytes.
    pub const fn bytes(self) -> u32 {
        1 << self.shift
    }

    /// As a number in records and headers, for ever: its binary logarithm; 0 for the longest, which
    /// is not written down.
    pub const fn number(self) -> u8 {
        if self.shift == Self::LONGEST.shift { 0 } else { self.shift }
    }

    /// The length with this number; `None` if no length has it.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::LONGEST),
            shift if shift >= Self::SHORTEST.shift && shift < Self::LONGEST.shift => {
                Some(Self { shift })
            }
            _ => None,
        }
    }

    /// Blocks that `len` bytes make, the last of which may be shorter.
    pub const fn count(self, len: u32) -> u32 {
        (len >> self.shift) + (len & (self.bytes() - 1) != 0) as u32
    }

    /// The block that byte `at` is in.
    pub const fn of(self, at: u32) -> u32 {
        at >> self.shift
    }

    /// Where a block begins.
    pub const fn start(self, number: u32) -> u32 {
        number << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_lengths_have_a_number_and_nothing_else_is_one() {
        let known = (0..=u8::MAX)
            .filter_map(|number| Some((number, BlockLen::from_number(number)?.bytes())));
        let expected = [(0, 65536), (12, 4096), (13, 8192), (14, 16384), (15, 32768)];
        assert!(known.clone().eq(expected));
        for (number, _) in known {
            assert_eq!(BlockLen::from_number(number).map(BlockLen::number), Some(number));
        }
    }

    #[test]
    fn blocks_are_counted_as_a_division_would() {
        for block in [BlockLen::SHORTEST, BlockLen::LONGEST] {
            for len in [0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 26] {
                assert_eq!(block.count(len), len.div_ceil(block.bytes()));
                assert_eq!(block.of(len), len / block.bytes());
                assert_eq!(block.start(block.of(len)), len / block.bytes() * block.bytes());
            }
        }
    }
}
