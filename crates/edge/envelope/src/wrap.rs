use crate::data_key::{DATA_KEY_LEN, DataKey};
use ripstop_seal::{ADDRESS_LEN, Address, CIPHER_TAG_LEN, Cipher, StoreKey};
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// What wrapping is for, among all that is encrypted with such keys.
const WRAPPING: &[u8] = b"ripstop wrapped key 1";

/// What a wrapped key is bound to: elsewhere it does not open.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The name of the object's bucket.
    pub bucket: &'a str,
    /// The object's key.
    pub key: &'a str,
    /// What the client bound it to besides.
    pub context: &'a str,
}

impl Binding<'_> {
    fn address(&self) -> Address {
        let mut hash = Sha256::new();
        hash.update(WRAPPING);
        for part in [self.bucket, self.key, self.context] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        Address::new(*digest.first_chunk::<ADDRESS_LEN>().expect("shorter than the digest"))
    }
}

/// The key of a client, which it sends with each request and which is never kept.
#[derive(Clone)]
pub struct CustomerKey(StoreKey);

impl CustomerKey {
    /// The key of these bytes.
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(StoreKey::from_bytes(*bytes))
    }

    /// A data key, encrypted with this one.
    pub fn wrap(&self, data_key: &DataKey, binding: &Binding<'_>) -> Vec<u8> {
        wrap(&self.0, data_key, binding)
    }

    /// The data key that was wrapped, if it was wrapped with this key and for this object.
    pub fn unwrap(&self, wrapped: &[u8], binding: &Binding<'_>) -> Option<DataKey> {
        unwrap(&self.0, wrapped, binding)
    }
}

impl fmt::Debug for CustomerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomerKey").finish_non_exhaustive()
    }
}

/// Data key and tag.
pub(crate) fn wrap(with: &StoreKey, data_key: &DataKey, binding: &Binding<'_>) -> Vec<u8> {
    let mut bytes = Zeroizing::new(*data_key.0);
    let tag = Cipher::new(with).encrypt(&binding.address(), 0, &mut *bytes);
    [&bytes[..], &tag].concat()
}

pub(crate) fn unwrap(with: &StoreKey, wrapped: &[u8], binding: &Binding<'_>) -> Option<DataKey> {
    let (bytes, tag) = wrapped.split_first_chunk::<DATA_KEY_LEN>()?;
    let tag: &[u8; CIPHER_TAG_LEN] = tag.try_into().ok()?;
    let mut bytes = Zeroizing::new(*bytes);
    Cipher::new(with).decrypt(&binding.address(), 0, &mut *bytes, tag).ok()?;
    Some(DataKey(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Binding<'_> = Binding { bucket: "b", key: "k", context: "" };

    #[test]
    fn a_wrapped_key_opens_with_its_key_and_for_its_object_alone() {
        let (key, other) = (CustomerKey::new(&[1; 32]), CustomerKey::new(&[2; 32]));
        let data_key = DataKey::generate();
        let wrapped = key.wrap(&data_key, &HERE);
        assert_eq!(key.unwrap(&wrapped, &HERE).unwrap().0, data_key.0);
        assert!(other.unwrap(&wrapped, &HERE).is_none());
        for elsewhere in [
            Binding { bucket: "bk", key: "", context: "" },
            Binding { key: "l", ..HERE },
            Binding { context: "{}", ..HERE },
        ] {
            assert!(key.unwrap(&wrapped, &elsewhere).is_none(), "{elsewhere:?}");
        }
        for len in 0..wrapped.len() {
            assert!(key.unwrap(&wrapped[..len], &HERE).is_none());
        }
        assert!(!wrapped.windows(8).any(|some| data_key.0.windows(8).any(|own| own == some)));
        assert_eq!(format!("{key:?}"), "CustomerKey { .. }");
    }
}
