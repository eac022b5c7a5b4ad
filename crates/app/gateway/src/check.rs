//! What the admin port runs as a check.

use crate::assembly::Assembly;
use crate::opened_catalog::{OpenedCatalog, audited};
use ripstop_catalog::{CatalogError, Inspection, Reading};
use ripstop_keeper::{CatalogReport, CheckOptions, CheckReport};
use ripstop_store::StoreError;
use ripstop_telemetry::{Checked, Progress};
use std::{sync::Arc, time::Duration};

/// How often progress is shown of what reads a catalog.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// The check of a store and of its catalog, which comes first: by one that is not as it should be,
/// nothing is mended or deleted.
pub(crate) fn check_of(assembly: &Assembly) -> ripstop_telemetry::Check {
    let catalog = assembly.catalog.clone();
    let fragments = ripstop_telemetry::check_of(assembly.keeper.clone());
    Arc::new(move |options, progress| {
        let (catalog, fragments) = (catalog.clone(), fragments.clone());
        Box::pin(async move {
            let told = |catalog_bytes| progress(Checked { catalog_bytes, stripes: 0 });
            let (of_catalog, catalog_bytes) = looked_through(&catalog, told).await?;
            let is_clean = of_catalog.is_clean();
            let progress: Progress =
                Box::new(move |checked| progress(Checked { catalog_bytes, ..checked }));
            let options = CheckOptions { repair: options.repair && is_clean };
            let checked = fragments(options, progress).await;
            let mut report = match checked {
                Err(StoreError::Catalog(CatalogError::Corrupt { .. })) if !is_clean => {
                    CheckReport::default()
                }
                checked => checked?,
            };
            report.catalog = of_catalog;
            Ok(report)
        })
    })
}

/// Reads all of a catalog: what is to be said of it, and bytes read.
async fn looked_through(
    catalog: &OpenedCatalog,
    tell: impl Fn(u64),
) -> Result<(CatalogReport, u64), CatalogError> {
    let reading = Reading::default();
    match catalog {
        OpenedCatalog::Embedded(catalog) => {
            let inspection = told_of(catalog.inspect(&reading, None), &reading, tell).await?;
            Ok((catalog_report(&inspection), reading.bytes()))
        }
        OpenedCatalog::Shared(catalog) => Ok((audited(&**catalog).await?, 0)),
    }
}

/// What a check says of a catalog that was inspected.
pub fn catalog_report(inspection: &Inspection) -> CatalogReport {
    CatalogReport {
        bytes: inspection.len,
        objects: inspection.audit.objects,
        findings: inspection.findings(),
        findings_left_off: inspection.audit.findings_left_off,
    }
}

/// What reads a catalog, while `tell` is told now and then how many bytes it has read.
pub async fn told_of<T>(
    reads: impl Future<Output = T>,
    reading: &Reading,
    tell: impl Fn(u64),
) -> T {
    let telling = async {
        loop {
            tokio::time::sleep(SHOWN_EVERY).await;
            tell(reading.bytes());
        }
    };
    tokio::select! {
        biased;
        done = reads => done,
        () = telling => unreachable!("it tells for ever"),
    }
}
