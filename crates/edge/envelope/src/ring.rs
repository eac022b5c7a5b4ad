use ripstop_seal::{KeyError, KeyId, StoreKey};
use std::{collections::BTreeMap, fmt};
use thiserror::Error;
use zeroize::Zeroizing;

/// The name of the key that is meant where a client names none: one of the gateway's own, unless
/// there is one of that name.
pub const DEFAULT_NAME: &str = "aws/s3";

/// What a line of the gateway's own keys begins with.
const OWN: &str = "own ";
/// What a line of a named key begins with.
const NAMED: &str = "named ";
/// Longest name of a key.
const NAME_LEN_MAX: usize = 256;
const FIRST_LINE: &str = "# The keys of encrypted objects of a Ripstop store, which are secret: keep a copy of this file elsewhere.";

/// The keys that wrap data keys. Of several of one kind the first wraps, and all unwrap.
#[derive(Clone, Default)]
pub struct KeyRing {
    own: Vec<StoreKey>,
    named: BTreeMap<String, Vec<StoreKey>>,
}

/// The text is not a ring of keys. No message repeats any key.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RingError {
    /// A line is not one of a key.
    #[error("line {line}: `own KEY` or `named NAME KEY` is wanted, of a key as in store.key")]
    Line {
        /// Which, from one on.
        line: usize,
    },
    /// A line's key is none.
    #[error("line {line}: {error}")]
    Key {
        /// Which, from one on.
        line: usize,
        /// What is wrong with it.
        error: KeyError,
    },
    /// A key cannot have this name.
    #[error(
        "{name:?} cannot be the name of a key: 1 to {NAME_LEN_MAX} letters, digits and any of /_-. are"
    )]
    Name {
        /// The name.
        name: String,
    },
}

/// The name that a client means: of an address (`arn:…:key/NAME`, `arn:…:alias/NAME`) the last part.
pub fn name_of(said: &str) -> &str {
    let of_address = said.strip_prefix("arn:").and_then(|address| {
        let resource = address.splitn(5, ':').nth(4)?;
        resource.strip_prefix("key/").or_else(|| resource.strip_prefix("alias/"))
    });
    of_address.or_else(|| said.strip_prefix("alias/")).unwrap_or(said)
}

fn check_name(name: &str) -> Result<(), RingError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte);
    if (1..=NAME_LEN_MAX).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(RingError::Name { name: name.to_owned() })
}

impl KeyRing {
    /// A ring of one new key of the gateway's own.
    pub fn generate() -> Self {
        Self { own: vec![StoreKey::generate()], named: BTreeMap::new() }
    }

    /// The ring that [`KeyRing::to_text`] wrote, or a person: a line each, `own KEY` or `named NAME
    /// KEY`; empty lines and those that begin with `#` do not count.
    pub fn from_text(text: &str) -> Result<Self, RingError> {
        let mut ring = Self::default();
        for (at, line) in text.lines().map(str::trim).enumerate() {
            let wrong = RingError::Line { line: at + 1 };
            let key = |text| {
                StoreKey::from_text(text).map_err(|error| RingError::Key { line: at + 1, error })
            };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(own) = line.strip_prefix(OWN) {
                ring.own.push(key(own)?);
            } else if let Some(named) = line.strip_prefix(NAMED) {
                let (name, text) = named.trim().split_once(' ').ok_or(wrong)?;
                check_name(name)?;
                ring.named.entry(name.to_owned()).or_default().push(key(text)?);
            } else {
                return Err(wrong);
            }
        }
        Ok(ring)
    }

    /// The lines of a file, to be kept from everybody who may not have the keys.
    pub fn to_text(&self) -> Zeroizing<String> {
        let lines = 1 + self.own.len() + self.named.values().map(Vec::len).sum::<usize>();
        let mut text = Zeroizing::new(String::with_capacity(lines * (NAME_LEN_MAX + 128)));
        text.push_str(FIRST_LINE);
        text.push('\n');
        for key in &self.own {
            for part in [OWN, &key.to_text(), "\n"] {
                text.push_str(part);
            }
        }
        for (name, keys) in &self.named {
            for key in keys {
                for part in [NAMED, name, " ", &key.to_text(), "\n"] {
                    text.push_str(part);
                }
            }
        }
        text
    }

    /// With a new key, which wraps from now on: of the gateway's own, or of this name.
    pub fn rotated(mut self, name: Option<&str>) -> Result<Self, RingError> {
        let keys = match name {
            None => &mut self.own,
            Some(name) => {
                check_name(name)?;
                self.named.entry(name.to_owned()).or_default()
            }
        };
        keys.insert(0, StoreKey::generate());
        Ok(self)
    }

    /// Whether there is a key of the gateway's own.
    pub fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// The ids of all keys.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.own.iter().chain(self.named.values().flatten()).map(StoreKey::id)
    }

    /// Names of keys.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The gateway's own keys; the first wraps.
    pub(crate) fn own(&self) -> &[StoreKey] {
        &self.own
    }

    /// The keys that a client means by what it says; the first wraps.
    pub(crate) fn named(&self, said: &str) -> Option<&[StoreKey]> {
        let name = name_of(said);
        let found = self.named.get(name).map(Vec::as_slice);
        let default = (name == DEFAULT_NAME && self.has_own()).then_some(&self.own[..]);
        found.or(default)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_goes_through_its_text_and_the_newest_key_is_first() {
        let ring = KeyRing::generate().rotated(None).unwrap();
        let ring = ring.rotated(Some("reports")).unwrap().rotated(Some("reports")).unwrap();
        let read = KeyRing::from_text(&ring.to_text()).unwrap();
        assert!(read.ids().eq(ring.ids()) && read.ids().count() == 4);
        assert!(read.names().eq(["reports"]));
        let newest = read.clone().rotated(Some("reports")).unwrap();
        assert_eq!(
            newest.named("reports").unwrap()[1].id(),
            read.named("reports").unwrap()[0].id()
        );
    }

    #[test]
    fn what_is_no_ring_is_refused_and_no_key_is_repeated() {
        let key = StoreKey::generate().to_text();
        let mistyped = key.replace("ripstop-key-1:", "ripstop-key-1:0");
        for (text, error) in [
            (format!("{}\n", *key), RingError::Line { line: 1 }),
            (format!("\nown {mistyped}"), RingError::Key { line: 2, error: KeyError::Form }),
            ("named x".to_owned(), RingError::Line { line: 1 }),
            (format!("named a:b {}", *key), RingError::Name { name: "a:b".into() }),
        ] {
            let found = KeyRing::from_text(&text).unwrap_err();
            assert_eq!(found, error);
            assert!(!found.to_string().contains(&key[40..60]));
        }
        assert!(KeyRing::default().rotated(Some("")).is_err());
        let ring = KeyRing::from_text(&format!("# nothing\n own {} \n", *key)).unwrap();
        assert!(!format!("{ring:?}").contains(&key[40..60]));
    }

    #[test]
    fn names_are_said_bare_or_as_addresses() {
        for (said, name) in [
            ("reports", "reports"),
            ("alias/reports", "reports"),
            ("arn:aws:kms:us-east-1:123456789012:key/reports", "reports"),
            ("arn:aws:kms:us-east-1:123456789012:alias/aws/s3", "aws/s3"),
            ("arn:aws:kms:key", "arn:aws:kms:key"),
        ] {
            assert_eq!(name_of(said), name);
        }
    }

    #[test]
    fn the_default_name_is_the_gateways_own_key_unless_there_is_one_of_it() {
        let ring = KeyRing::generate();
        assert_eq!(ring.named(DEFAULT_NAME).unwrap()[0].id(), ring.own[0].id());
        assert!(ring.named("other").is_none() && KeyRing::default().named(DEFAULT_NAME).is_none());
        let ring = ring.rotated(Some(DEFAULT_NAME)).unwrap();
        assert_ne!(ring.named(DEFAULT_NAME).unwrap()[0].id(), ring.own[0].id());
    }
}
