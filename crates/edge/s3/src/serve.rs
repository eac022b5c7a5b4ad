use crate::logging::{self, Logs};
use crate::{
    FrontSettings, Keyring, RequestObserver,
    access::Strangers,
    allowance::Allowances,
    door::{Door, RequestIds},
    front::Front,
    gate::KnownAccess,
};
use ripstop_listen::Listener;
use ripstop_store::Store;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Serves the websites of buckets on `listener` until `shutdown`, to anybody who may read their
/// objects without a signature: otherwise as [`serve`].
pub async fn serve_website(
    listener: impl Into<Listener>,
    store: Store,
    credentials: impl Into<Keyring>,
    settings: FrontSettings,
    observer: Arc<dyn RequestObserver>,
    shutdown: CancellationToken,
) {
    let credentials = credentials.into();
    serve_door(listener.into(), Door::Website, store, credentials, settings, observer, shutdown)
        .await;
}

/// Serves S3 on `listener` until `shutdown`; then accepts nothing more, lets the requests that run
/// finish for [`FrontSettings::drain_timeout`], and returns.
pub async fn serve(
    listener: impl Into<Listener>,
    store: Store,
    credentials: impl Into<Keyring>,
    settings: FrontSettings,
    observer: Arc<dyn RequestObserver>,
    shutdown: CancellationToken,
) {
    let credentials = credentials.into();
    serve_door(listener.into(), Door::S3, store, credentials, settings, observer, shutdown).await;
}

async fn serve_door(
    listener: Listener,
    door: Door,
    store: Store,
    keyring: Keyring,
    settings: FrontSettings,
    observer: Arc<dyn RequestObserver>,
    shutdown: CancellationToken,
) {
    let listening = listening(&settings, door);
    let allowances = Arc::new(Allowances::new(&settings));
    let (settings, strangers) = (Arc::new(settings), Arc::new(Strangers::new()));
    let (counted, known, logs) = (strangers.clone(), Arc::default(), Arc::<Logs>::default());
    let (account, buckets) = (settings.owner.as_str().into(), KnownAccess::default());
    let ids = RequestIds::new();
    let (waiting, of_logs, set) = (logs.clone(), store.clone(), settings.clone());
    let front = Arc::new(Front {
        door,
        store,
        keyring,
        buckets,
        account,
        settings,
        allowances,
        known,
        logs,
        observer,
        strangers,
        ids,
    });
    let answer = move |request, peer| {
        let front = front.clone();
        async move { front.answer(request, &peer).await }
    };
    let served = ripstop_listen::serve(listener, listening, answer, shutdown);
    let ended = CancellationToken::new();
    let serving = async {
        tokio::select! {
            biased;
            () = served => {}
            () = counted.tell() => {}
        }
        ended.cancel();
    };
    tokio::join!(serving, logging::deliver(&waiting, &of_logs, &set, &ended));
}

fn listening(settings: &FrontSettings, door: Door) -> ripstop_listen::ListenSettings {
    ripstop_listen::ListenSettings {
        name: door.name(),
        connections_max: settings.connections_max,
        connections_per_address_max: settings.connections_per_address_max,
        trusted_proxies: settings.trusted_proxies.clone(),
        first_byte_timeout: settings.first_byte_timeout,
        head_timeout: settings.head_timeout,
        pace: settings.pace(&settings.read_pressure),
        drain_timeout: settings.drain_timeout,
        tls: settings.tls.clone(),
        ..ripstop_listen::ListenSettings::default()
    }
}
