//! Connections between clients and a gateway, which are late, and cut.

use ripstop_delay::Dice;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    time::{Sleep, sleep},
};

/// Bytes that are under way at most.
pub(crate) const UNDER_WAY: usize = 16 << 10;
/// Bytes of one piece, at most.
const PIECE: usize = 4 << 10;
/// How late a piece is, at most.
const LATE_MAX_MS: u64 = 400;
/// Before how many bytes a connection that is to be cut is cut, at most.
const CUT_WITHIN: u64 = 40_000;

/// A client's end of a connection.
#[derive(Debug)]
pub(crate) struct CutWire {
    /// None once it is cut.
    inner: Option<DuplexStream>,
    dice: Dice,
    /// Of a thousand pieces this many are late.
    lags: u32,
    /// Bytes that still come through, both ways together.
    left: u64,
    late: Option<Pin<Box<Sleep>>>,
}

impl CutWire {
    /// One that is late, and cut, this often in a thousand.
    pub(crate) fn new(inner: DuplexStream, mut dice: Dice, lags: u32, cuts: u32) -> Self {
        let is_cut = dice.below(1000) < u64::from(cuts);
        let left = if is_cut { dice.below(CUT_WITHIN) } else { u64::MAX };
        Self { inner: Some(inner), dice, lags, left, late: None }
    }

    /// Waits if the next piece is late.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(late) = &mut self.late {
            ready!(late.as_mut().poll(context));
            self.late = None;
            return Poll::Ready(());
        }
        if self.dice.below(1000) < u64::from(self.lags) {
            let wait = Duration::from_millis(self.dice.below(LATE_MAX_MS));
            let mut late = Box::pin(sleep(wait));
            if late.as_mut().poll(context).is_pending() {
                self.late = Some(late);
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// Counts what came through; cuts the connection when its time has come.
    fn pass(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
        if self.left == 0 {
            self.inner = None;
        }
    }
}

fn cut() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl AsyncRead for CutWire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(cut())) };
        let mut piece = [0; PIECE];
        let mut piece = ReadBuf::new(&mut piece[..PIECE.min(into.remaining())]);
        ready!(Pin::new(inner).poll_read(context, &mut piece))?;
        into.put_slice(piece.filled());
        this.pass(piece.filled().len());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CutWire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_late(context));
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(cut())) };
        let piece = &bytes[..PIECE.min(bytes.len())];
        let written = ready!(Pin::new(inner).poll_write(context, piece))?;
        this.pass(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Some(inner) => Pin::new(inner).poll_flush(context),
            None => Poll::Ready(Err(cut())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Some(inner) => Pin::new(inner).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }
}
