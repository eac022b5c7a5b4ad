//! Versions of a key, where a bucket keeps them.
//!
//! A version is a row like any other, at a name of its own: in the *space of versions* that goes
//! with its bucket, under its key and its id. So what is told of names (tombstones, what is
//! outlived, packs' directories, a rebuild) holds for versions without knowing of them. What has no
//! id, the *null version*, is at the key itself.

use crate::Stamp;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// What the name of a bucket's space of versions ends with; no bucket's own name has it.
const SPACE: char = '\0';
/// What comes between a key and an id. A zero byte of the key is followed by [`ZERO`], so keys
/// sort as they do without ids, and no key's versions are among those of another.
const END: &str = "\0\0";
const ZERO: &str = "\0\u{1}";
/// Lowest that is above all versions of a key, with the key before it.
const BEYOND: &str = "\0\u{1}";
/// Digits of an id.
const DIGITS: usize = 32;

/// Which version of a key: later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VersionId(pub u128);

impl VersionId {
    /// Of what is first told with this stamp.
    pub const fn of(stamp: Stamp) -> Self {
        Self(((stamp.when as u128) << 64) | (stamp.stripe.0 & u64::MAX as u128))
    }

    /// From its digits.
    pub fn parse(digits: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_id = digits.len() == DIGITS && digits.bytes().all(is_digit);
        is_id.then(|| u128::from_str_radix(digits, 16).map(Self).ok())?
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

/// Which of the things that a key has stood for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectVersion {
    /// What was put while its bucket gave no ids.
    Null,
    /// What was given this id.
    Id(VersionId),
}

impl fmt::Display for ObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Id(id) => id.fmt(f),
        }
    }
}

/// The bucket whose space this is: its own, or that of its versions.
pub fn bucket_of(space: &str) -> &str {
    space.strip_suffix(SPACE).unwrap_or(space)
}

/// The space of a bucket's versions.
pub fn versions_of(bucket: &str) -> String {
    format!("{bucket}{SPACE}")
}

/// What a key's versions begin with in their space, without what ends it: so do those of all keys
/// that begin with this.
pub fn versions_prefix(key: &str) -> Cow<'_, str> {
    if key.contains('\0') { Cow::Owned(key.replace('\0', ZERO)) } else { Cow::Borrowed(key) }
}

/// Where the versions of a key begin in their space.
pub fn versions_begin(key: &str) -> String {
    format!("{}{END}", versions_prefix(key))
}

/// Where they have ended.
pub fn versions_end(key: &str) -> String {
    format!("{}{BEYOND}", versions_prefix(key))
}

/// Where a version is in the space of versions: the latest of a key come first.
pub fn version_name(key: &str, id: VersionId) -> String {
    format!("{}{END}{}", versions_prefix(key), VersionId(!id.0))
}

/// Key and version of a name in a space of versions; `None` if it is no such name.
pub fn split_version_name(name: &str) -> Option<(String, VersionId)> {
    let at = name.len().checked_sub(DIGITS)?;
    let (key, digits) = name.split_at_checked(at)?;
    let key = key.strip_suffix(END)?;
    Some((key.replace(ZERO, "\0"), VersionId(!VersionId::parse(digits)?.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use ripstop_model::StripeId;

    #[test]
    fn names_sort_by_key_and_the_latest_first() {
        let keys = ["a", "a\0", "a\0\0", "a\0\u{1}", "a\u{1}", "aa", "b"];
        let ids = [u128::MAX, 7 << 64 | 1, 7 << 64, 1, 0].map(VersionId);
        let mut names = Vec::new();
        for key in keys {
            assert!(names.last().is_none_or(|last: &String| *last < versions_begin(key)));
            for id in ids {
                names.push(version_name(key, id));
                assert_eq!(split_version_name(&version_name(key, id)), Some((key.into(), id)));
                assert!(version_name(key, id).starts_with(&versions_begin(key)));
                assert!(version_name(key, id) < versions_end(key));
            }
        }
        assert!(names.is_sorted());
    }

    #[test]
    fn an_id_is_its_digits() {
        let id = VersionId::of(Stamp { when: 0x12, stripe: StripeId(u128::MAX) });
        assert_eq!(id.to_string(), "0000000000000012ffffffffffffffff");
        assert_eq!(VersionId::parse(&id.to_string()), Some(id));
        for wrong in ["", "12", "+000000000000012ffffffffffffffff", &"F".repeat(32)] {
            assert_eq!(VersionId::parse(wrong), None, "{wrong}");
        }
    }
}
