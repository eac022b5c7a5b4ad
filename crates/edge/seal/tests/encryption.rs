//! What encryption gives back, hides and refuses.

use proptest::prelude::*;
use ripstop_seal::{Address, Cipher, Forged, Kernel, StoreKey};

const ADDRESS: Address = Address::new(*b"twenty-eight bytes in a line");

fn key() -> StoreKey {
    StoreKey::from_bytes(std::array::from_fn(|at| at as u8))
}

/// Computed with OpenSSL.
#[test]
fn encrypted_blocks_never_change() {
    for kernel in Kernel::available() {
        let mut bytes = *b"a block of few bytes";
        let tag = Cipher::with_kernel(&key(), kernel).encrypt(&ADDRESS, 9, &mut bytes);
        let found = hex::encode([&bytes[..], &tag].concat());
        let expected = "846fb593825f43c66036acfdca539797797a2ff21f601728f056513cb52b501f4f78b9ef";
        assert_eq!(found, expected, "{kernel}");
    }
}

#[test]
fn what_was_changed_is_refused_and_wiped() {
    let cipher = Cipher::new(&key());
    let mut bytes = *b"a block of few bytes";
    let tag = cipher.encrypt(&ADDRESS, 9, &mut bytes);
    let refused = |bytes: &[u8], number, address: Address, tag: [u8; 16]| {
        let mut bytes = bytes.to_vec();
        let result = cipher.decrypt(&address, number, &mut bytes, &tag);
        assert_eq!(result, Err(Forged { address, number, key: key().id() }));
        assert!(bytes.iter().all(|byte| *byte == 0));
    };
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        refused(&changed, 9, ADDRESS, tag);
    }
    for bit in 0..128 {
        let mut changed = tag;
        changed[bit / 8] ^= 1 << (bit % 8);
        refused(&bytes, 9, ADDRESS, changed);
    }
    refused(&bytes, 8, ADDRESS, tag);
    refused(&bytes, 9, Address::new([0; 28]), tag);
    refused(&bytes[..19], 9, ADDRESS, tag);
    let other = Cipher::new(&StoreKey::from_bytes([0; 32]));
    assert!(other.decrypt(&ADDRESS, 9, &mut bytes.clone(), &tag).is_err());
    assert_eq!(cipher.decrypt(&ADDRESS, 9, &mut bytes, &tag), Ok(()));
    assert_eq!(&bytes, b"a block of few bytes");
}

#[test]
fn a_place_that_is_written_twice_tells_whether_the_bytes_are_the_same_and_no_more() {
    let cipher = Cipher::new(&key());
    let encrypted = |bytes: [u8; 64]| {
        let mut bytes = bytes;
        let tag = cipher.encrypt(&ADDRESS, 0, &mut bytes);
        (bytes, tag)
    };
    let (first, again, other) = (encrypted([1; 64]), encrypted([1; 64]), encrypted([3; 64]));
    assert_eq!(first, again);
    // With one key stream for both, the sum would be that of the plain bytes: 2 everywhere.
    let sums = first.0.iter().zip(&other.0).filter(|(a, b)| *a ^ *b == 2).count();
    assert!(sums < 8, "{sums} of 64");
}

#[test]
fn the_key_is_not_printed() {
    assert_eq!(format!("{:?}", Cipher::new(&key())), format!("Cipher({})", key().id()));
}

proptest! {
    #[test]
    fn blocks_round_trip(plain in prop::collection::vec(any::<u8>(), 0..70_000), number: u32) {
        let kernels: Vec<Kernel> = Kernel::available().collect();
        let (first, last) = (kernels[0], kernels[kernels.len() - 1]);
        let mut bytes = plain.clone();
        let tag = Cipher::with_kernel(&key(), last).encrypt(&ADDRESS, number, &mut bytes);
        prop_assert!(plain.len() < 16 || bytes != plain);
        let cipher = Cipher::with_kernel(&key(), first);
        prop_assert_eq!(cipher.decrypt(&ADDRESS, number, &mut bytes, &tag), Ok(()));
        prop_assert!(bytes == plain);
    }
}
