use crate::error::{Code, Outcome};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use ripstop_listen::Patience;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Most of an unwanted body that is read so that its sender gets to see the answer.
const DRAIN_LEN_MAX: u64 = 16 << 20;
/// Longest that this may take.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// What a connection delivers of a body. Dropped before its end, it reads a bounded rest in the
/// background: a connection that closes over unread bytes takes the answer with it.
#[derive(Debug)]
pub(crate) struct Source {
    incoming: Option<Incoming>,
    patience: Patience,
    /// The client waits for `100 Continue`, which is sent with the first read.
    holds_back: bool,
    received: Arc<AtomicU64>,
}

impl Source {
    /// The body of a request; `received` counts what came.
    pub(crate) const fn new(
        incoming: Incoming,
        patience: Patience,
        holds_back: bool,
        received: Arc<AtomicU64>,
    ) -> Self {
        Self { incoming: Some(incoming), patience, holds_back, received }
    }

    /// From now on its bytes must come at this pace, if not at a higher one.
    pub(super) fn hurry(&mut self, pace_min: u64) {
        self.patience.hurry(pace_min);
    }

    /// The next bytes as they come from the connection.
    pub(super) async fn next(&mut self) -> Outcome<Option<Bytes>> {
        self.holds_back = false;
        loop {
            let Some(incoming) = &mut self.incoming else { return Ok(None) };
            let begun = ripstop_host::now();
            let wait = self.patience.left().min(Patience::LOOK_EVERY);
            let frame = tokio::time::timeout(wait, incoming.frame()).await;
            self.patience.waited(ripstop_host::since(begun));
            match frame {
                Err(_) if !self.patience.left().is_zero() => {}
                Err(_) => {
                    self.incoming = None;
                    return Err(Code::RequestTimeout.into());
                }
                Ok(None) => {
                    self.incoming = None;
                    return Ok(None);
                }
                Ok(Some(Err(_))) => {
                    self.incoming = None;
                    return Err(Code::IncompleteBody.into());
                }
                Ok(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        self.patience.moved(piece.len() as u64);
                        self.received.fetch_add(piece.len() as u64, Ordering::Relaxed);
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let Some(mut incoming) = self.incoming.take() else { return };
        let too_long = incoming.size_hint().lower() > DRAIN_LEN_MAX;
        if self.holds_back || too_long || incoming.is_end_stream() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(ripstop_host::carried(tokio::time::timeout(DRAIN_TIME_MAX, async move {
            let mut drained = 0;
            while let Some(Ok(frame)) = incoming.frame().await {
                drained += frame.data_ref().map_or(0, |piece| piece.len() as u64);
                if drained > DRAIN_LEN_MAX {
                    break;
                }
            }
        })));
    }
}
