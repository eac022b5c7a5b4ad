//! `ripstop catalog move`: the catalog from its file into a database, and back.

use crate::{
    alone::must_be_alone,
    carried::{Rows, Target, audited, carried, counted},
    common::Common,
};
use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use ripstop_assembly::{
    CATALOG_FILE, DataFolder, FolderError, MOVING_FILE, config::Config, open_catalog, put_aside,
};
use ripstop_catalog::{Embedded, FilledFile, Reading, RowCount};
use ripstop_postgres::{FillError, FilledDatabase, Postgres, PostgresSettings, PostgresUrl};
use serde::Serialize;
use std::{fmt, fs, path::PathBuf, process::ExitCode, sync::Arc};

#[derive(Args, Debug)]
pub(crate) struct Catalog {
    #[command(subcommand)]
    pub command: CatalogCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CatalogCommand {
    /// Move the catalog from the data folder's file into a database, or back, or into another
    /// database. All gateways must have stopped.
    ///
    /// Everything is read again and compared before the move ends. Until then nothing is changed
    /// where the catalog was, and no gateway starts on what is unfinished: begin the move again.
    /// Exits with 1 if the move was made and records in the catalog do not agree, with 2 if it was
    /// not made.
    Move(Move),
}

#[derive(Args, Debug)]
pub(crate) struct Move {
    #[command(flatten)]
    pub common: Common,
    /// Where to: `postgres://USER:PASSWORD@HOST/DATABASE`, which must hold no catalog, or `file`,
    /// the data folder. A URL in the environment is not shown to other users of this machine.
    #[arg(long, env = "RIPSTOP_CATALOG_TO", hide_env_values = true, value_name = "URL|file")]
    pub to: Wish,
    /// Believe that all gateways have stopped, and do not wait, up to a minute, until those that
    /// were served from a database count as dead.
    #[arg(long)]
    pub stopped: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Where to, as it was typed: it may hold a password.
#[derive(Clone)]
pub(crate) struct Wish(String);

impl From<String> for Wish {
    fn from(typed: String) -> Self {
        Self(typed)
    }
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wish")
    }
}

/// Where to.
enum Destination {
    File,
    Database(Box<PostgresUrl>),
}

impl Destination {
    fn of(wish: &Wish, config: &Config) -> Result<Self> {
        if wish.0 == "file" {
            ensure!(config.catalog.is_some(), "the catalog is in the data folder's file already");
            return Ok(Self::File);
        }
        ensure!(
            PostgresUrl::is_one(&wish.0),
            "--to takes `file`, or a URL that begins with postgres://"
        );
        let url: PostgresUrl = wish.0.parse().context("--to")?;
        ensure!(config.catalog.as_ref() != Some(&url), "the catalog is in that database already");
        Ok(Self::Database(Box::new(url)))
    }
}

/// Where the catalog is.
enum Source {
    File(Arc<Embedded>),
    Database(Arc<Postgres>),
}

impl Source {
    async fn open(config: &Config) -> Result<Self> {
        let Some(url) = &config.catalog else {
            let file = config.data.join(CATALOG_FILE);
            ensure!(file.exists(), "there is no catalog {}", file.display());
            return Ok(Self::File(open_catalog(config, &file)?));
        };
        Ok(Self::Database(database(url).await?))
    }

    /// All rows, which nobody changes from now on.
    async fn leave(&self) -> Result<Rows> {
        Ok(match self {
            Self::File(file) => Rows::File(file.rows()),
            Self::Database(database) => Rows::Database(Box::new(database.leave().await?)),
        })
    }

    /// Has it be a catalog no longer; says what it is now.
    async fn retire(self, rows: Rows, config: &Config) -> Result<String> {
        if let Rows::Database(rows) = rows {
            rows.left().await.context("the database that the catalog was in")?;
            let url = config.catalog.as_ref().map(ToString::to_string).unwrap_or_default();
            return Ok(format!("the tables of {url}, from which no gateway serves any more"));
        }
        drop((self, rows));
        Ok(put_aside(&config.data)?.display().to_string())
    }
}

async fn database(url: &PostgresUrl) -> Result<Arc<Postgres>> {
    let catalog = Postgres::open(url, PostgresSettings::default()).await;
    Ok(Arc::new(catalog.with_context(|| format!("catalog {url}"))?))
}

/// What was moved.
#[derive(Serialize)]
struct Report {
    records: u64,
    objects: u64,
    checksum: String,
    findings: Vec<String>,
    /// What is left where the catalog was.
    left: String,
}

impl Report {
    fn of(count: RowCount, findings: Vec<String>, left: String) -> Self {
        let RowCount { rows, objects, sum } = count;
        Self { records: rows, objects, checksum: format!("{sum:032x}"), findings, left }
    }
}

pub(crate) async fn run(catalog: &Catalog) -> Result<ExitCode> {
    let CatalogCommand::Move(wanted) = &catalog.command;
    let config = wanted.common.resolve()?;
    let destination = Destination::of(&wanted.to, &config)?;
    let _folder = match DataFolder::open(&config) {
        Err(FolderError::InUse(folder)) => {
            bail!("a gateway, or another command, uses the data folder {folder}: stop it first")
        }
        opened => opened?,
    };
    let source = Source::open(&config).await?;
    if let (Source::Database(database), false) = (&source, wanted.stopped) {
        must_be_alone(&**database).await?;
    }
    let mut rows = source.leave().await?;
    let (count, findings) = match begin(&config, &destination).await? {
        Begun::New(mut target) => {
            let count = carried(&mut rows, &mut target).await?;
            (count, finish(target, &config).await?)
        }
        Begun::Occupied { mut by, why } => {
            // As an earlier move leaves it that was ended between its last two steps.
            let count = counted(&mut rows).await?;
            ensure!(counted(&mut by).await? == count, why);
            (count, Vec::new())
        }
    };
    let left = source.retire(rows, &config).await?;
    print(&Report::of(count, findings, left), &destination, &config, wanted.json)
}

/// What there is to be filled.
enum Begun {
    New(Target),
    /// There is a catalog there.
    Occupied {
        by: Rows,
        why: String,
    },
}

async fn begin(config: &Config, destination: &Destination) -> Result<Begun> {
    match destination {
        Destination::File => {
            let file = config.data.join(CATALOG_FILE);
            if file.exists() {
                let why = format!("there is a catalog {}: move it away first", file.display());
                return Ok(Begun::Occupied {
                    by: Rows::File(open_catalog(config, &file)?.rows()),
                    why,
                });
            }
            let moving = config.data.join(MOVING_FILE);
            if moving.exists() {
                fs::remove_file(&moving).context("what an earlier move left")?;
            }
            Ok(Begun::New(Target::File(FilledFile::begin(&moving)?)))
        }
        Destination::Database(url) => {
            match FilledDatabase::begin(url, PostgresSettings::default()).await {
                Ok(target) => Ok(Begun::New(Target::Database(target))),
                Err(why @ FillError::NotEmpty) => {
                    let by = Rows::Database(Box::new(database(url).await?.rows().await?));
                    Ok(Begun::Occupied { by, why: why.to_string() })
                }
                Err(error) => Err(error).with_context(|| format!("{url}")),
            }
        }
    }
}

/// Has what was filled be the catalog; answers with what in it does not agree.
async fn finish(target: Target, config: &Config) -> Result<Vec<String>> {
    match target {
        Target::Database(database) => {
            let findings = audited(&database).await?;
            database.finish().await?;
            Ok(findings)
        }
        Target::File(file) => {
            let inspecting = move || file.finish(&Reading::default());
            let copied = ripstop_host::spawn_blocking(inspecting).await??;
            let findings = copied.inspection.findings();
            copied.keep()?;
            let moving: PathBuf = config.data.join(MOVING_FILE);
            fs::rename(moving, config.data.join(CATALOG_FILE)).context("the catalog")?;
            fs::File::open(&config.data)?.sync_all()?;
            Ok(findings)
        }
    }
}

fn print(
    report: &Report,
    destination: &Destination,
    config: &Config,
    json: bool,
) -> Result<ExitCode> {
    let is_clean = report.findings.is_empty();
    let code = if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        say_line!("{}", serde_json::to_string(report)?)?;
        return Ok(code);
    }
    let Report { records, objects, checksum, findings, left } = report;
    for finding in findings {
        say_line!("Catalog: {finding}")?;
    }
    say_line!("moved {records} records, {objects} of them objects, checksum {checksum}, verified")?;
    say_line!("left behind: {left}")?;
    match destination {
        Destination::File => say_line!(
            "Now take `catalog` out of [store] in the configuration, and RIPSTOP_STORE_CATALOG out of the \
             environment, and start the gateway: the catalog is {}",
            config.data.join(CATALOG_FILE).display()
        )?,
        Destination::Database(url) => say_line!(
            "Now set `catalog` of [store] in the configuration (or RIPSTOP_STORE_CATALOG) to the URL of {url}, \
             and start the gateway. Further gateways need copies of {}, {} and the credentials",
            config.key_file().display(),
            config.object_keys_file().display()
        )?,
    }
    Ok(code)
}
