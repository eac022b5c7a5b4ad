use crate::{Pace, Patience, listener::Socket, places::Seat};
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A connection that gives up on a peer that sends nothing at all, or takes too little.
#[derive(Debug)]
pub(crate) struct Stream {
    inner: Socket,
    seat: Arc<Seat>,
    /// Until the first byte has come.
    silent_until: Option<Pin<Box<Sleep>>>,
    patience: Patience,
    /// While the peer takes nothing.
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    look: Pin<Box<Sleep>>,
}

impl Stream {
    /// Waits for the first byte at most `first_byte_timeout`, and for a peer that takes bytes as
    /// `pace` says.
    pub(crate) fn new(
        inner: Socket,
        seat: Arc<Seat>,
        first_byte_timeout: Duration,
        pace: Pace,
    ) -> Self {
        let silent_until = Some(Box::pin(sleep(first_byte_timeout)));
        Self { inner, seat, silent_until, patience: Patience::new(pace), waiting: None }
    }

    fn judge(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            if let Some(Waiting { since, .. }) = self.waiting.take() {
                self.patience.waited(ripstop_host::since(since));
            }
            self.patience.moved(written.as_ref().map_or(0, |&bytes| bytes as u64));
            return Poll::Ready(written);
        }
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            since: ripstop_host::now(),
            look: Box::pin(sleep(self.patience.left().min(Patience::LOOK_EVERY))),
        });
        while waiting.look.as_mut().poll(context).is_ready() {
            let now = ripstop_host::now();
            let left = self.patience.left().saturating_sub(now - waiting.since);
            if left.is_zero() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            waiting.look.as_mut().reset((now + left.min(Patience::LOOK_EVERY)).into());
        }
        Poll::Pending
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if let Some(silent_until) = &mut self.silent_until {
            if read.is_ready() {
                self.silent_until = None;
            } else if silent_until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        if flushed.is_ready() {
            self.seat.sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
