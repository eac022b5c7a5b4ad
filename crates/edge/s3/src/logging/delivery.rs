//! Puts records into the buckets that they go to.

use super::{
    destination::Destination,
    held::{Logs, Part},
};
use crate::{
    FrontSettings,
    encryption::Wanted,
    error::Failure,
    made::{MadeObject, put_made},
};
use bytes::Bytes;
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_store::{Store, StoreError, WriteError};
use std::sync::Arc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Delivers what waits, again and again until the end, and then all that is left.
pub(crate) async fn deliver(
    logs: &Logs,
    store: &Store,
    settings: &Arc<FrontSettings>,
    end: &CancellationToken,
) {
    let mut tick = tokio::time::interval(settings.access_log_every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick.tick().await;
    while !end.is_cancelled() {
        let only_full = tokio::select! {
            biased;
            () = end.cancelled() => false,
            _ = tick.tick() => false,
            () = logs.full() => true,
        };
        put_all(logs, store, settings, only_full).await;
    }
}

async fn put_all(logs: &Logs, store: &Store, settings: &Arc<FrontSettings>, only_full: bool) {
    for (destination, part) in logs.take(only_full) {
        match put(store, settings, &destination, &part).await {
            Ok(()) => {}
            Err(error) if is_in_vain(&error) => {
                logs.lose(&part);
                tracing::warn!(bucket = destination.source, %error, "its access log has no place");
            }
            Err(error) => {
                tracing::warn!(bucket = destination.source, %error, "its access log waits");
                logs.put_back(destination, part);
            }
        }
    }
    let records = logs.lost();
    if records > 0 {
        tracing::warn!(records, "records of access logs were lost");
    }
}

/// Whether a delivery fails as often as it is tried.
fn is_in_vain(error: &WriteError<Failure>) -> bool {
    matches!(
        error,
        WriteError::Store(StoreError::Catalog(CatalogError::Refused(
            Refusal::NoSuchBucket | Refusal::QuotaExceeded { .. }
        )))
    )
}

async fn put(
    store: &Store,
    settings: &Arc<FrontSettings>,
    destination: &Destination,
    part: &Part,
) -> Result<(), WriteError<Failure>> {
    let place = (&*settings.owner, &*settings.region);
    let key = destination.key(place, part.since_ms, &name());
    let bucket = destination.target.clone();
    let bytes = Bytes::copy_from_slice(part.text.as_bytes());
    let wanted = Wanted::Unsaid;
    let object = MadeObject { bucket, key, content_type: "text/plain", bytes, wanted };
    put_made(store, settings, object).await
}

/// Sixteen hexadecimal digits, different for each part of a log.
fn name() -> String {
    format!("{:016X}", ripstop_host::random_u64())
}
