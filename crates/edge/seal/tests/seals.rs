//! What seals hold, and what they find out.

use crc_fast::{CrcAlgorithm, checksum};
use proptest::prelude::*;
use ripstop_seal::{ADDRESS_LEN, Address, Kernel, Sealer, StoreKey};

const ADDRESS: Address = Address::new(*b"twenty-eight bytes in a line");

fn key() -> StoreKey {
    StoreKey::from_bytes(std::array::from_fn(|at| at as u8))
}

fn sealer() -> Sealer {
    Sealer::new(&key())
}

fn crc(bytes: &[u8]) -> u64 {
    checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

/// Bytes that differ from `bytes` in the first one and have the same CRC-64: what a node makes that
/// mends the checksum without touching it. The last eight bytes make up for the first.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let zeros = vec![0; bytes.len()];
    // What a bit does to the checksum, whatever the other bits are.
    let effect = |bit: usize| {
        let mut flipped = zeros.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        crc(&flipped) ^ crc(&zeros)
    };
    let last = 8 * (bytes.len() - 8);
    // Rows of the form (effect, which of the last 64 bits have it), brought to one leading bit
    // each.
    let mut rows: Vec<(u64, u64)> = Vec::new();
    let reduced = |(mut effect, mut bits): (u64, u64), rows: &[(u64, u64)]| {
        for (row, row_bits) in rows {
            if effect & (1 << row.ilog2()) != 0 {
                effect ^= row;
                bits ^= row_bits;
            }
        }
        (effect, bits)
    };
    for bit in 0..64 {
        let row = reduced((effect(last + bit), 1 << bit), &rows);
        assert_ne!(row.0, 0, "eight bytes reach every checksum");
        rows.push(row);
    }
    let (left, bits) = reduced((effect(0), 0), &rows);
    assert_eq!(left, 0);
    let mut forged = bytes.to_vec();
    forged[0] ^= 1;
    for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
        forged[last / 8 + bit / 8] ^= 1 << (bit % 8);
    }
    forged
}

/// A change of these is a change of the format: fragments that are stored would no longer be read.
/// They were computed with OpenSSL's AES-256-GCM-SIV.
#[test]
fn seals_never_change() {
    let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    for kernel in Kernel::available() {
        let sealer = Sealer::with_kernel(&key(), kernel);
        let block = |number, bytes: &[u8]| hex::encode(sealer.block(&ADDRESS, number, [bytes]));
        assert_eq!(block(0, &[]), "239f36fbb43309dd", "{kernel}");
        assert_eq!(block(0, b"bytes"), "803bc6004f432e20", "{kernel}");
        assert_eq!(block(9, b"bytes"), "a9ac9a7209190667", "{kernel}");
        assert_eq!(block(1, &bytes[..65_536]), "3ebf60a7ac0808a9", "{kernel}");
        let header = |bytes: &[u8]| hex::encode(sealer.header([bytes]));
        assert_eq!(header(b"bytes"), "d9865ea13df5a0be52591ba9ab625589", "{kernel}");
        assert_eq!(header(&bytes), "d6d9260b8367068e47d09754cc9604f4", "{kernel}");
    }
}

#[test]
fn no_flipped_bit_of_a_block_or_of_its_seal_passes() {
    let sealer = sealer();
    for len in [1, 16, 100, 1000] {
        let mut bytes = vec![0xa5; len];
        let mut seal = sealer.block(&ADDRESS, 7, [&bytes]);
        assert!(sealer.block_holds(&ADDRESS, 7, [&bytes], &seal));
        for bit in 0..8 * len {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!sealer.block_holds(&ADDRESS, 7, [&bytes], &seal), "bit {bit} of {len} bytes");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for bit in 0..8 * seal.len() {
            seal[bit / 8] ^= 1 << (bit % 8);
            assert!(!sealer.block_holds(&ADDRESS, 7, [&bytes], &seal), "bit {bit} of the seal");
            seal[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_block_holds_at_its_own_place_only() {
    let sealer = sealer();
    let blocks = [[1_u8; 4096], [2; 4096]];
    let seals = [0, 1].map(|at| sealer.block(&ADDRESS, at as u32, [&blocks[at]]));
    for (number, block, seal) in [(0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (0, 0, 1)] {
        assert!(!sealer.block_holds(&ADDRESS, number, [&blocks[block]], &seals[seal]));
    }
    for bit in 0..8 * ADDRESS_LEN {
        let mut other = *b"twenty-eight bytes in a line";
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(!sealer.block_holds(&Address::new(other), 0, [&blocks[0]], &seals[0]), "{bit}");
    }
    for bit in 0..32 {
        assert!(!sealer.block_holds(&ADDRESS, 1 << bit, [&blocks[0]], &seals[0]), "{bit}");
    }
}

#[test]
fn length_counts_though_blocks_are_padded() {
    let sealer = sealer();
    let zeros = [0; 64];
    let mut seals: Vec<_> = (0..64).map(|len| sealer.block(&ADDRESS, 0, [&zeros[..len]])).collect();
    seals.sort_unstable();
    seals.dedup();
    assert_eq!(seals.len(), 64);
}

#[test]
fn another_key_makes_other_seals() {
    for bit in 0..256 {
        let mut bytes: [u8; 32] = std::array::from_fn(|at| at as u8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let other = Sealer::new(&StoreKey::from_bytes(bytes));
        assert_ne!(other.key_id(), sealer().key_id());
        assert!(!other.block_holds(
            &ADDRESS,
            0,
            [b"bytes"],
            &sealer().block(&ADDRESS, 0, [b"bytes"])
        ));
        assert!(!other.header_holds([b"bytes"], &sealer().header([b"bytes"])));
    }
}

#[test]
fn a_header_and_a_block_have_nothing_in_common() {
    let (sealer, nothing): (_, [&[u8]; 0]) = (sealer(), []);
    let mut place = b"twenty-eight bytes in a line".to_vec();
    place.extend(0_u32.to_le_bytes());
    let block = sealer.block(&ADDRESS, 0, nothing);
    assert_ne!(sealer.header(nothing)[..8], block);
    assert_ne!(sealer.header([&place])[..8], block);
}

#[test]
fn a_seal_of_another_length_does_not_hold() {
    let (block, header) = (sealer().block(&ADDRESS, 0, [b"b"]), sealer().header([b"b"]));
    for len in 0..8 {
        assert!(!sealer().block_holds(&ADDRESS, 0, [b"b"], &block[..len]));
        assert!(!sealer().header_holds([b"b"], &header[..2 * len]));
    }
    assert!(!sealer().block_holds(&ADDRESS, 0, [b"b"], &[&block[..], &[0]].concat()));
}

#[test]
fn a_change_that_a_crc_does_not_see_is_seen() {
    let bytes: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect();
    let forged = mended(&bytes);
    assert!(forged != bytes && crc(&forged) == crc(&bytes));
    let seal = sealer().block(&ADDRESS, 0, [&bytes]);
    assert!(sealer().block_holds(&ADDRESS, 0, [&bytes], &seal));
    assert!(!sealer().block_holds(&ADDRESS, 0, [&forged], &seal));
    // Nor does a node help itself by writing the checksum that used to be there.
    assert!(!sealer().block_holds(&ADDRESS, 0, [&forged], &crc(&forged).to_le_bytes()));
    let header = sealer().header([&bytes]);
    assert!(!sealer().header_holds([&forged], &header));
}

#[test]
fn nothing_secret_is_printed() {
    let id = key().id();
    assert_eq!(format!("{:?}", sealer()), format!("Sealer({id})"));
    assert_eq!(format!("{:?}", sealer().begin_block(&ADDRESS, 0)), format!("BlockSeal({id})"));
}

proptest! {
    #[test]
    fn a_block_that_comes_in_pieces_has_the_same_seal(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..12),
        number: u32,
    ) {
        for kernel in Kernel::available() {
            let sealer = Sealer::with_kernel(&key(), kernel);
            let expected = sealer.block(&ADDRESS, number, [pieces.concat()]);
            prop_assert_eq!(sealer.block(&ADDRESS, number, &pieces), expected);
            let mut running = sealer.begin_block(&ADDRESS, number);
            for piece in &pieces {
                running.update(piece);
            }
            prop_assert_eq!(running.finish(), expected);
            prop_assert_eq!(sealer.header(&pieces), sealer.header([pieces.concat()]));
        }
    }

    #[test]
    fn no_change_of_a_block_passes(
        bytes in prop::collection::vec(any::<u8>(), 1..70_000),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
    ) {
        let seal = sealer().block(&ADDRESS, 3, [&bytes]);
        let mut changed = bytes.clone();
        for (at, by) in &changes {
            changed[at.index(bytes.len())] ^= by;
        }
        prop_assume!(changed != bytes);
        prop_assert!(sealer().block_holds(&ADDRESS, 3, [&bytes], &seal));
        prop_assert!(!sealer().block_holds(&ADDRESS, 3, [&changed], &seal));
    }
}
