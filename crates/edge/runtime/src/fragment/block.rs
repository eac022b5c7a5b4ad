use crate::Sealing;
use crc_fast::{CrcAlgorithm, Digest};
use ripstop_model::StripeId;
use std::ops::Range;

/// Bytes of strip between two seals: what the smallest read of a strip fetches.
pub(crate) const BLOCK_LEN: u32 = 64 << 10;

/// Bytes that a strip of `strip_len` bytes takes in a fragment, seals included.
pub(crate) const fn body_len(strip_len: u32, sealing: Sealing) -> u32 {
    strip_len + strip_len.div_ceil(BLOCK_LEN) * sealing.seal_len()
}

/// The whole blocks that cover `columns` of a strip, as columns.
pub(crate) fn cover(columns: &Range<u32>, strip_len: u32) -> Range<u32> {
    let start = columns.start / BLOCK_LEN * BLOCK_LEN;
    let end = columns.end.div_ceil(BLOCK_LEN).saturating_mul(BLOCK_LEN).min(strip_len);
    start..end
}

/// Where in the fragment's body the blocks that cover `columns` are.
pub(crate) fn body_range(columns: &Range<u32>, strip_len: u32, sealing: Sealing) -> Range<u32> {
    let (covered, seal_len) = (cover(columns, strip_len), sealing.seal_len());
    let start = covered.start + covered.start / BLOCK_LEN * seal_len;
    start..covered.end + covered.end.div_ceil(BLOCK_LEN) * seal_len
}

/// The lengths of the blocks that cover `columns` of a strip, each followed by that of its seal.
pub(crate) fn piece_lens(
    columns: &Range<u32>,
    strip_len: u32,
    sealing: Sealing,
) -> impl Iterator<Item = u32> + use<> {
    let (covered, seal_len) = (cover(columns, strip_len), sealing.seal_len());
    let starts = (covered.start..covered.end).step_by(BLOCK_LEN as usize);
    starts.flat_map(move |start| [(covered.end - start).min(BLOCK_LEN), seal_len])
}

/// The checksum of one block: CRC-64/NVME over its place (stripe, strip, number) and its bytes, so
/// that a block of another stripe, strip or place does not pass for this one.
pub(crate) fn checksum(stripe: StripeId, strip: u8, number: u32, bytes: &[u8]) -> [u8; 8] {
    let mut place = [0; 21];
    place[..16].copy_from_slice(&stripe.0.to_le_bytes());
    place[16] = strip;
    place[17..].copy_from_slice(&number.to_le_bytes());
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(&place);
    digest.update(bytes);
    digest.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn body_ranges_cover_whole_blocks(len in 1..400_000u32, a: u32, b: u32, encrypted: bool) {
            let sealing = if encrypted { Sealing::Encrypted } else { Sealing::Keyed };
            let seal_len = sealing.seal_len();
            let (a, b) = (a % len, b % len);
            let columns = a.min(b)..a.max(b) + 1;
            let covered = cover(&columns, len);
            prop_assert!(covered.start <= columns.start && covered.end >= columns.end);
            prop_assert_eq!(covered.start % BLOCK_LEN, 0);
            let range = body_range(&columns, len, sealing);
            let blocks = (covered.end - covered.start).div_ceil(BLOCK_LEN);
            prop_assert_eq!(range.end - range.start, covered.end - covered.start + blocks * seal_len);
            prop_assert!(range.end <= body_len(len, sealing));
            prop_assert_eq!(piece_lens(&columns, len, sealing).sum::<u32>(), range.end - range.start);
            prop_assert_eq!(piece_lens(&columns, len, sealing).count() as u32, 2 * blocks);
        }
    }

    #[test]
    fn a_block_passes_at_its_own_place_only() {
        let here = checksum(StripeId(7), 1, 2, b"bytes");
        assert_ne!(here, checksum(StripeId(8), 1, 2, b"bytes"));
        assert_ne!(here, checksum(StripeId(7), 0, 2, b"bytes"));
        assert_ne!(here, checksum(StripeId(7), 1, 3, b"bytes"));
        assert_ne!(here, checksum(StripeId(7), 1, 2, b"bytez"));
    }
}
