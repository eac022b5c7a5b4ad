//! Puts records into the buckets that they go to.

use super::{
    destination::Destination,
    held::{Logs, Part},
};
use crate::FrontSettings;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use ripstop_catalog::{Attributes, CatalogError, Condition, Refusal};
use ripstop_store::{Body, Store, StoreError, Target, WriteError};
use std::convert::Infallible;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Delivers what waits, again and again until the end, and then all that is left.
pub(crate) async fn deliver(
    logs: &Logs,
    store: &Store,
    settings: &FrontSettings,
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

async fn put_all(logs: &Logs, store: &Store, settings: &FrontSettings, only_full: bool) {
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
fn is_in_vain(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Catalog(CatalogError::Refused(
            Refusal::NoSuchBucket | Refusal::QuotaExceeded { .. }
        ))
    )
}

async fn put(
    store: &Store,
    settings: &FrontSettings,
    destination: &Destination,
    part: &Part,
) -> Result<(), StoreError> {
    let place = (&*settings.owner, &*settings.region);
    let key = destination.key(place, part.since_ms, &name());
    let bucket = destination.target.clone();
    let target = Target { bucket, key, condition: Condition::None };
    let len = part.text.len() as u64;
    let body = Text(Some(Bytes::copy_from_slice(part.text.as_bytes())), Md5::new());
    match store.put(target, len, body).await {
        Ok(_) => Ok(()),
        Err(WriteError::Store(error)) => Err(error),
        Err(WriteError::Body(never)) => match never {},
    }
}

/// Sixteen hexadecimal digits, different for each part of a log.
fn name() -> String {
    format!("{:016X}", ripstop_host::random_u64())
}

struct Text(Option<Bytes>, Md5);

impl Body for Text {
    type Seal = Attributes;
    type Error = Infallible;

    async fn next(&mut self) -> Option<Result<Bytes, Infallible>> {
        let text = self.0.take()?;
        self.1.update(&text);
        Some(Ok(text))
    }

    fn seal(&mut self) -> Result<Attributes, Infallible> {
        let etag = hex::encode(std::mem::take(&mut self.1).finalize());
        let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
        Ok(Attributes { etag, headers, ..Attributes::default() })
    }
}
