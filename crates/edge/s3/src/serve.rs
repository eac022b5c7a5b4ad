use crate::{Keyring, Observer, Settings, allowance::Allowances, front::Front, stream::Stream};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioTimer;
use ripstop_store::Store;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Most bytes that a connection reads at once.
const READ_LEN_MAX: usize = 256 << 10;
/// Most headers of a request: a client may send a hundred of user metadata alone.
const HEADERS_MAX: usize = 200;
/// How long to wait when the system has no descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Serves S3 on `listener` until `shutdown`; then accepts nothing more, lets the requests that run
/// finish for [`Settings::drain_timeout`], and returns.
pub async fn serve(
    listener: TcpListener,
    store: Store,
    credentials: impl Into<Keyring>,
    settings: Settings,
    observer: Arc<dyn Observer>,
    shutdown: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(settings.connections_max));
    let drain_timeout = settings.drain_timeout;
    let front = Arc::new(Front {
        store,
        keyring: credentials.into(),
        allowances: Arc::new(Allowances::new(&settings)),
        settings: Arc::new(settings),
        observer,
    });
    let connections = TaskTracker::new();
    let abandon = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (front, shutdown, abandon) = (front.clone(), shutdown.clone(), abandon.clone());
        connections.spawn(async move {
            tokio::select! {
                () = abandon.cancelled() => {}
                () = connection(stream, front, shutdown) => {}
            }
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(drain_timeout, connections.wait()).await.is_err() {
        tracing::warn!(left = connections.len(), "abandoning connections");
        abandon.cancel();
        connections.wait().await;
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            tracing::warn!(%error, "accept failed");
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}

async fn connection(stream: TcpStream, front: Arc<Front>, shutdown: CancellationToken) {
    // Without it small answers wait for the client's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let (head_timeout, body_timeout) = (front.settings.head_timeout, front.settings.body_timeout);
    let service = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .half_close(true)
        .max_buf_size(READ_LEN_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(Stream::new(stream, body_timeout), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
