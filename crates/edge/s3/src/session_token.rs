//! Temporary keys. What is known of one is sealed in the token that goes with it, so that nothing
//! is kept of them here, however many there are.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ripstop_envelope::{Binding, DataKey, KeyFault, ObjectKeys, WrappedKey};
use serde_json::{Value, json};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Longest token, bytes: the longest policy of a session, and some more.
pub(crate) const TOKEN_LEN_MAX: usize = 8 << 10;
/// The form of a token, which it begins with.
const VERSION: u8 = 1;
/// What its key is wrapped for: no bucket is called like nothing.
const CONTEXT: &str = "session token 1";
/// What marks the secret that a session was begun with.
const MARK: &[u8] = b"ripstop session 1";
/// How temporary access keys begin, as AWS's.
const PREFIX: &str = "ASIA";
/// The one salt of a key that encrypts one text.
const SALT: [u8; 8] = [0; 8];

/// A key that ends, and whose it is.
pub(crate) struct TemporaryKey {
    pub(crate) access_key: String,
    pub(crate) secret_key: Zeroizing<String>,
    /// The permanent key that it stands for.
    pub(crate) parent: String,
    /// Of that one's secret: another one ends the session.
    mark: String,
    /// What the session is called.
    pub(crate) name: String,
    /// Seconds since 1970.
    pub(crate) began_s: i64,
    /// The same: from then on it lets nobody in.
    pub(crate) ends_s: i64,
    /// What the session is narrowed to.
    pub(crate) policy: Option<String>,
}

/// What a session is to be.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) policy: Option<String>,
    pub(crate) began_s: i64,
    pub(crate) duration_s: i64,
}

impl TemporaryKey {
    /// A new one of the owner of a permanent key.
    pub(crate) fn draw(parent: &str, parent_secret: &str, wanted: Wanted) -> Self {
        let mut random = Zeroizing::new([0; 28]);
        ripstop_host::fill(&mut *random);
        let Wanted { name, policy, began_s, duration_s } = wanted;
        Self {
            access_key: format!("{PREFIX}{}", hex::encode_upper(&random[..8])),
            secret_key: Zeroizing::new(hex::encode(&random[8..])),
            parent: parent.to_owned(),
            mark: mark(parent_secret),
            name,
            began_s,
            ends_s: began_s.saturating_add(duration_s),
            policy,
        }
    }

    /// The token that goes with it.
    pub(crate) fn seal(&self, keys: &ObjectKeys) -> Result<String, KeyFault> {
        let data_key = DataKey::generate();
        let WrappedKey { key, wrapped, .. } =
            keys.wrap(&data_key, None, &binding(&self.access_key))?;
        let Self { secret_key, parent, mark, name, began_s, ends_s, policy, .. } = self;
        let told = json!([&**secret_key, parent, mark, name, began_s, ends_s, policy]);
        let mut block = told.to_string().into_bytes();
        data_key.stream(&SALT).encrypt(0, &mut block);
        let mut token = vec![VERSION, key.len() as u8, wrapped.len() as u8];
        token.extend([key.as_bytes(), &wrapped, &block].concat());
        Ok(URL_SAFE_NO_PAD.encode(token))
    }

    /// What a token says of the key that it goes with; nothing if it was not made here, of another
    /// key, or changed.
    pub(crate) fn open(token: &str, access_key: &str, keys: &ObjectKeys) -> Option<Self> {
        if token.len() > TOKEN_LEN_MAX {
            return None;
        }
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let ([VERSION, key_len, wrapped_len], rest) = token.split_first_chunk()? else {
            return None;
        };
        let (key, rest) = rest.split_at_checked(usize::from(*key_len))?;
        let (wrapped, block) = rest.split_at_checked(usize::from(*wrapped_len))?;
        let key = std::str::from_utf8(key).ok()?.to_owned();
        let wrapped = WrappedKey { key, is_named: false, wrapped: wrapped.to_owned() };
        let data_key = keys.unwrap(&wrapped, &binding(access_key)).ok()?;
        let mut block = Zeroizing::new(block.to_owned());
        let len = data_key.stream(&SALT).decrypt(0, &mut block).ok()?;
        Self::told(access_key, &block[..len])
    }

    fn told(access_key: &str, text: &[u8]) -> Option<Self> {
        let Value::Array(values) = serde_json::from_slice(text).ok()? else { return None };
        let [secret_key, parent, mark, name, began_s, ends_s, policy]: [Value; 7] =
            values.try_into().ok()?;
        let text = |value: Value| match value {
            Value::String(text) => Some(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        };
        Some(Self {
            access_key: access_key.to_owned(),
            secret_key: Zeroizing::new(text(secret_key)?),
            parent: text(parent)?,
            mark: text(mark)?,
            name: text(name)?,
            began_s: began_s.as_i64()?,
            ends_s: ends_s.as_i64()?,
            policy: if policy.is_null() { None } else { Some(text(policy)?) },
        })
    }

    /// Whether the permanent key has still the secret that the session was begun with.
    pub(crate) fn is_of(&self, parent_secret: &str) -> bool {
        mark(parent_secret).as_bytes().ct_eq(self.mark.as_bytes()).into()
    }
}

fn binding(access_key: &str) -> Binding<'_> {
    Binding { bucket: "", key: access_key, context: CONTEXT }
}

fn mark(secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
    mac.update(MARK);
    hex::encode(&mac.finalize().into_bytes()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_envelope::KeyRing;

    fn drawn(policy: Option<&str>) -> TemporaryKey {
        let policy = policy.map(str::to_owned);
        let wanted = Wanted { name: "night".into(), policy, began_s: 1000, duration_s: 900 };
        TemporaryKey::draw("PARENT", "a secret", wanted)
    }

    #[test]
    fn a_token_says_what_was_sealed_in_it_and_shows_nothing() {
        let ring = KeyRing::generate();
        let keys = ObjectKeys::new(ring.clone());
        let key = drawn(Some("{\"Statement\":[]}"));
        let token = key.seal(&keys).unwrap();
        keys.replace(ring.rotated(None).unwrap());
        let opened = TemporaryKey::open(&token, &key.access_key, &keys).unwrap();
        assert_eq!(opened.secret_key, key.secret_key);
        assert_eq!((opened.parent.as_str(), opened.name.as_str()), ("PARENT", "night"));
        assert_eq!((opened.began_s, opened.ends_s), (1000, 1900));
        assert_eq!(opened.policy.as_deref(), Some("{\"Statement\":[]}"));
        assert!(opened.is_of("a secret") && !opened.is_of("another"));
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        let shown = String::from_utf8_lossy(&bytes);
        assert!(!shown.contains("PARENT") && !shown.contains(key.secret_key.as_str()));
        assert!(TemporaryKey::open(&token, "ASIA0000", &keys).is_none(), "of another key");
        let others = ObjectKeys::new(KeyRing::generate());
        assert!(TemporaryKey::open(&token, &key.access_key, &others).is_none());
        let long = token + &"A".repeat(TOKEN_LEN_MAX);
        assert!(TemporaryKey::open(&long, &key.access_key, &keys).is_none());
        assert!(key.seal(&ObjectKeys::default()).is_err(), "without keys there are no tokens");
    }

    proptest! {
        #[test]
        fn a_token_that_was_changed_does_not_open(bit: prop::sample::Index, len: prop::sample::Index) {
            let keys = ObjectKeys::new(KeyRing::generate());
            let key = drawn(None);
            let token = URL_SAFE_NO_PAD.decode(key.seal(&keys).unwrap()).unwrap();
            let mut other = token.clone();
            let bit = bit.index(8 * other.len());
            other[bit / 8] ^= 1 << (bit % 8);
            for bytes in [&other[..], &token[..len.index(token.len())]] {
                let text = URL_SAFE_NO_PAD.encode(bytes);
                prop_assert!(TemporaryKey::open(&text, &key.access_key, &keys).is_none());
            }
        }
    }
}
