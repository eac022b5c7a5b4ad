//! Reads the catalog beside the requests, so that damage is found before somebody needs what it
//! hides.

use ripstop_catalog::{Embedded, Reading};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// Bytes of pages read each second: a gigabyte, which is gone through some three times, takes three
/// minutes.
const BYTES_PER_SECOND: u64 = 16 << 20;
/// Most findings of one scrub that are logged.
const LOGGED_MAX: usize = 20;

/// Scrubs every so often, the first time after as long; never if `every` is zero.
/// A database looks after its own pages.
pub(crate) fn spawn(catalog: Option<&Arc<Embedded>>, every: Duration) -> JoinHandle<()> {
    let catalog = catalog.cloned();
    ripstop_host::spawn(async move {
        let Some(catalog) = catalog else { return };
        while !every.is_zero() {
            tokio::time::sleep(every).await;
            scrub(&catalog).await;
        }
    })
}

async fn scrub(catalog: &Embedded) {
    let inspection = match catalog.inspect(&Reading::default(), Some(BYTES_PER_SECOND)).await {
        Ok(inspection) => inspection,
        Err(error) => {
            tracing::warn!(%error, "the catalog could not be scrubbed");
            return;
        }
    };
    let findings = inspection.findings();
    if findings.is_empty() {
        let (bytes, objects) = (inspection.len, inspection.audit.objects);
        tracing::info!(bytes, objects, "scrubbed the catalog: it is as it was written");
        return;
    }
    for finding in findings.iter().take(LOGGED_MAX) {
        tracing::error!("a scrub of the catalog found: {finding}");
    }
    tracing::error!(
        findings = findings.len(),
        "`ripstop check` names what is wrong with the catalog"
    );
}
