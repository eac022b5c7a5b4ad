use crate::{
    admin_client,
    assembly::{ADMIN_FILE, CATALOG_FILE, DataFolder, FolderError, assemble},
    config::Config,
    watch::Unwatched,
};
use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use ripstop_store::{CheckOptions, CheckReport};
use std::process::ExitCode;

pub(crate) async fn run(config: &Config, repair: bool, json: bool) -> Result<ExitCode> {
    let options = CheckOptions { repair };
    let bar = progress("stripes examined");
    let report = match DataFolder::open(config) {
        Ok(_folder) => {
            let catalog = config.data.join(CATALOG_FILE);
            ensure!(catalog.exists(), "there is no catalog {}", catalog.display());
            let assembly = assemble(config, &Unwatched).await?;
            assembly.store.check(options, |stripes| bar.set_position(stripes)).await?
        }
        // Whoever has the folder is a gateway, and does it for us.
        Err(FolderError::InUse(_)) => {
            let told = std::fs::read_to_string(config.data.join(ADMIN_FILE)).ok();
            let admin = told.and_then(|text| text.trim().parse().ok()).unwrap_or(config.admin);
            admin_client::check(admin, options, |stripes| bar.set_position(stripes)).await?
        }
        Err(error) => return Err(error.into()),
    };
    bar.finish_and_clear();
    print(&report, json)?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
    for finding in &report.findings {
        let node = finding.node.as_ref().map_or(String::new(), |node| format!(" at node {node}"));
        let done = if finding.repaired { ", put right" } else { "" };
        say_line!("{:?}: {}{node}{done}", finding.flaw, finding.name)?;
    }
    say_line!("{} stripes, {} fragments", report.stripes, report.fragments)?;
    say_line!(
        "missing {}, damaged {}, unknown {}, unclaimed {}, misplaced {}; stripes lost {}",
        report.missing,
        report.damaged,
        report.unknown,
        report.unclaimed,
        report.misplaced,
        report.lost
    )?;
    if report.leftovers > 0 {
        let (files, bytes) = (report.leftovers, report.leftover_bytes);
        say_line!("left by writes that never ended: {files} files, {bytes} bytes")?;
    }
    say_line!("put right: {}", report.repaired)?;
    Ok(())
}
