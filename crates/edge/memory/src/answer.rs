use bytes::Bytes;
use ripstop_tier::{TierRefusal, Version};
use thiserror::Error;

/// A value and its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredValue {
    /// The value. It shares memory with others that were read at the same time: who keeps it long
    /// copies it.
    pub bytes: Bytes,
    /// Grows with every write, whatever the key.
    pub version: Version,
}

/// How a request ended that was not refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    Value(Option<StoredValue>),
    Nothing,
    Written(Version),
    Deleted,
    Flushed,
}

/// Why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CodedMemoryError {
    /// As much is under way as may be: later.
    #[error("as many requests are under way as may be")]
    Busy,
    /// Keys are 1 to 250 bytes.
    #[error("a key of {0} bytes, not of 1 to 250")]
    Key(usize),
    /// The value is longer than a mebibyte, or than servers take.
    #[error("the value is longer than one may be")]
    TooLong,
    /// The write's condition does not hold; this is the key's version, if it has a value.
    #[error("the key has another version: {0:?}")]
    Condition(Option<Version>),
    /// Too many servers are lost.
    #[error("too many memory servers are lost")]
    Unavailable,
    /// The runtime ends.
    #[error("the memory tier ends")]
    Ended,
}

impl From<TierRefusal> for CodedMemoryError {
    fn from(refusal: TierRefusal) -> Self {
        match refusal {
            TierRefusal::Busy => Self::Busy,
            TierRefusal::TooLong => Self::TooLong,
            TierRefusal::Condition(version) => Self::Condition(version),
            TierRefusal::Unavailable => Self::Unavailable,
        }
    }
}
