use crate::error::{Code, Failure};
use bytes::Bytes;
use futures::stream::BoxStream;
use http_body::{Body, Frame, SizeHint};
use ripstop_envelope::Altered;
use ripstop_store::StoreError;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The pieces of an object on their way out.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, Broken>>;

/// An answer's body. A stream that fails breaks the connection: its client sees a short body.
pub(crate) enum Outgoing {
    /// Nothing.
    Empty,
    /// A document, taken when it is sent.
    Whole(Bytes),
    /// An object's bytes, handed on as they come.
    Stream {
        /// The bytes.
        pieces: Pieces,
        /// How many are still to come.
        left: u64,
    },
}

/// Why an answer broke off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The object could not be read to its end.
    #[error("reading the object failed")]
    Store(#[from] StoreError),
    /// What was read was not what had been encrypted.
    #[error("the object was changed after it was encrypted")]
    Altered(#[from] Altered),
    /// The object had another length than its record says.
    #[error("the object's stream had another length")]
    Length,
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Store(error) => error.into(),
            Broken::Altered(_) | Broken::Length => {
                tracing::error!(error = &broken as &dyn std::error::Error, "an object is damaged");
                Code::InternalError.into()
            }
        }
    }
}

impl Outgoing {
    /// Bytes that are still to be sent.
    pub(crate) fn left(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Stream { left, .. } => *left,
        }
    }
}

impl From<String> for Outgoing {
    fn from(document: String) -> Self {
        Self::Whole(document.into())
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Empty | Self::Stream { left: 0, .. } => Poll::Ready(None),
            Self::Stream { pieces, left } => {
                Poll::Ready(Some(match ready!(pieces.as_mut().poll_next(context)) {
                    Some(Ok(piece)) if piece.len() as u64 <= *left => {
                        *left -= piece.len() as u64;
                        Ok(Frame::data(piece))
                    }
                    Some(Err(error)) => Err(error),
                    Some(Ok(_)) | None => Err(Broken::Length),
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("left", &self.left()).finish_non_exhaustive()
    }
}
