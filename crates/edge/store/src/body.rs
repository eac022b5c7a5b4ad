use bytes::Bytes;
use std::future::Future;

/// Bytes on their way in, and what is known of them once they have all come.
pub trait Body: Send {
    /// What is known at the end: for an object its attributes, for a part its etag and checksum.
    type Seal: Send;
    /// Why it failed.
    type Error: Send;

    /// The next bytes, in pieces of any size; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, Self::Error>>> + Send;

    /// Called once, after the end, for the verdict on all bytes. An error leaves nothing behind.
    fn seal(&mut self) -> Result<Self::Seal, Self::Error>;
}
