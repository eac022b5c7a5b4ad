use crate::{
    admin_client::AdminPort,
    assembly::{ADMIN_FILE, Assembly, CATALOG_FILE, DataFolder, FolderError, assemble},
    config::Config,
    readiness::DAMAGED,
    watch::Unwatched,
};
use anyhow::{Context as _, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use ripstop_catalog::{CatalogError, Inspection, Reading, verify};
use ripstop_store::{CatalogReport, CheckOptions, CheckReport, StoreError};
use ripstop_telemetry::{Checked, Progress};
use std::{process::ExitCode, sync::Arc, time::Duration};

/// How often progress is shown of what reads a catalog.
const SHOWN_EVERY: Duration = Duration::from_millis(200);
/// What is counted until the first stripe is.
const CATALOG_READ: &str = "MiB of the catalog read";

pub(crate) async fn run(config: &Config, repair: bool, json: bool) -> Result<ExitCode> {
    let options = CheckOptions { repair };
    let bar = progress(CATALOG_READ);
    let report = match DataFolder::open(config) {
        Ok(_folder) => {
            let catalog = config.data.join(CATALOG_FILE);
            ensure!(catalog.exists(), "there is no catalog {}", catalog.display());
            let reading = Reading::default();
            let inspecting = {
                let reading = reading.clone();
                tokio::task::spawn_blocking(move || verify(&catalog, &reading))
            };
            let tell = |catalog_bytes| show(&bar, Checked { catalog_bytes, stripes: 0 });
            let inspection = told_of(inspecting, &reading, tell).await?.context("the catalog")?;
            let mut report = CheckReport::default();
            if inspection.is_clean() {
                let assembly = assemble(config, &Unwatched).await?;
                let catalog_bytes = reading.bytes();
                let progress = |stripes| show(&bar, Checked { catalog_bytes, stripes });
                report = assembly.store.check(options, progress).await?;
            }
            report.catalog = catalog_report(&inspection);
            report
        }
        // Whoever has the folder is a gateway, and does it for us.
        Err(FolderError::InUse(_)) => {
            admin_of(config)?.check(options, |checked| show(&bar, checked)).await?
        }
        Err(error) => return Err(error.into()),
    };
    bar.finish_and_clear();
    print(&report, json)?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the admin port of the gateway is that has the data folder.
pub(crate) fn admin_of(config: &Config) -> Result<AdminPort> {
    let told = std::fs::read_to_string(config.data.join(ADMIN_FILE)).ok();
    AdminPort::of(config, told.and_then(|text| text.trim().parse().ok()))
}

/// The check of a store and of its catalog, which comes first: by one that is not as it should be, nothing
/// is mended or deleted.
pub(crate) fn check_of(assembly: &Assembly) -> ripstop_telemetry::Check {
    let catalog = assembly.catalog.clone();
    let fragments = ripstop_telemetry::check_of(assembly.store.clone());
    Arc::new(move |options, progress| {
        let (catalog, fragments) = (catalog.clone(), fragments.clone());
        Box::pin(async move {
            let reading = Reading::default();
            let tell = |catalog_bytes| progress(Checked { catalog_bytes, stripes: 0 });
            let inspection = told_of(catalog.inspect(&reading, None), &reading, tell).await?;
            let catalog_bytes = reading.bytes();
            let progress: Progress =
                Box::new(move |checked| progress(Checked { catalog_bytes, ..checked }));
            let is_clean = inspection.is_clean();
            let options = CheckOptions { repair: options.repair && is_clean };
            let checked = fragments(options, progress).await;
            let mut report = match checked {
                Err(StoreError::Catalog(CatalogError::Corrupt { .. })) if !is_clean => {
                    CheckReport::default()
                }
                checked => checked?,
            };
            report.catalog = catalog_report(&inspection);
            Ok(report)
        })
    })
}

fn catalog_report(inspection: &Inspection) -> CatalogReport {
    CatalogReport {
        bytes: inspection.len,
        objects: inspection.audit.objects,
        findings: inspection.findings(),
        findings_left_off: inspection.audit.findings_left_off,
    }
}

/// What reads a catalog, while `tell` is told now and then how many bytes it has read.
pub(crate) async fn told_of<T>(
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
        done = reads => done,
        () = telling => unreachable!("it tells for ever"),
    }
}

/// The catalog comes first: until a stripe is done, it is what is being read.
fn show(bar: &ProgressBar, checked: Checked) {
    if checked.stripes == 0 {
        bar.set_position(checked.catalog_bytes >> 20);
    } else {
        bar.set_message("stripes examined");
        bar.set_position(checked.stripes);
    }
}

/// A spinner on a terminal, nothing in a pipe.
pub(crate) fn progress(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {pos} {msg} ({elapsed})");
    bar.set_style(style.expect("the template is well formed"));
    bar.set_message(what);
    bar
}

fn print(report: &CheckReport, json: bool) -> Result<()> {
    if json {
        say_line!("{}", serde_json::to_string(report)?)?;
        return Ok(());
    }
    for finding in &report.catalog.findings {
        say_line!("Catalog: {finding}")?;
    }
    if report.catalog.findings_left_off > 0 {
        say_line!("Catalog: {} more", report.catalog.findings_left_off)?;
    }
    if !report.catalog.is_clean() {
        say_line!("Catalog: {DAMAGED}")?;
    }
    for finding in &report.findings {
        let node = finding.node.as_ref().map_or(String::new(), |node| format!(" at node {node}"));
        let done = if finding.repaired { ", put right" } else { "" };
        say_line!("{:?}: {}{node}{done}", finding.flaw, finding.name)?;
    }
    say_line!("{} stripes, {} fragments", report.stripes, report.fragments)?;
    say_line!(
        "missing {}, damaged {}, forged {}, unknown {}, unclaimed {}, misplaced {}, newer than the catalog {}; \
         stripes lost {}",
        report.missing,
        report.damaged,
        report.forged,
        report.unknown,
        report.unclaimed,
        report.misplaced,
        report.newer,
        report.lost
    )?;
    if report.leftovers > 0 {
        let (files, bytes) = (report.leftovers, report.leftover_bytes);
        say_line!("left by writes that never ended: {files} files, {bytes} bytes")?;
    }
    say_line!("put right: {}", report.repaired)?;
    Ok(())
}
