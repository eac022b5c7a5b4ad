use std::{
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::mpsc,
};

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// The network.
    Tcp(TcpListener),
    /// A socket in the file system, whose mode says who may connect.
    Unix(UnixListener),
    /// Connections within one process, over which a rehearsal plays its clients. Once the other end
    /// is dropped, nobody comes any more.
    Handed(mpsc::Receiver<Handed>),
}

/// A connection within the process.
#[derive(Debug)]
pub struct Handed {
    /// The gateway's end.
    pub end: DuplexStream,
    /// Where it is to seem to come from; nowhere, like one over a socket in the file system, if
    /// none.
    pub address: Option<IpAddr>,
}

impl From<mpsc::Receiver<Handed>> for Listener {
    fn from(handed: mpsc::Receiver<Handed>) -> Self {
        Self::Handed(handed)
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::Unix(listener)
    }
}

impl Listener {
    /// The next connection, and the address that it comes from if it has one.
    pub(crate) async fn accept(&mut self) -> io::Result<(Socket, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                // Without it small answers wait for the client's delayed acknowledgement.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "no TCP_NODELAY");
                }
                Ok((Socket::Tcp(stream), Some(from.ip().to_canonical())))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), None))
            }
            Self::Handed(handed) => match handed.recv().await {
                Some(Handed { end, address }) => Ok((Socket::Handed(end), address)),
                None => std::future::pending().await,
            },
        }
    }
}

/// A connection of any kind.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Handed(DuplexStream),
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Handed(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Handed(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Handed(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
            Self::Handed(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
            Self::Handed(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Handed(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
