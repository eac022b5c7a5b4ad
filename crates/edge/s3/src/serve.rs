use crate::{
    FrontSettings, Keyring, RequestObserver,
    access::Strangers,
    allowance::Allowances,
    front::{Front, RequestIds},
    gate::KnownBuckets,
};
use ripstop_listen::Listener;
use ripstop_store::Store;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

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
    let listening = listening(&settings);
    let keyring = credentials.into();
    let allowances = Arc::new(Allowances::new(&settings));
    let (settings, strangers) = (Arc::new(settings), Arc::new(Strangers::new()));
    let counted = strangers.clone();
    let (account, buckets) = (settings.owner.as_str().into(), KnownBuckets::default());
    let ids = RequestIds::new();
    let front =
        Front { store, keyring, buckets, account, settings, allowances, observer, strangers, ids };
    let front = Arc::new(front);
    let answer = move |request, peer| {
        let front = front.clone();
        async move { front.answer(request, &peer).await }
    };
    let served = ripstop_listen::serve(listener.into(), listening, answer, shutdown);
    tokio::select! {
        biased;
        () = served => {}
        () = counted.tell() => {}
    }
}

fn listening(settings: &FrontSettings) -> ripstop_listen::ListenSettings {
    ripstop_listen::ListenSettings {
        name: "s3",
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
