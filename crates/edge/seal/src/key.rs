use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Bytes of a key.
const KEY_LEN: usize = 32;
/// Bytes of a key's id.
const ID_LEN: usize = 8;
/// What a key's text begins with; the number is that of everything that is made with the key.
const PREFIX: &str = "ripstop-key-1";

/// The secret of a store, of which all its keys are derived. Wiped from memory as it is dropped;
/// never printed, except by [`StoreKey::to_text`].
#[derive(Clone)]
pub struct StoreKey(Zeroizing<[u8; KEY_LEN]>);

/// Tells keys apart without telling anything of them: 64 bits that are derived from the key. May be
/// shown and stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; ID_LEN]);

/// The text is not a key. No message repeats any of it but the id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum KeyError {
    /// It does not have a key's form.
    #[error(
        "not a store's key: one line ripstop-key-1:ID:KEY is wanted, of 16 and 64 hexadecimal digits"
    )]
    Form,
    /// It has, but id and key are not of one key.
    #[error("store key {id}: its digits do not belong to this id, so one of them was mistyped")]
    Mistyped {
        /// The id that was read.
        id: KeyId,
    },
}

impl StoreKey {
    /// A new key, from the system's randomness.
    ///
    /// # Panics
    /// If the system has none.
    pub fn generate() -> Self {
        let mut key = Zeroizing::new([0; KEY_LEN]);
        ripstop_host::fill(&mut *key);
        Self(key)
    }

    /// The key of these bytes, all of which must be secret.
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key that [`StoreKey::to_text`] wrote; white space around it does not count.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let (id, key) = text
            .trim()
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix(':')?.split_once(':'))
            .ok_or(KeyError::Form)?;
        let (mut found, mut bytes) = ([0; ID_LEN], Zeroizing::new([0; KEY_LEN]));
        hex::decode_to_slice(id, &mut found).map_err(|_| KeyError::Form)?;
        hex::decode_to_slice(key, &mut *bytes).map_err(|_| KeyError::Form)?;
        let key = Self(bytes);
        if key.id() != KeyId(found) {
            return Err(KeyError::Mistyped { id: KeyId(found) });
        }
        Ok(key)
    }

    /// The key as the one line of a file, to be kept from everybody who may not have the key:
    /// `ripstop-key-1:<16 hex digits of the id>:<64 hex digits of the key>`. The id shows which key
    /// it is, and that nothing was mistyped.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut digits = Zeroizing::new([0; 2 * KEY_LEN]);
        hex::encode_to_slice(self.0.as_slice(), &mut *digits).expect("two digits for each byte");
        let digits = str::from_utf8(&*digits).expect("digits are text");
        let id = self.id().to_string();
        let len = PREFIX.len() + 1 + id.len() + 1 + digits.len();
        let mut text = Zeroizing::new(String::with_capacity(len));
        for part in [PREFIX, ":", &id, ":", digits] {
            text.push_str(part);
        }
        text
    }

    /// Its id.
    pub fn id(&self) -> KeyId {
        let derived = self.derive("ripstop key id 1");
        KeyId(*derived.first_chunk().expect("shorter than what is derived"))
    }

    /// The key for a purpose: one block of HKDF-Expand with SHA-256 (RFC 5869, section 2.3), the
    /// store's key, which is random already, as pseudorandom key.
    pub(crate) fn derive(&self, purpose: &str) -> Zeroizing<[u8; KEY_LEN]> {
        expand(&*self.0, purpose.as_bytes())
    }
}

fn expand(key: &[u8], purpose: &[u8]) -> Zeroizing<[u8; KEY_LEN]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(purpose);
    mac.update(&[1]);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreKey({})", self.id())
    }
}

impl KeyId {
    /// The id of these bytes.
    pub const fn from_bytes(bytes: [u8; ID_LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes, as they are stored.
    pub const fn to_bytes(self) -> [u8; ID_LEN] {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "ripstop-key-1:7dcff6cb0c4ffd7a:\
        000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn key() -> StoreKey {
        StoreKey::from_bytes(std::array::from_fn(|at| at as u8))
    }

    #[test]
    fn the_text_of_a_key_never_changes() {
        assert_eq!(*key().to_text(), TEXT);
        assert_eq!(key().id().to_string(), TEXT[14..30]);
    }

    #[test]
    fn a_line_with_white_space_around_it_is_a_key() {
        let read = StoreKey::from_text(&format!(" {TEXT}\r\n")).unwrap();
        assert_eq!(read.derive("a purpose"), key().derive("a purpose"));
        assert!(
            StoreKey::from_text(&TEXT.to_uppercase().replace("RIPSTOP-KEY", "ripstop-key")).is_ok()
        );
    }

    #[test]
    fn every_mistyped_digit_is_found() {
        for at in 14..TEXT.len() {
            let mut text = TEXT.to_owned();
            let digit = if &text[at..=at] == "5" { "6" } else { "5" };
            text.replace_range(at..=at, digit);
            let error = StoreKey::from_text(&text).unwrap_err();
            let is_separator = at == 30;
            assert_eq!(matches!(error, KeyError::Mistyped { .. }), !is_separator, "{text}");
        }
    }

    #[test]
    fn what_does_not_have_a_keys_form_is_refused_and_not_repeated() {
        let secret = &TEXT[31..];
        for text in [
            "",
            secret,
            &TEXT[..TEXT.len() - 1],
            &TEXT[..TEXT.len() - 2],
            &format!("{TEXT}00"),
            &TEXT.replace("key-1", "key-2"),
            &TEXT.replace("1f", "1g"),
            &TEXT.replace(':', " "),
            &format!("{TEXT}\n{TEXT}"),
        ] {
            let error = StoreKey::from_text(text).unwrap_err();
            assert_eq!(error, KeyError::Form, "{text}");
            assert!(!error.to_string().contains(&secret[..8]) && !error.to_string().contains("1g"));
        }
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", key()), format!("StoreKey({})", &TEXT[14..30]));
    }

    #[test]
    fn new_keys_differ() {
        assert_ne!(StoreKey::generate().id(), StoreKey::generate().id());
    }

    #[test]
    fn ids_go_through_bytes() {
        assert_eq!(KeyId::from_bytes(key().id().to_bytes()), key().id());
    }

    /// RFC 5869, appendix A.1: the first of its blocks.
    #[test]
    fn keys_are_derived_as_the_rfc_says() {
        let key = hex::decode("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
        let purpose = hex::decode("f0f1f2f3f4f5f6f7f8f9");
        assert_eq!(
            hex::encode(*expand(&key.unwrap(), &purpose.unwrap())),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        );
    }

    proptest! {
        #[test]
        fn text_round_trips(bytes: [u8; 32]) {
            let key = StoreKey::from_bytes(bytes);
            let read = StoreKey::from_text(&key.to_text()).unwrap();
            prop_assert_eq!(read.0, key.0);
        }
    }
}
