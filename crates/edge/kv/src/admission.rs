//! Who may come in: names and passwords, as memcached's `-Y` has them.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};
use subtle::{Choice, ConstantTimeEq as _};
use thiserror::Error;
use zeroize::Zeroizing;

/// Names that may be listed, at most.
const NAMES_MAX: usize = 64;
/// Bytes of a line of the list, at most: memcached's bound.
pub(crate) const ENTRY_LEN_MAX: usize = 255;

type Entries = Arc<[Zeroizing<Vec<u8>>]>;

/// Names and passwords. Clones are one list, whose entries can be exchanged; shows nothing of
/// itself.
#[derive(Clone)]
pub struct KvUsers(Arc<RwLock<Entries>>);

/// The list is none. Says nothing of what is in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum KvUsersError {
    /// A line without a colon, a name, or a password, or with a blank.
    #[error("line {0}: a line is wanted such as name:password, without blanks")]
    Line(usize),
    /// A line that is too long.
    #[error("line {0}: more than {ENTRY_LEN_MAX} bytes")]
    Long(usize),
    /// Nobody, or too many.
    #[error("{0} names, where 1 to {NAMES_MAX} may be")]
    Count(usize),
}

impl KvUsers {
    /// The names and passwords of a text with a line `name:password` for each.
    pub fn parse(text: &str) -> Result<Self, KvUsersError> {
        let mut entries = Vec::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.is_empty()) {
            if line.len() > ENTRY_LEN_MAX {
                return Err(KvUsersError::Long(number));
            }
            let (name, password) = line.split_once(':').ok_or(KvUsersError::Line(number))?;
            let is_blank = line.bytes().any(|byte| byte == b' ' || byte == 0);
            if name.is_empty() || password.is_empty() || is_blank {
                return Err(KvUsersError::Line(number));
            }
            entries.push(entry(name.as_bytes(), password.as_bytes()));
        }
        if !(1..=NAMES_MAX).contains(&entries.len()) {
            return Err(KvUsersError::Count(entries.len()));
        }
        Ok(Self(Arc::new(RwLock::new(entries.into()))))
    }

    /// From now on these come in. Who has come in stays.
    pub fn replace(&self, others: &Self) {
        let entries = others.entries();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = entries;
    }

    fn entries(&self) -> Entries {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether somebody of this name has this password. Takes equally long whoever it is.
    pub(crate) fn know(&self, name: &[u8], password: &[u8]) -> bool {
        let shown = entry(name, password);
        let known = self.entries();
        let known = known.iter().fold(Choice::from(0), |known, entry| known | entry.ct_eq(&shown));
        known.into()
    }
}

/// A name, which has no blank, and a password.
fn entry(name: &[u8], password: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([name, b" ", password].concat())
}

impl fmt::Debug for KvUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KvUsers").field(&self.entries().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_listed_with_this_password_is_known_and_nothing_is_shown() {
        let users = KvUsers::parse("ann:se:cret\n\nbob:other\r\n").unwrap();
        assert!(users.know(b"ann", b"se:cret") && users.know(b"bob", b"other"));
        for (name, password) in [("ann", "other"), ("ann", "se"), ("", ""), ("annse:cret", "")] {
            assert!(!users.know(name.as_bytes(), password.as_bytes()), "{name} {password}");
        }
        assert_eq!(format!("{users:?}"), "KvUsers(2)");
        let served = users.clone();
        users.replace(&KvUsers::parse("cleo:third\n").unwrap());
        assert!(served.know(b"cleo", b"third") && !served.know(b"ann", b"se:cret"));
    }

    #[test]
    fn a_list_that_is_none_is_refused_by_its_line() {
        for (text, error) in [
            ("", KvUsersError::Count(0)),
            ("ann:a\nbob\n", KvUsersError::Line(2)),
            (":a\n", KvUsersError::Line(1)),
            ("ann:\n", KvUsersError::Line(1)),
            ("ann:a b\n", KvUsersError::Line(1)),
            (&format!("ann:{}\n", "x".repeat(252)), KvUsersError::Long(1)),
        ] {
            assert_eq!(KvUsers::parse(text).unwrap_err(), error, "{text}");
        }
    }
}
