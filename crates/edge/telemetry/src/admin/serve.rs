use super::{Admin, AdminSettings, router};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Bytes of a request's head, at most.
const HEAD_LEN_MAX: usize = 16 << 10;
/// Headers of a request, at most.
const HEADERS_MAX: usize = 64;

/// Answers on `listener` until `shutdown`, then lets requests that run end, for a while.
pub async fn serve_admin(
    listener: TcpListener,
    admin: Admin,
    settings: AdminSettings,
    shutdown: CancellationToken,
) {
    let router = router(admin, &settings, shutdown.clone());
    let open = Arc::new(Semaphore::new(settings.connections_max.max(1)));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => {}
            (stream, permit) = accept(&listener, &open) => {
                let served =
                    connection(stream, router.clone(), settings.head_timeout, shutdown.clone());
                connections.spawn(async move {
                    served.await;
                    drop(permit);
                });
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(settings.drain_timeout, drained).await.is_err() {
        tracing::warn!("requests to the admin port were broken off");
    }
}

/// The next connection, once there may be one more.
async fn accept(
    listener: &TcpListener,
    open: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let permit = open.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                // Out of files, most likely: trying again at once would only burn time.
                tracing::warn!(%error, "the admin port could not accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    router: Router,
    head_timeout: Duration,
    shutdown: CancellationToken,
) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD_LEN_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shutdown.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the admin port broke off");
    }
}
