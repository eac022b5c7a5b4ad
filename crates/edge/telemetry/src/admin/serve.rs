use super::{Admin, AdminSettings, router};
use hyper::{body::Incoming, service::Service as _};
use hyper_util::service::TowerToHyperService;
use ripstop_listen::{Listener, Peer};
use tokio_util::sync::CancellationToken;

/// Bytes of a request's head, at most.
const HEAD_LEN_MAX: usize = 16 << 10;
/// Headers of a request, at most.
const HEADERS_MAX: usize = 64;

/// Answers on `listener` until `shutdown`, then lets requests that run end, for a while.
pub async fn serve_admin(
    listener: impl Into<Listener>,
    admin: Admin,
    settings: AdminSettings,
    shutdown: CancellationToken,
) {
    let router = TowerToHyperService::new(router(admin, &settings, shutdown.clone()));
    let answer = move |request: hyper::Request<Incoming>, peer: Peer| {
        let answered = router.call(request);
        async move {
            let response = answered.await.unwrap_or_else(|never| match never {});
            if response.status().is_success() {
                peer.vouch();
            }
            response
        }
    };
    let listening = ripstop_listen::ListenSettings {
        name: "admin",
        connections_max: settings.connections_max,
        first_byte_timeout: settings.head_timeout,
        head_timeout: settings.head_timeout,
        drain_timeout: settings.drain_timeout,
        tls: settings.tls.clone(),
        head_len_max: HEAD_LEN_MAX,
        headers_max: HEADERS_MAX,
        ..ripstop_listen::ListenSettings::default()
    };
    ripstop_listen::serve(listener.into(), listening, answer, shutdown).await;
}
