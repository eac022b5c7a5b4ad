//! Seals and encrypted blocks made again from the store's key with other implementations of the
//! standards alone: what docs/adr/0012-seals.md says is enough to read a store without this crate.

use aes_gcm_siv::{
    Aes256GcmSiv, Nonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use hmac::{Hmac, Mac as _};
use proptest::prelude::*;
use ripstop_seal::{Address, Cipher, Sealer, StoreKey};
use sha2::Sha256;

const BLOCK: [u8; 12] = *b"block\0\0\0\0\0\0\0";
const HEADER: [u8; 12] = *b"header\0\0\0\0\0\0";

fn derived(key: [u8; 32], purpose: &[u8]) -> Aes256GcmSiv {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    mac.update(purpose);
    mac.update(&[1]);
    Aes256GcmSiv::new(&mac.finalize().into_bytes())
}

fn encrypted(cipher: &Aes256GcmSiv, nonce: [u8; 12], aad: &[u8], msg: &[u8]) -> Vec<u8> {
    cipher.encrypt(&Nonce::from(nonce), Payload { msg, aad }).expect("far below the limits")
}

proptest! {
    #[test]
    fn they_are_those_of_the_standards(
        key: [u8; 32],
        address: [u8; 28],
        number: u32,
        bytes in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        let store_key = StoreKey::from_bytes(key);
        let sealer = Sealer::new(&store_key);
        let place = [&address[..], &number.to_le_bytes()].concat();
        let address = Address::new(address);

        let seals = derived(key, b"ripstop seal 1");
        let expected = encrypted(&seals, BLOCK, &place, &bytes);
        prop_assert_eq!(&sealer.block(&address, number, [&bytes])[..], &expected[bytes.len()..][..8]);
        let expected = encrypted(&seals, HEADER, &[], &bytes);
        prop_assert_eq!(&sealer.header([&bytes])[..], &expected[bytes.len()..]);

        let mut found = bytes.clone();
        let tag = Cipher::new(&store_key).encrypt(&address, number, &mut found);
        let expected = encrypted(&derived(key, b"ripstop encryption 1"), BLOCK, &place, &bytes);
        prop_assert_eq!([&found[..], &tag].concat(), expected);
    }
}
