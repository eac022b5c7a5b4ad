use crate::{
    assembly::{CATALOG_FILE, DataFolder, number_nodes, open_catalog},
    check::progress,
    config::Config,
};
use anyhow::{Context as _, Result, bail};
use std::{fs, process::ExitCode};

/// Name that the new catalog has until it is whole.
const UNFINISHED: &str = "catalog.rebuilding";

pub(crate) async fn run(config: &Config, json: bool) -> Result<ExitCode> {
    let _folder = DataFolder::create(config)?;
    let file = config.data.join(CATALOG_FILE);
    if file.exists() {
        bail!("there is a catalog, {}: move it away first if it is beyond use", file.display());
    }
    let unfinished = config.data.join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_file(&unfinished).context("what an earlier rebuild left")?;
    }
    let bar = progress("fragments read");
    let report = {
        let catalog = open_catalog(config, &unfinished)?;
        let mut nodes = Vec::new();
        for pool in &config.pools {
            crate::assembly::pool_id(&*catalog, pool).await?;
            let numbered = number_nodes(&*catalog, pool).await?;
            nodes.extend(numbered.into_iter().map(|node| (node.id, node.node)));
        }
        ripstop_store::rebuild(&*catalog, &nodes, |fragments| bar.set_position(fragments)).await?
    };
    bar.finish_and_clear();
    fs::rename(&unfinished, &file).context("the new catalog")?;
    fs::File::open(&config.data)?.sync_all()?;
    print(&report, json)?;
    Ok(if report.lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &ripstop_store::RebuildReport, json: bool) -> Result<()> {
    if json {
        say_line!("{}", serde_json::to_string(report)?)?;
        return Ok(());
    }
    for key in &report.lost {
        say_line!("lost: {key}")?;
    }
    say_line!(
        "{} buckets and {} objects from {} fragments; {} fragments damaged, {} stripes of other stores, \
         {} nodes not listed whole",
        report.buckets,
        report.objects,
        report.fragments,
        report.damaged,
        report.foreign,
        report.unlisted
    )?;
    Ok(())
}
