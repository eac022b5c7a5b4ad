//! `ripstop rebuild --onto`: brings into the catalog what it lacks of what the nodes hold.

use crate::{
    alone::must_be_alone,
    progress::progress,
    rebuild::{UNFINISHED, found_at_the_nodes, new_catalog},
};
use anyhow::{Context as _, Result, ensure};
use ripstop_assembly::{CATALOG_FILE, DataFolder, config::Config, open_catalog};
use ripstop_catalog::{Catalog, Change};
use ripstop_keeper::{CompleteReport, RebuildReport, complete};
use ripstop_postgres::{Postgres, PostgresSettings};
use serde::Serialize;
use std::{fs, process::ExitCode, time::UNIX_EPOCH};

/// What was found at the nodes, and what of it the catalog lacked.
#[derive(Serialize)]
struct Completed {
    found: RebuildReport,
    brought_in: CompleteReport,
}

/// Completes the catalog of a gateway that does not run.
pub(crate) async fn run(config: &Config, unsealed: bool, json: bool) -> Result<ExitCode> {
    let _folder = DataFolder::open(config)?;
    if let Some(url) = &config.catalog {
        let catalog = Postgres::open(url, PostgresSettings::default()).await;
        let catalog = catalog.with_context(|| format!("catalog {url}"))?;
        must_be_alone(&catalog).await?;
        return onto(config, &catalog, unsealed, json).await;
    }
    locked(config, unsealed, json).await
}

/// The same for one who has the data folder.
pub(crate) async fn locked(config: &Config, unsealed: bool, json: bool) -> Result<ExitCode> {
    let file = config.data.join(CATALOG_FILE);
    ensure!(file.exists(), "there is no catalog {}: leave out --onto", file.display());
    let catalog = open_catalog(config, &file)?;
    onto(config, &*catalog, unsealed, json).await
}

/// The same for a catalog that is open, and nobody else's.
pub(crate) async fn onto(
    config: &Config,
    catalog: &dyn Catalog,
    unsealed: bool,
    json: bool,
) -> Result<ExitCode> {
    let unfinished = config.data.join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_file(&unfinished).context("what an earlier rebuild left")?;
    }
    let begun_ms = ripstop_host::wall().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let completed = {
        let temporary = new_catalog(config, &unfinished)?;
        let mut names = catalog.nodes().await?;
        names.sort_by_key(|(_, number)| *number);
        for (name, number) in names {
            let change = Change::NameNode { name: name.clone() };
            let given = temporary.commit_one(begun_ms, change).await?.node;
            ensure!(
                given == Some(number),
                "{name} has the number {number:?} in the catalog, not {given:?}"
            );
        }
        let found = found_at_the_nodes(config, &temporary, unsealed).await?;
        let stores = temporary.nodes().await?;
        let stores = stores.iter().filter(|(name, _)| name.starts_with("store:")).count();
        ensure!(
            stores <= 1,
            "most fragments at the nodes were written by another store than this catalog's"
        );
        let bar = progress("objects looked at");
        let brought_in = complete(catalog, &temporary, |objects| bar.set_position(objects)).await?;
        bar.finish_and_clear();
        if found.unlisted == 0 {
            let change = Change::Vouch { before_ms: begun_ms };
            catalog.commit_one(begun_ms, change).await?;
        }
        Completed { found, brought_in }
    };
    fs::remove_file(&unfinished)?;
    if json {
        say_line!("{}", serde_json::to_string(&completed)?)?;
    } else {
        let CompleteReport { buckets, objects, deletions, left_out } = completed.brought_in;
        say_line!(
            "brought in {buckets} buckets and {objects} objects from the nodes, and {deletions} deletions; \
             {left_out} left out"
        )?;
        if completed.found.unlisted > 0 {
            say_line!(
                "{} nodes were not listed completely: what only they tell of is missing. Bring them back and run \
                 `ripstop rebuild --onto` again; until then no unclaimed fragment is deleted",
                completed.found.unlisted
            )?;
        }
    }
    let is_whole = completed.found.unlisted == 0;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
