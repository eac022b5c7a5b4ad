use bytes::Bytes;
use ripstop_catalog::Bucket;
use std::future::{Future, ready};

/// Bytes on their way in, and what is known of them once they have all come.
pub trait Body: Send {
    /// What is known at the end: for an object its attributes, for a part its etag and checksum.
    type Seal: Send;
    /// Why it failed.
    type Error: Send;

    /// Called once, before anything else, with the bucket that an object is for, once it is known
    /// that it may be put there. What is configured of the bucket may change what the body gives.
    fn admitted(
        &mut self,
        _bucket: &Bucket,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        ready(Ok(()))
    }

    /// The class of storage that an object's bytes are for; empty for the standard one.
    fn storage_class(&self) -> &str {
        <&str>::default()
    }

    /// How many bytes it gives, if this many were announced of it: other than these where it
    /// encrypts them, say.
    fn stored_len(&self, announced: BodyLen) -> BodyLen {
        announced
    }

    /// The next bytes, in pieces of any size; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, Self::Error>>> + Send;

    /// Called once, after the end, for the verdict on all bytes. An error leaves nothing behind.
    fn seal(&mut self) -> Result<Self::Seal, Self::Error>;
}

/// How many bytes a body has, as far as that is known before it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyLen {
    /// This many; with any other number it is refused.
    Exactly(u64),
    /// It ends by itself after this many or fewer.
    AtMost(u64),
}

impl BodyLen {
    /// The most that may come.
    pub const fn max(self) -> u64 {
        match self {
            Self::Exactly(len) | Self::AtMost(len) => len,
        }
    }

    /// The same of what becomes of as many bytes.
    #[must_use]
    pub fn map(self, becomes: impl FnOnce(u64) -> u64) -> Self {
        match self {
            Self::Exactly(len) => Self::Exactly(becomes(len)),
            Self::AtMost(max) => Self::AtMost(becomes(max)),
        }
    }

    /// Whether a body may be of this length.
    pub const fn admits(self, len: u64) -> bool {
        match self {
            Self::Exactly(announced) => len == announced,
            Self::AtMost(max) => len <= max,
        }
    }
}

impl From<u64> for BodyLen {
    fn from(len: u64) -> Self {
        Self::Exactly(len)
    }
}
