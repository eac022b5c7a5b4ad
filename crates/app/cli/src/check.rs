use crate::{common::Common, progress::progress};
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use indicatif::ProgressBar;
use ripstop_assembly::{
    AdminPort, CATALOG_FILE, DAMAGED, DataFolder, FolderError, OpenedCatalog, Unwatched, assemble,
    audited, catalog_report, config::Config, told_of,
};
use ripstop_catalog::{Reading, verify};
use ripstop_keeper::{CheckOptions, CheckReport};
use ripstop_telemetry::Checked;
use std::process::ExitCode;

/// What is counted until the first stripe is.
const CATALOG_READ: &str = "MiB of the catalog read";

#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub common: Common,
    /// Mend what the remaining fragments allow, and delete fragments that nothing claims.
    #[arg(long)]
    pub repair: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

pub(crate) async fn run(config: &Config, repair: bool, json: bool) -> Result<ExitCode> {
    let options = CheckOptions { repair };
    let bar = progress(CATALOG_READ);
    let report = match DataFolder::open(config) {
        Ok(_folder) if config.catalog.is_some() => in_a_database(config, options, &bar).await?,
        Ok(_folder) => {
            let catalog = config.data.join(CATALOG_FILE);
            ensure!(catalog.exists(), "there is no catalog {}", catalog.display());
            let reading = Reading::default();
            let inspecting = {
                let reading = reading.clone();
                ripstop_host::spawn_blocking(move || verify(&catalog, &reading))
            };
            let tell = |catalog_bytes| show(&bar, Checked { catalog_bytes, stripes: 0 });
            let inspection = told_of(inspecting, &reading, tell).await?.context("the catalog")?;
            let mut report = CheckReport::default();
            if inspection.is_clean() {
                let assembly = assemble(config, &Unwatched).await?;
                let catalog_bytes = reading.bytes();
                let progress = |stripes| show(&bar, Checked { catalog_bytes, stripes });
                report = assembly.keeper.check(options, progress).await?;
            }
            report.catalog = catalog_report(&inspection);
            report
        }
        // The holder of the folder is a gateway, and does it for us.
        Err(FolderError::InUse(_)) => {
            AdminPort::of_folder(config)?.check(options, |checked| show(&bar, checked)).await?
        }
        Err(error) => return Err(error.into()),
    };
    bar.finish_and_clear();
    print(&report, json)?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Of a catalog in a database every record is read, then what the nodes hold.
async fn in_a_database(
    config: &Config,
    options: CheckOptions,
    bar: &ProgressBar,
) -> Result<CheckReport> {
    let assembly = assemble(config, &Unwatched).await?;
    let OpenedCatalog::Shared(catalog) = &assembly.catalog else {
        bail!("the catalog is not in a database");
    };
    let of_catalog = audited(&**catalog).await?;
    let mut report = CheckReport::default();
    if of_catalog.is_clean() {
        let progress = |stripes| show(bar, Checked { catalog_bytes: 0, stripes });
        report = assembly.keeper.check(options, progress).await?;
    }
    report.catalog = of_catalog;
    Ok(report)
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
