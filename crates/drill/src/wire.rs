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
pub(crate) const UNDER_WAY: usize = 8 << 10;
/// Bytes of one piece, at most.
const PIECE: usize = 4 << 10;
/// How late a piece is, at most.
const LATE_MAX_MS: u64 = 400;
/// How late all pieces of an answer are together, at most, milliseconds: a reader that is slower
/// may find that what it reads is gone.
const ANSWER_LATE_MAX_MS: u64 = 1200;
/// Before how many bytes a connection that is to be cut is cut, at most.
const CUT_WITHIN: u64 = 6_000;

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
    /// Bytes of the next piece, at most, of a connection that is late.
    most: usize,
    /// How late the pieces of this answer may still be, milliseconds.
    patience_ms: u64,
    late: Option<Pin<Box<Sleep>>>,
}

impl CutWire {
    /// One that is late, and cut, this often in a thousand.
    pub(crate) fn new(inner: DuplexStream, mut dice: Dice, lags: u32, cuts: u32) -> Self {
        let is_cut = dice.below(1000) < u64::from(cuts);
        let left = if is_cut { 1 + dice.below(CUT_WITHIN) } else { u64::MAX };
        Self { inner: Some(inner), dice, lags, left, most: PIECE, patience_ms: 0, late: None }
    }

    /// Waits if the next piece is late, at most so long.
    fn poll_late(&mut self, context: &mut Context<'_>, most_ms: u64) -> Poll<()> {
        if let Some(late) = &mut self.late {
            ready!(late.as_mut().poll(context));
            self.late = None;
            return Poll::Ready(());
        }
        if most_ms > 0 && self.dice.below(1000) < u64::from(self.lags) {
            let wait_ms = self.dice.below(most_ms.min(LATE_MAX_MS));
            self.patience_ms = self.patience_ms.saturating_sub(wait_ms);
            let wait = Duration::from_millis(wait_ms);
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
        ready!(this.poll_late(context, this.patience_ms));
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(cut())) };
        let mut piece = [0; PIECE];
        let most = PIECE.min(into.remaining()).min(this.left as usize);
        let mut piece = ReadBuf::new(&mut piece[..most]);
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
        ready!(this.poll_late(context, LATE_MAX_MS));
        this.patience_ms = ANSWER_LATE_MAX_MS;
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(cut())) };
        // What is cut may be cut in the middle of a body.
        let most = PIECE.min(bytes.len()).min(this.left as usize);
        let piece = &bytes[..if this.lags == 0 { most } else { most.min(this.most) }];
        let written = ready!(Pin::new(inner).poll_write(context, piece))?;
        this.pass(written);
        this.most = 1 + this.dice.below(PIECE as u64) as usize;
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_connection_is_cut_in_the_middle_of_what_is_sent() {
        let mut came = Vec::new();
        for seed in 0..20 {
            let (mine, mut end) = tokio::io::duplex(UNDER_WAY);
            let mut wire = CutWire::new(mine, Dice::new(seed), 0, 1000);
            wire.write_all(&[1; 2 * CUT_WITHIN as usize]).await.expect_err("it is cut");
            let mut here = Vec::new();
            end.read_to_end(&mut here).await.expect("what came before is there");
            came.push(here.len());
        }
        assert!(came.iter().all(|&len| len > 0 && len as u64 <= CUT_WITHIN), "{came:?}");
        assert!(came.iter().any(|len| len % PIECE != 0), "{came:?}");
    }
}
