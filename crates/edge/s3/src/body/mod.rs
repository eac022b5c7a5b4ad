//! Request bodies: bounded waits, announced lengths, chunked uploads, trailers; and what is sent
//! back.

mod chunked;
mod incoming;
mod outgoing;

pub(crate) use chunked::Chunked;
pub(crate) use incoming::Source;
pub(crate) use outgoing::{Outgoing, Pieces};

use crate::{
    allowance::Held,
    error::{Code, Failure, Outcome},
};
use bytes::Bytes;

/// Slowest that a document may come, bytes per second, after the first wait: memory is held until
/// it is there, and there is less of it than for objects.
const DOCUMENT_PACE_MIN: u64 = 32 << 10;

/// A request's body as its sender meant it, without framing.
#[derive(Debug)]
pub(crate) struct Payload {
    source: Source,
    chunked: Option<Box<Chunked>>,
    /// Came from the source and is not decoded yet; chunked only.
    undecoded: Bytes,
    /// The length that was announced, without framing.
    pub(crate) len: Option<u64>,
    /// The SHA-256 that the signature vouches for.
    pub(crate) sha256: Option<[u8; 32]>,
    came: u64,
    ended: bool,
}

impl Payload {
    /// A body that is sent as it is.
    pub(crate) const fn plain(source: Source, len: Option<u64>, sha256: Option<[u8; 32]>) -> Self {
        Self { source, chunked: None, undecoded: Bytes::new(), len, sha256, came: 0, ended: false }
    }

    /// A body that comes in chunks.
    pub(crate) fn chunked(source: Source, chunked: Chunked, len: Option<u64>) -> Self {
        Self { chunked: Some(Box::new(chunked)), ..Self::plain(source, len, None) }
    }

    /// The length that was announced; without one S3 takes no object.
    pub(crate) fn announced(&self) -> Outcome<u64> {
        self.len.ok_or_else(|| Code::MissingContentLength.into())
    }

    /// The next bytes; `None` at the end, which is where it was announced.
    pub(crate) async fn next(&mut self) -> Option<Outcome<Bytes>> {
        if self.ended {
            return None;
        }
        let next = self.advance().await.transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }

    async fn advance(&mut self) -> Outcome<Option<Bytes>> {
        while let Some(piece) = self.piece().await? {
            if piece.is_empty() {
                continue;
            }
            self.came += piece.len() as u64;
            if self.len.is_some_and(|len| self.came > len) {
                return Err(self.other_length());
            }
            return Ok(Some(piece));
        }
        match self.len {
            // Only with framing does a body come to its end without all of its bytes.
            Some(len) if self.came < len && self.chunked.is_some() => Err(self.other_length()),
            Some(len) if self.came < len => Err(Code::IncompleteBody.into()),
            Some(_) | None => Ok(None),
        }
    }

    fn other_length(&self) -> Failure {
        let message = "You did not provide the number of bytes specified by the Content-Length \
                       HTTP header";
        Failure::new(Code::IncompleteBody, message)
            .with("NumberBytesExpected", self.len.unwrap_or_default().to_string())
            .with("NumberBytesProvided", self.came.to_string())
    }

    /// The next bytes without framing, whatever their length.
    async fn piece(&mut self) -> Outcome<Option<Bytes>> {
        let Some(chunked) = &mut self.chunked else { return self.source.next().await };
        loop {
            if let Some(piece) = chunked.decode(&mut self.undecoded)? {
                return Ok(Some(piece));
            }
            let input = self.source.next().await?;
            match input {
                Some(_) if chunked.ended() => {
                    let message = "Bytes after the last chunk.";
                    return Err(Failure::new(Code::IncompleteBody, message));
                }
                Some(input) => self.undecoded = input,
                None => {
                    chunked.finish()?;
                    return Ok(None);
                }
            }
        }
    }

    /// A header that came after the last chunk.
    pub(crate) fn trailer(&self, name: &str) -> Option<&str> {
        self.chunked.as_ref()?.trailer(name)
    }

    /// The whole body, for documents, which are short: its bytes are taken from `held` as they
    /// come.
    pub(crate) async fn document(&mut self, len_max: usize, held: &mut Held) -> Outcome<Bytes> {
        if self.len.is_some_and(|len| len > len_max as u64) {
            return Err(Code::MaxMessageLengthExceeded.into());
        }
        let most = self.len.map_or(len_max, |len| len as usize);
        self.source.hurry(DOCUMENT_PACE_MIN);
        let mut document = Vec::new();
        while let Some(piece) = self.next().await {
            let piece = piece?;
            let len = document.len() + piece.len();
            if len > len_max {
                return Err(Code::MaxMessageLengthExceeded.into());
            }
            if len > document.capacity() {
                let capacity = len.max(document.capacity() * 3 / 2).min(most);
                held.grow(capacity - document.capacity()).await?;
                document.reserve_exact(capacity - document.len());
            }
            document.extend_from_slice(&piece);
        }
        Ok(document.into())
    }
}
