use crate::Sealing;
use crc_fast::{CrcAlgorithm, Digest};
use ripstop_model::{StripeId, StripeShape};
use std::ops::Range;

/// Bytes that a strip takes in a fragment, seals included.
pub(crate) const fn body_len(shape: StripeShape, sealing: Sealing) -> u32 {
    shape.strip_len() + shape.blocks() * sealing.seal_len()
}

/// The whole blocks that cover `columns` of a strip, as columns.
pub(crate) fn cover(columns: &Range<u32>, shape: StripeShape) -> Range<u32> {
    let block = shape.block_len();
    let start = block.start(block.of(columns.start));
    let end = block.count(columns.end).saturating_mul(block.bytes()).min(shape.strip_len());
    start..end
}

/// Where in the fragment's body the blocks that cover `columns` are.
pub(crate) fn body_range(columns: &Range<u32>, shape: StripeShape, sealing: Sealing) -> Range<u32> {
    let (covered, block, seal_len) = (cover(columns, shape), shape.block_len(), sealing.seal_len());
    let start = covered.start + block.of(covered.start) * seal_len;
    start..covered.end + block.count(covered.end) * seal_len
}

/// The lengths of the blocks that cover `columns` of a strip, each followed by that of its seal.
pub(crate) fn piece_lens(
    columns: &Range<u32>,
    shape: StripeShape,
    sealing: Sealing,
) -> impl Iterator<Item = u32> + use<> {
    let (covered, seal_len) = (cover(columns, shape), sealing.seal_len());
    let block_len = shape.block_len().bytes();
    let starts = (covered.start..covered.end).step_by(block_len as usize);
    starts.flat_map(move |start| [(covered.end - start).min(block_len), seal_len])
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
    use ripstop_model::{BlockLen, Code};

    proptest! {
        #[test]
        fn body_ranges_cover_whole_blocks(
            len in 1..400_000u32,
            a: u32,
            b: u32,
            encrypted: bool,
            block in prop::sample::select(vec![0, 12, 13, 14, 15]),
        ) {
            let sealing = if encrypted { Sealing::Encrypted } else { Sealing::Keyed };
            let seal_len = sealing.seal_len();
            let block = BlockLen::from_number(block).expect("a length");
            let code = Code::new(3, 1)?;
            let shape = StripeShape::new(code, len).expect("small").in_blocks(block);
            let (a, b) = (a % len, b % len);
            let columns = a.min(b)..a.max(b) + 1;
            let covered = cover(&columns, shape);
            prop_assert!(covered.start <= columns.start && covered.end >= columns.end);
            prop_assert!(columns.start - covered.start < block.bytes());
            prop_assert!(covered.end - columns.end < block.bytes());
            prop_assert_eq!(covered.start % block.bytes(), 0);
            let range = body_range(&columns, shape, sealing);
            let blocks = (covered.end - covered.start).div_ceil(block.bytes());
            prop_assert_eq!(range.end - range.start, covered.end - covered.start + blocks * seal_len);
            prop_assert!(range.end <= body_len(shape, sealing));
            prop_assert_eq!(piece_lens(&columns, shape, sealing).sum::<u32>(), range.end - range.start);
            prop_assert_eq!(piece_lens(&columns, shape, sealing).count() as u32, 2 * blocks);
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
