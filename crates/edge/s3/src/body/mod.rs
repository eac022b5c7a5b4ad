//! Request bodies: bounded waits, announced lengths, chunked uploads, trailers; and what is sent
//! back.

mod chunked;
mod file;
mod form;
mod incoming;
mod outgoing;

pub(crate) use chunked::Chunked;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use form::read_form;
pub(crate) use form::{boundary, open};
pub(crate) use incoming::Source;
pub(crate) use outgoing::{Broken, Outgoing, Pieces};

use crate::{
    allowance::Held,
    error::{Code, Failure, Outcome},
};
use bytes::Bytes;
use file::File;

/// Slowest that a document may come, bytes per second, after the first wait: memory is held until
/// it is there, and there is less of it than for objects.
const DOCUMENT_PACE_MIN: u64 = 32 << 10;

/// A request's body as its sender meant it, without framing.
#[derive(Debug)]
pub(crate) struct Payload {
    source: Source,
    framing: Framing,
    /// Came from the source and is not decoded yet.
    undecoded: Bytes,
    /// The length that was announced, without framing.
    pub(crate) len: Option<u64>,
    /// Its SHA-256, hexadecimal, as whoever sent it says.
    pub(crate) sha256: Option<String>,
    came: u64,
    ended: bool,
}

/// What a body is in.
#[derive(Debug)]
enum Framing {
    Nothing,
    Chunks(Box<Chunked>),
    Form(Box<File>),
}

impl Payload {
    /// A body that is sent as it is.
    pub(crate) const fn plain(source: Source, len: Option<u64>, sha256: Option<String>) -> Self {
        let framing = Framing::Nothing;
        Self { source, framing, undecoded: Bytes::new(), len, sha256, came: 0, ended: false }
    }

    /// A body that comes in chunks.
    pub(crate) fn chunked(source: Source, chunked: Chunked, len: Option<u64>) -> Self {
        Self { framing: Framing::Chunks(Box::new(chunked)), ..Self::plain(source, len, None) }
    }

    /// The file in a form, of which something came already.
    fn file(source: Source, file: File, undecoded: Bytes) -> Self {
        let framing = Framing::Form(Box::new(file));
        Self { framing, undecoded, ..Self::plain(source, None, None) }
    }

    /// The file that it is, if it is in a form.
    pub(crate) fn as_file(&mut self) -> Option<&mut File> {
        match &mut self.framing {
            Framing::Form(file) => Some(file),
            Framing::Nothing | Framing::Chunks(_) => None,
        }
    }

    /// The most bytes that it has, as far as that is known.
    pub(crate) fn len_max(&self) -> Option<u64> {
        match &self.framing {
            Framing::Form(file) => Some(file.len_max),
            Framing::Nothing | Framing::Chunks(_) => self.len,
        }
    }

    /// The length that was announced, of a file the most that it may have; without one S3 takes no
    /// object.
    pub(crate) fn announced(&self) -> Outcome<u64> {
        self.len_max().ok_or_else(|| Code::MissingContentLength.into())
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
            Some(len) if self.came < len => Err(match self.framing {
                Framing::Nothing => Code::IncompleteBody.into(),
                Framing::Chunks(_) | Framing::Form(_) => self.other_length(),
            }),
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
        loop {
            let decoded = match &mut self.framing {
                Framing::Nothing => return self.source.next().await,
                Framing::Chunks(chunked) => chunked.decode(&mut self.undecoded)?,
                Framing::Form(file) => file.decode(&mut self.undecoded)?,
            };
            if decoded.is_some() {
                return Ok(decoded);
            }
            if let Framing::Form(file) = &self.framing
                && file.ended()
            {
                return Ok(None);
            }
            let input = self.source.next().await?;
            match (&mut self.framing, input) {
                (Framing::Chunks(chunked), Some(_)) if chunked.ended() => {
                    let message = "Bytes after the last chunk.";
                    return Err(Failure::new(Code::IncompleteBody, message));
                }
                (_, Some(input)) => self.undecoded = input,
                (Framing::Form(_), None) => return Err(Code::MalformedPostRequest.into()),
                (Framing::Chunks(chunked), None) => {
                    chunked.finish()?;
                    return Ok(None);
                }
                (Framing::Nothing, None) => return Ok(None),
            }
        }
    }

    /// A header that came after the last chunk.
    pub(crate) fn trailer(&self, name: &str) -> Option<&str> {
        match &self.framing {
            Framing::Chunks(chunked) => chunked.trailer(name),
            Framing::Nothing | Framing::Form(_) => None,
        }
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
