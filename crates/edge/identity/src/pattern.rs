use crate::RightsError;
use std::{fmt, str::FromStr};

/// Longest name of a bucket.
const NAME_LEN_MAX: usize = 63;
/// Shortest name of a bucket.
const NAME_LEN_MIN: usize = 3;

/// Which buckets a rule is about: one by its name, those whose names begin alike (`photos-*`), or
/// all (`*`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BucketPattern {
    /// The name, or how names begin.
    start: String,
    is_prefix: bool,
}

impl BucketPattern {
    /// Whether a bucket of this name is among them.
    pub fn matches(&self, bucket: &str) -> bool {
        if self.is_prefix { bucket.starts_with(&self.start) } else { bucket == self.start }
    }
}

impl FromStr for BucketPattern {
    type Err = RightsError;

    fn from_str(text: &str) -> Result<Self, RightsError> {
        let (start, is_prefix) = match text.strip_suffix('*') {
            Some(start) => (start, true),
            None => (text, false),
        };
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        let long_enough = is_prefix || start.len() >= NAME_LEN_MIN;
        if !long_enough || start.len() > NAME_LEN_MAX || !start.bytes().all(plain) {
            return Err(RightsError::Pattern { pattern: text.to_owned() });
        }
        Ok(Self { start: start.to_owned(), is_prefix })
    }
}

impl fmt::Display for BucketPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.start)?;
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}
