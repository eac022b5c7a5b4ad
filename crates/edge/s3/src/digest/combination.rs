//! The CRC over a whole from those over its parts.
//!
//! A CRC is a polynomial over GF(2), and bytes that follow multiply it by a power of x: for `B`
//! after `A`, `crc(AB) = crc(A) · x^(8·|B|) + crc(B)` modulo the CRC's polynomial (which holds
//! where the initial value is also what is added at the end, as with all of S3's). Parts mostly
//! have one length, and so one power.

use ripstop_catalog::ChecksumAlgorithm;

/// A CRC's field: polynomials modulo its own, least significant coefficient in the highest bit of
/// `width`, as reflected CRCs have them.
#[derive(Debug)]
struct Field {
    width: u32,
    polynomial: u64,
    /// x to the powers 1, 2, 4, 8 …
    squares: [u64; 64],
}

static CRC32: Field = Field::new(32, 0xedb8_8320);
static CRC32C: Field = Field::new(32, 0x82f6_3b78);
static CRC64_NVME: Field = Field::new(64, 0x9a6c_9329_ac4b_c9b5);

const fn field(algorithm: ChecksumAlgorithm) -> Option<&'static Field> {
    match algorithm {
        ChecksumAlgorithm::Crc32 => Some(&CRC32),
        ChecksumAlgorithm::Crc32c => Some(&CRC32C),
        ChecksumAlgorithm::Crc64Nvme => Some(&CRC64_NVME),
        ChecksumAlgorithm::Sha1
        | ChecksumAlgorithm::Sha256
        | ChecksumAlgorithm::Sha512
        | ChecksumAlgorithm::Md5
        | ChecksumAlgorithm::XxHash64
        | ChecksumAlgorithm::XxHash3
        | ChecksumAlgorithm::XxHash128 => None,
    }
}

impl Field {
    const fn new(width: u32, polynomial: u64) -> Self {
        let mut field = Self { width, polynomial, squares: [0; 64] };
        let mut power = field.one() >> 1;
        let mut at = 0;
        while at < field.squares.len() {
            field.squares[at] = power;
            power = field.product(power, power);
            at += 1;
        }
        field
    }

    const fn one(&self) -> u64 {
        1 << (self.width - 1)
    }

    const fn product(&self, a: u64, b: u64) -> u64 {
        let (mut sum, mut shifted) = (0, b);
        let mut coefficient = self.one();
        while coefficient != 0 {
            // Masks instead of branches: which coefficients are there is as good as random.
            sum ^= shifted & 0_u64.wrapping_sub((a & coefficient != 0) as u64);
            shifted = shifted >> 1 ^ self.polynomial & 0_u64.wrapping_sub(shifted & 1);
            coefficient >>= 1;
        }
        sum
    }

    /// What `bytes` more multiply a CRC by.
    fn shift(&self, bytes: u64) -> u64 {
        // x^(8n), bit by bit of n; lengths that overflow the table would be beyond 2^61 bytes.
        let powers = (0..61).filter(|bit| bytes >> bit & 1 == 1);
        powers.fold(self.one(), |shift, bit| self.product(shift, self.squares[bit + 3]))
    }
}

/// The CRC over all parts, given each one's and its length in bytes; `None` for what is no CRC, and
/// without parts.
pub(super) fn combined(
    algorithm: ChecksumAlgorithm,
    parts: impl IntoIterator<Item = (u64, u64)>,
) -> Option<u64> {
    let field = field(algorithm)?;
    let mut parts = parts.into_iter();
    let (first, _) = parts.next()?;
    let mut last = (0, field.one());
    let whole = parts.fold(first, |whole, (value, len)| {
        if len != last.0 {
            last = (len, field.shift(len));
        }
        field.product(last.1, whole) ^ value
    });
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc_fast::{CrcAlgorithm, checksum, checksum_combine};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    const ALGORITHMS: [(ChecksumAlgorithm, CrcAlgorithm); 3] = [
        (ChecksumAlgorithm::Crc32, CrcAlgorithm::Crc32IsoHdlc),
        (ChecksumAlgorithm::Crc32c, CrcAlgorithm::Crc32Iscsi),
        (ChecksumAlgorithm::Crc64Nvme, CrcAlgorithm::Crc64Nvme),
    ];

    proptest! {
        #[test]
        fn crcs_of_parts_combine_to_that_of_the_whole(
            parts: Vec<Vec<u8>>, which in 0..ALGORITHMS.len(),
        ) {
            let (algorithm, crc) = ALGORITHMS[which];
            let of = parts.iter().map(|part| (checksum(crc, part), part.len() as u64));
            let whole = (!parts.is_empty()).then(|| checksum(crc, &parts.concat()));
            prop_assert_eq!(combined(algorithm, of), whole);
        }

        #[test]
        fn parts_of_any_length_combine_as_elsewhere(
            a: u64, b: u64, len in 1..5_u64 << 40, which in 0..ALGORITHMS.len(),
        ) {
            let (algorithm, crc) = ALGORITHMS[which];
            let mask = if algorithm == ChecksumAlgorithm::Crc64Nvme { u64::MAX } else { 0xffff_ffff };
            let (a, b) = (a & mask, b & mask);
            let expected = checksum_combine(crc, a, b, len);
            prop_assert_eq!(combined(algorithm, [(a, 1), (b, len)]), Some(expected));
        }
    }

    #[test]
    fn ten_thousand_parts_combine_in_no_time() {
        for (algorithm, _) in ALGORITHMS {
            // Of lengths that are all different, which is the worst.
            let parts =
                (0..10_000_u64).map(|at| ((at * 0x1234_5679) & 0xffff_ffff, (5 << 30) - at));
            let begun = Instant::now();
            assert!(combined(algorithm, parts).is_some());
            let spent = begun.elapsed();
            assert!(spent < Duration::from_secs(1), "{algorithm:?}: {spent:?}");
        }
    }

    #[test]
    fn what_is_no_crc_is_not_combined() {
        assert_eq!(combined(ChecksumAlgorithm::Sha256, [(1, 1)]), None);
        assert_eq!(combined(ChecksumAlgorithm::Crc32, []), None);
    }
}
