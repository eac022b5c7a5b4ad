//! Documents in requests' bodies: brought in, held against what is said of them, read.

use crate::{
    allowance::{Held, SMALL_MAX},
    body::Payload,
    digest::{Digests, Expectation},
    error::{Code, Failure, Outcome},
    xml::{self, Limits, Node},
};
use bytes::Bytes;
use ripstop_host::spawn_blocking;
use tokio::sync::Semaphore;

/// Most documents above [`SMALL_MAX`] that are read at once, each beside: what is read is larger
/// than the document.
static READINGS: Semaphore = Semaphore::const_new(2);

/// A document that was not looked at yet: its sender may still wait to be told to send it.
pub(crate) struct Envelope {
    payload: Payload,
    expectation: Expectation,
    limits: Limits,
}

/// A document that came, and how much it may be.
pub(crate) struct Document {
    bytes: Bytes,
    limits: Limits,
}

impl Envelope {
    /// What a body is expected to be, and how much it may be.
    pub(crate) const fn new(payload: Payload, expectation: Expectation, limits: Limits) -> Self {
        Self { payload, expectation, limits }
    }

    /// The document where S3 takes none that its sender does not vouch for.
    pub(crate) async fn open_vouched(self, held: &mut Held) -> Outcome<Document> {
        let is_vouched_for = self.expectation.is_some();
        // That it is not what was signed goes first.
        let document = self.open(held).await?;
        if !is_vouched_for {
            let message =
                "Missing required header for this request: Content-MD5 OR x-amz-checksum-*";
            return Err(Failure::new(Code::InvalidRequest, message));
        }
        Ok(document)
    }

    /// The document, held against what is said of it; its memory is taken by `held`.
    pub(crate) async fn open(self, held: &mut Held) -> Outcome<Document> {
        let Self { mut payload, expectation, limits } = self;
        let document = payload.document(limits.bytes, held).await?;
        let signed = payload.sha256.is_some();
        if signed || expectation.is_some() {
            let mut digests = Digests::new(signed, expectation.algorithm().as_slice());
            let bytes = document.clone();
            let hash = move || {
                digests.update(&bytes);
                digests.finish()
            };
            let verdict = if document.len() <= SMALL_MAX {
                hash()
            } else {
                spawn_blocking(hash).await.map_err(|_| Code::InternalError)?
            };
            let (md5, sha256) = (verdict.md5, verdict.sha256);
            expectation.check(&payload, md5, sha256, &verdict.checksums)?;
        }
        Ok(Document { bytes: document, limits })
    }
}

impl Document {
    /// Whether there is nothing in it.
    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// The text that it is, where it is no XML.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// What `read` makes of its root; `malformed` if it has none. A long document is read on
    /// another thread.
    pub(crate) async fn read<T: Send + 'static>(
        self,
        malformed: Code,
        read: impl FnOnce(&Node<'_>) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let Self { bytes, limits } = self;
        let is_long = bytes.len() > SMALL_MAX;
        let parse = move || read(&xml::parse(&bytes, limits).map_err(|_| malformed)?);
        if !is_long {
            return parse();
        }
        let place = READINGS.acquire().await.expect("the semaphore is never closed");
        let parsed = spawn_blocking(move || {
            let _place = place;
            parse()
        });
        parsed.await.map_err(|_| Code::InternalError)?
    }
}
