//! `ripstop rebuild`: a lost catalog, made again from the fragments at the nodes.

#[cfg(test)]
mod tests;

use crate::common::Common;
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ripstop_assembly::{
    CATALOG_FILE, DataFolder,
    config::{Config, NodePlace},
    note_keys, note_object_keys, number_nodes, pool_id, reading_seals,
};
use ripstop_block::Blocks;
use ripstop_catalog::{AtOnce, Catalog, Change, Embedded, Grouped};
use ripstop_keeper::{RebuildProgress, RebuildReport, Roll, SurveyedNode, SurveyedPool, rebuild};
use ripstop_node::{Directory, DirectorySettings};
use ripstop_postgres::{FilledDatabase, PostgresSettings, PostgresUrl};
use ripstop_store::identity_or;
use std::{
    fs,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

/// Name that the new catalog has until it is whole.
pub(crate) const UNFINISHED: &str = "catalog.rebuilding";
/// Folder, beside it, of what is put aside.
const SCRATCH: &str = "rebuilding";
/// Changes that share one transaction: nobody waits for a single one of them.
const CHANGES_PER_COMMIT: usize = 16 << 10;
/// The same in a database, where each statement has its time.
const CHANGES_PER_TRANSACTION: usize = 1 << 10;
/// How often a terminal is told how far it is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub(crate) struct Rebuild {
    #[command(flatten)]
    pub common: Common,
    /// Keep the existing catalog, and bring in what it lacks: use this after an old one came back.
    #[arg(long)]
    pub onto: bool,
    /// Believe what is sealed with a lost key, although nothing can verify it. What is encrypted
    /// with that key stays lost.
    #[arg(long)]
    pub unsealed: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

pub(crate) async fn run(config: &Config, unsealed: bool, json: bool) -> Result<ExitCode> {
    let _folder = DataFolder::create(config)?;
    let report = match &config.catalog {
        Some(url) => in_a_database(config, url, unsealed).await?,
        None => in_a_file(config, unsealed).await?,
    };
    print(&report, json)?;
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn in_a_file(config: &Config, unsealed: bool) -> Result<RebuildReport> {
    let file = config.data.join(CATALOG_FILE);
    if file.exists() {
        bail!("there is a catalog, {}: move it away first if it cannot be used", file.display());
    }
    let unfinished = config.data.join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_file(&unfinished).context("what an earlier rebuild left")?;
    }
    let report = made(config, &new_catalog(config, &unfinished)?, unsealed).await?;
    fs::rename(&unfinished, &file).context("the new catalog")?;
    fs::File::open(&config.data)?.sync_all()?;
    Ok(report)
}

/// No gateway begins on it before the end, and a rebuild that begins again removes what was made.
async fn in_a_database(
    config: &Config,
    url: &PostgresUrl,
    unsealed: bool,
) -> Result<RebuildReport> {
    let database = FilledDatabase::begin(url, PostgresSettings::default()).await;
    let database = database.with_context(|| format!("{url}"))?;
    let gather = AtOnce { changes_max: CHANGES_PER_TRANSACTION };
    let waiting_max = 2 * CHANGES_PER_TRANSACTION;
    let catalog = Grouped::by(gather, waiting_max, Arc::clone(database.catalog()));
    let report = made(config, &catalog, unsealed).await?;
    database.finish().await?;
    Ok(report)
}

/// Makes everything that an empty catalog is to hold.
async fn made(config: &Config, catalog: &dyn Catalog, unsealed: bool) -> Result<RebuildReport> {
    let marked = marked_store(config).await?;
    let report = found_at_the_nodes(config, catalog, unsealed).await?;
    agree(catalog, marked).await?;
    note_keys(config, catalog).await?;
    note_object_keys(config, catalog).await?;
    if report.unlisted > 0 {
        // What only a node that is away tells of must not be swept when it is back.
        catalog.commit_one(0, Change::Vouch { before_ms: 0 }).await?;
    }
    Ok(report)
}

/// The store that the folders of nodes are marked as of; they must agree.
async fn marked_store(config: &Config) -> Result<Option<u64>> {
    let mut first: Option<(&str, u64)> = None;
    for node in config.pools.iter().flat_map(|pool| &pool.nodes) {
        let NodePlace::Directory { path, .. } = &node.place else { continue };
        let directory = Directory::new(path.clone(), DirectorySettings::default());
        // A folder that cannot be looked at is missing from the rebuild, which says so.
        let Ok(Some(mark)) = directory.mark().await else { continue };
        let (other, store) = *first.get_or_insert((&node.name, mark.store));
        ensure!(
            store == mark.store,
            "the folder of node {:?} is marked as store {:016x}'s, that of node {other:?} as store \
             {store:016x}'s: leave out the nodes of the other store",
            node.name,
            mark.store
        );
    }
    Ok(first.map(|(_, store)| store))
}

/// Refuses a catalog of another store than nodes are marked as of; one of no store yet is of
/// theirs.
async fn agree(catalog: &dyn Catalog, marked: Option<u64>) -> Result<()> {
    let Some(marked) = marked else { return Ok(()) };
    let found = identity_or(catalog, marked).await?;
    ensure!(
        found == marked,
        "fragments say that they are store {found:016x}'s, folders of nodes are marked as store \
         {marked:016x}'s: remove the markers `.ripstop-node` if those are wrong"
    );
    Ok(())
}

/// Makes the records of an empty catalog from the fragments at the configured nodes.
pub(crate) async fn found_at_the_nodes(
    config: &Config,
    catalog: &dyn Catalog,
    unsealed: bool,
) -> Result<RebuildReport> {
    let seals = reading_seals(config, unsealed)?;
    let pools = surveyed(config, catalog).await?;
    let (progress, scratch) = (RebuildProgress::default(), config.data.join(SCRATCH));
    let rebuilt = rebuild(catalog, pools, &scratch, &progress, &seals);
    let report = tokio::select! {
        rebuilt = rebuilt => rebuilt?,
        () = tell(&progress) => unreachable!("it tells for ever"),
    };
    let locked: u64 = report.locked.values().sum();
    // Less may be what somebody put there: it must not keep the rest from being found.
    if locked > report.fragments && !unsealed {
        let keys: Vec<&str> = report.locked.keys().map(String::as_str).collect();
        bail!(
            "{locked} fragments are sealed or encrypted with key {}, which is not in {}: put the copy of it back \
             there. If there is none left, `ripstop rebuild --unsealed` finds what is only sealed",
            keys.join(", "),
            config.key_file().display()
        );
    }
    Ok(report)
}

/// A catalog into which much is brought at once.
pub(crate) fn new_catalog(config: &Config, file: &Path) -> Result<Grouped<Embedded>> {
    let settings = ripstop_catalog::CatalogSettings {
        cache_bytes: config.catalog_cache,
        ..Default::default()
    };
    let catalog = Embedded::open(file, settings);
    let catalog = catalog.with_context(|| format!("catalog {}", file.display()))?;
    let gather = AtOnce { changes_max: CHANGES_PER_COMMIT };
    Ok(Grouped::by(gather, 2 * CHANGES_PER_COMMIT, Arc::new(catalog)))
}

/// The configured pools, with the numbers that the catalog gives their names.
pub(crate) async fn surveyed(config: &Config, catalog: &dyn Catalog) -> Result<Vec<SurveyedPool>> {
    let mut pools = Vec::with_capacity(config.pools.len());
    for pool in &config.pools {
        let id = pool_id(catalog, pool).await?;
        let nodes = number_nodes(catalog, pool, None, &Blocks::default()).await?;
        let nodes = nodes.into_iter();
        let nodes = nodes.map(|it| SurveyedNode { id: it.id, name: it.name, node: it.node });
        let (name, code, layout) = (pool.name.clone(), pool.code, pool.layout);
        pools.push(SurveyedPool { id, name, code, layout, nodes: nodes.collect() });
    }
    Ok(pools)
}

/// Tells a terminal how far the rebuild is; a pipe nothing.
async fn tell(progress: &RebuildProgress) {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    bar.set_style(style.expect("the template is well formed"));
    let begun = ripstop_host::now();
    let mut bringing_since = None;
    loop {
        tokio::time::sleep(TOLD_EVERY).await;
        let (fragments, objects) = (progress.fragments(), progress.objects());
        let rate =
            |count: u64, since: Instant| count as f64 / ripstop_host::since(since).as_secs_f64();
        bar.set_message(if objects == 0 {
            format!("{fragments} fragments read, {:.0}/s", rate(fragments, begun))
        } else {
            let since = *bringing_since.get_or_insert_with(ripstop_host::now);
            format!("{fragments} fragments read; {objects} objects, {:.0}/s", rate(objects, since))
        });
        bar.tick();
    }
}

fn print(report: &RebuildReport, json: bool) -> Result<()> {
    if json {
        say_line!("{}", serde_json::to_string(report)?)?;
        return Ok(());
    }
    say_named("lost", &report.lost)?;
    say_named("disputed", &report.disputed)?;
    say_named("unreadable", &report.unreadable)?;
    say_named("unfinished", &report.unfinished)?;
    say_named("differing", &report.differing)?;
    say_seals(report)?;
    say_line!(
        "{} buckets and {} objects from {} fragments; {} fragments damaged, {} differing, {} stripes \
         disputed, {} unreadable, {} of other stores, {} nodes not listed completely; {} versions lost, {} unfinished",
        report.buckets,
        report.objects,
        report.fragments,
        report.damaged,
        report.differing.count,
        report.disputed.count,
        report.unreadable.count,
        report.foreign,
        report.unlisted,
        report.lost.count,
        report.unfinished.count
    )?;
    Ok(())
}

/// What keys have to do with it.
fn say_seals(report: &RebuildReport) -> Result<()> {
    if report.unsealed > 0 {
        say_line!(
            "NOT VERIFIED: {} fragments are sealed with a key that is missing. They were believed because \
             --unsealed was given: anybody who can write to the nodes may have made them. They can be read, \
             not mended; write the objects again to have them sealed",
            report.unsealed
        )?;
    }
    for (key, fragments) in &report.locked {
        say_line!("locked: {fragments} fragments need key {key}, which is missing")?;
    }
    if report.forged > 0 {
        say_line!(
            "forged: {} fragments have headers without a seal, and this store seals: not used",
            report.forged
        )?;
    }
    Ok(())
}

fn say_named(what: &str, named: &Roll) -> Result<()> {
    for name in &named.named {
        // Keys may hold anything, also what a terminal would obey.
        let shown: String = name
            .chars()
            .flat_map(|c| {
                let escaped = c.is_control().then(|| c.escape_default());
                let plain = escaped.is_none().then_some(c);
                escaped.into_iter().flatten().chain(plain)
            })
            .collect();
        say_line!("{what}: {shown}")?;
    }
    let left = named.count - named.named.len() as u64;
    if left > 0 {
        say_line!("{what}: {left} more")?;
    }
    Ok(())
}
