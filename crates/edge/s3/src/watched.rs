//! An answer on its way, and what is told of it at its end.

use crate::{
    Answered, RequestObserver,
    access::{Note, Strangers},
    body::Outgoing,
    logging::Logged,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// What is counted while a request runs.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) received: Arc<AtomicU64>,
    pub(crate) hashing_ns: Arc<AtomicU64>,
}

/// An answer's body that reports when it has ended or was dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) body: Outgoing,
    pub(crate) watch: Watch,
}

/// What is reported of it.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) answered: Answered,
    pub(crate) begun: Instant,
    pub(crate) counts: Counts,
    pub(crate) observer: Arc<dyn RequestObserver>,
    pub(crate) span: tracing::Span,
    pub(crate) note: Note,
    pub(crate) strangers: Arc<Strangers>,
    /// What goes into the access log of a bucket.
    pub(crate) logged: Option<Logged>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _entered = self.span.enter();
        let answered = &mut self.answered;
        answered.duration = ripstop_host::since(self.begun);
        answered.received = self.counts.received.load(Ordering::Relaxed);
        answered.hashing = Duration::from_nanos(self.counts.hashing_ns.load(Ordering::Relaxed));
        self.note.write(answered, &self.strangers);
        if let Some(logged) = &self.logged {
            logged.write(answered, self.note.access_key.as_deref(), self.note.error_code);
        }
        self.observer.answered(answered);
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = <Outgoing as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(frame)) = &polled {
            match frame {
                Ok(frame) => {
                    self.watch.answered.sent += frame.data_ref().map_or(0, Bytes::len) as u64;
                }
                Err(error) => {
                    self.watch.answered.broken = true;
                    let _entered = self.watch.span.enter();
                    tracing::error!(error = error as &dyn std::error::Error, "answer broke off");
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
