use crate::{
    Answer, ListenSettings, Peer, listener::Socket, places::Seat, stream::Stream, streams::Streams,
};
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use http_body::Body;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, error::Error, net::IpAddr, pin::pin, sync::Arc, time::Duration};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Most bytes that an HTTP/1 connection reads at once, where there are few: what a fast upload
/// likes best. Up to twice as much of a body may be ahead of its reader.
const READ_LEN_MAX: usize = 256 << 10;
/// What connections share for it: the more there are, the less a new one has, down to what a head
/// takes.
const READ_LEN_ALL: usize = 16 << 20;
/// Requests that run at once on an HTTP/2 connection.
const STREAMS_MAX: u32 = 64;
/// Bytes that a stream's sender may be ahead of their reader.
const STREAM_WINDOW: u32 = 256 << 10;
/// … and all of a connection's streams together.
const CONNECTION_WINDOW: u32 = 512 << 10;
/// Bytes of an answer that may wait for their stream's window.
const SEND_BUFFER_LEN: usize = 64 << 10;
/// Streams that their client has reset and that were not begun yet; one more ends the connection.
const RESETS_MAX: usize = 32;
/// How long an HTTP/2 connection is quiet before it is asked whether its client is there, and how
/// long the client has to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves one connection to its end.
pub(crate) async fn connection<A, F, B>(
    socket: Socket,
    address: Option<IpAddr>,
    seat: Arc<Seat>,
    settings: Arc<ListenSettings>,
    answer: A,
    shutdown: CancellationToken,
) where
    A: Fn(Request<Incoming>, Peer) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let read_len = read_len(seat.crowd(), settings.head_len_max);
    let peer = Peer::new(address, settings.tls.is_some(), seat.clone());
    let first_byte_timeout = settings.first_byte_timeout;
    let stream = Stream::new(socket, seat.clone(), first_byte_timeout, settings.pace.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = seat.begin();
        let (seat, version) = (seat.clone(), request.version());
        let answer = answer(request, peer.clone());
        async move {
            let mut response = answer.await;
            if version < Version::HTTP_2 && seat.is_wanted() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| Answer::new(body, busy)))
        }
    });
    let ended = match &settings.tls {
        None => http1(stream, service, &settings, read_len, shutdown).await,
        Some(tls) => {
            let shaken = TlsAcceptor::from(tls.now()).accept(stream);
            match tokio::time::timeout(first_byte_timeout, shaken).await {
                Err(_) => return tracing::debug!("no TLS handshake in time"),
                Ok(Err(error)) => return tracing::debug!(%error, "no TLS handshake"),
                Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                    http2(stream, service, &settings, shutdown).await
                }
                Ok(Ok(stream)) => http1(stream, service, &settings, read_len, shutdown).await,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

fn read_len(connections: usize, head_len_max: usize) -> usize {
    (READ_LEN_ALL / connections.max(1)).clamp(head_len_max, READ_LEN_MAX.max(head_len_max))
}

async fn http1<S, B>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: S,
    settings: &ListenSettings,
    read_len: usize,
    shutdown: CancellationToken,
) -> hyper::Result<()>
where
    S: HttpService<Incoming, ResBody = B, Error = Infallible>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.head_timeout)
        .half_close(true)
        .max_buf_size(read_len)
        .max_header_size(settings.head_len_max)
        .max_headers(settings.headers_max)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        ended = connection.as_mut() => return ended,
        () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

async fn http2<S, B>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: S,
    settings: &ListenSettings,
    shutdown: CancellationToken,
) -> hyper::Result<()>
where
    S: HttpService<Incoming, ResBody = B, Error = Infallible, Future: Send + 'static>,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let connection = http2::Builder::new(Streams { pace: settings.pace.clone() })
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_header_list_size(u32::try_from(settings.head_len_max).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER_LEN)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        ended = connection.as_mut() => return ended,
        () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_connections_read_much_at_once_and_many_together_not_much_more() {
        let head = 32 << 10;
        assert_eq!(read_len(1, head), 256 << 10);
        assert_eq!(read_len(256, head), 64 << 10);
        assert_eq!(read_len(4096, head), head);
        let all: usize = (1..=2000).map(|connections| read_len(connections, head)).sum();
        assert!(all < 100 << 20, "{all}");
    }
}
