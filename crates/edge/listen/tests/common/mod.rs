//! A port that is served, and answers that never end.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]
#![allow(dead_code, reason = "each user takes its part")]

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use ripstop_listen::{ListenSettings, Peer, serve};
use std::{
    convert::Infallible,
    error::Error,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::UnboundedSender,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub(crate) struct Port {
    pub(crate) at: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    pub(crate) ended: JoinHandle<()>,
}

impl Port {
    pub(crate) async fn open<A, F, B>(settings: ListenSettings, answer: A) -> Self
    where
        A: Fn(Request<Incoming>, Peer) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        let ended = tokio::spawn(serve(listener.into(), settings, answer, shutdown.clone()));
        Self { at, shutdown, ended }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }
}

pub(crate) fn hello() -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from_static(b"hello")))
}

/// An answer's head, and its five bytes of body; as much as there is if the connection ends before.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|read| read > 0) {
        text.push(byte[0]);
    }
    if text.starts_with(b"HTTP/1.1 200") {
        stream.read_exact(&mut [0; 5]).await.unwrap();
    }
    String::from_utf8(text).unwrap()
}

/// A long answer that tells when it is dropped.
pub(crate) struct Endless {
    pub(crate) left: u64,
    pub(crate) told: UnboundedSender<u64>,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        const PIECE: Bytes = Bytes::from_static(&[7; 64 << 10]);
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= PIECE.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(PIECE))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.told.send(self.left);
    }
}
