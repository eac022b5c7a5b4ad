//! `ripstop backup` and `ripstop restore`: copies of the catalog, verified, and back again.

use crate::{
    carried::{Rows, Target, carried},
    common::Common,
    complete,
    progress::progress,
};
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use ripstop_assembly::{
    AdminPort, CATALOG_FILE, DataFolder, FolderError, Kept, KeyFile, config::Config, copy_key,
    copy_ring, free_name, open_catalog, read_ring, told_of,
};
use ripstop_catalog::{Copied, Extracted, FilledFile, Reading, copy};
use ripstop_postgres::{FilledDatabase, Postgres, PostgresSettings, PostgresUrl};
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// How names of catalogs begin that were replaced by a copy.
const REPLACED: &str = "catalog.replaced-";
/// What a catalog that is being put back is called until it is whole.
const RESTORING: &str = "catalog.restoring";

#[derive(Args, Debug)]
pub(crate) struct Backup {
    #[command(flatten)]
    pub common: Common,
    /// The copy: a file that does not exist yet.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub common: Common,
    /// A file that `ripstop backup` made.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print what was found and brought in as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Copies the catalog to a new file, while a gateway serves from it or not.
pub(crate) async fn run(config: &Config, to: &Path) -> Result<ExitCode> {
    ensure!(to.symlink_metadata().is_err(), "{} is there already: give a new name", to.display());
    let [key, ring] = keys_beside(to);
    for key in [&key, &ring] {
        ensure!(
            key.symlink_metadata().is_err(),
            "{} is there already: give a new name",
            key.display()
        );
    }
    let copied = match &config.catalog {
        Some(url) => copied_out(url, to).await?,
        None => copied_file(config, to).await?,
    };
    let (objects, bytes) = (copied.inspection.audit.objects, copied.inspection.len);
    let findings = copied.inspection.findings();
    copied.keep().with_context(|| format!("{}", to.display()))?;
    for finding in &findings {
        say_line!("Catalog: {finding}")?;
    }
    say_line!("{}: {objects} objects in {bytes} bytes, verified", to.display())?;
    take_key_along(config, &key)?;
    take_ring_along(config, &ring)?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Copies the catalog's file.
async fn copied_file(config: &Config, to: &Path) -> Result<Copied> {
    let catalog = config.data.join(CATALOG_FILE);
    match DataFolder::open(config) {
        Ok(_folder) => {
            ensure!(catalog.exists(), "there is no catalog {}", catalog.display());
            copied(&catalog, None, to).await
        }
        Err(FolderError::InUse(_)) => {
            let kept = Kept::ask(AdminPort::of_folder(config)?.snapshot().await?);
            let copied = copied(&catalog, Some(kept.extracted.clone()), to).await;
            // What is copied after the gateway let go may be anything.
            kept.release()?;
            copied
        }
        Err(error) => Err(error.into()),
    }
}

/// Copies one moment of a catalog in a database into a file of the same form.
async fn copied_out(url: &PostgresUrl, to: &Path) -> Result<Copied> {
    let database = Postgres::open(url, PostgresSettings::default()).await;
    let database = database.with_context(|| format!("catalog {url}"))?;
    let mut rows = Rows::Database(Box::new(database.rows().await?));
    let mut target = Target::File(FilledFile::begin(to)?);
    carried(&mut rows, &mut target).await?;
    drop(rows);
    let Target::File(file) = target else { bail!("the copy is no file") };
    let finishing = move || file.finish_copy(&Reading::default());
    Ok(ripstop_host::spawn_blocking(finishing).await??)
}

/// Where the store's key goes, or is, of a copy of the catalog; and where the keys of objects do.
fn keys_beside(copy: &Path) -> [PathBuf; 2] {
    [".key", ".object-keys"].map(|ending| {
        let mut name = copy.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

/// Copies the store's key too, if it is in the data folder; or says where it is.
fn take_key_along(config: &Config, to: &Path) -> Result<()> {
    let key = &config.key_file();
    if KeyFile::read(key)?.is_none() {
        return Ok(());
    }
    if config.key_file.is_some() {
        say_line!(
            "{} is not copied, because its place is configured. Keep a copy of it: without it, what is encrypted is \
             lost, and nothing that is sealed can be verified",
            key.display()
        )?;
        return Ok(());
    }
    copy_key(key, to)?;
    say_line!(
        "{}: the store's key, which is secret: keep it where only you can read it",
        to.display()
    )?;
    Ok(())
}

/// Copies the keys of objects too, if they are in the data folder; or says where they are.
fn take_ring_along(config: &Config, to: &Path) -> Result<()> {
    let from = &config.object_keys_file();
    if read_ring(from)?.is_none() {
        return Ok(());
    }
    if config.object_keys_file.is_some() {
        say_line!(
            "{} is not copied, because its place is configured. Keep a copy of it: without it, objects that \
             are encrypted with its keys are lost",
            from.display()
        )?;
        return Ok(());
    }
    copy_ring(from, to)?;
    say_line!(
        "{}: the keys of encrypted objects, which are secret: keep them where only you can read them",
        to.display()
    )?;
    Ok(())
}

/// Puts the keys of objects back that are beside a copy of the catalog, where there are none;
/// refuses others.
fn put_ring_back(config: &Config, from: &Path) -> Result<()> {
    let Some(copied) = read_ring(from)? else { return Ok(()) };
    let at = &config.object_keys_file();
    match read_ring(at)? {
        None => copy_ring(from, at),
        Some(present) if copied.ids().all(|id| present.ids().any(|own| own == id)) => Ok(()),
        Some(_) => bail!(
            "{} lacks keys of {}: move it away, or put the lines of both into it",
            at.display(),
            from.display()
        ),
    }
}

/// Puts the key back that is beside a copy of the catalog, where there is none; refuses another
/// one.
fn put_key_back(config: &Config, from: &Path) -> Result<()> {
    let Some(copied) = KeyFile::read(from)? else { return Ok(()) };
    let key = &config.key_file();
    match KeyFile::read(key)? {
        None => copy_key(from, key),
        Some(present) if copied.ids().all(|id| present.ids().any(|own| own == id)) => Ok(()),
        Some(_) => bail!(
            "{} holds another key than {}: move it away, or put both into it, a line each",
            key.display(),
            from.display()
        ),
    }
}

async fn copied(from: &Path, kept: Option<Extracted>, to: &Path) -> Result<Copied> {
    let (reading, from, into) = (Reading::default(), from.to_owned(), to.to_owned());
    let copying = {
        let reading = reading.clone();
        ripstop_host::spawn_blocking(move || copy(&from, kept.as_ref(), &into, &reading))
    };
    let bar = progress("MiB copied and verified");
    let copied = told_of(copying, &reading, |bytes| bar.set_position(bytes >> 20)).await?;
    bar.finish_and_clear();
    copied
        .map_err(|error| anyhow::anyhow!("{}", told(&error)))
        .with_context(|| format!("copy {}", to.display()))
}

/// An error with its causes.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Puts a copy back in the catalog's place, keeps what was there, and brings in what has been
/// written since from the fragments.
pub(crate) async fn restore(config: &Config, from: &Path, json: bool) -> Result<ExitCode> {
    ensure!(from.is_file(), "there is no file {}", from.display());
    let _folder = DataFolder::create(config)?;
    let [key, ring] = keys_beside(from);
    put_key_back(config, &key)?;
    put_ring_back(config, &ring)?;
    let restoring = config.data.join(RESTORING);
    if restoring.exists() {
        fs::remove_file(&restoring).context("what an earlier restore left")?;
    }
    let copied = copied(from, None, &restoring).await?;
    let findings = copied.inspection.findings();
    if let Some(first) = findings.first() {
        bail!("{} is not whole ({} findings): {first}", from.display(), findings.len());
    }
    let objects = copied.inspection.audit.objects;
    copied.keep()?;
    if let Some(url) = &config.catalog {
        let database = put_in(config, url, &restoring).await?;
        if !json {
            say_line!("put back {}: {objects} objects", from.display())?;
        }
        let code = complete::onto(config, &**database.catalog(), false, json).await?;
        // Until now no gateway began on it.
        database.finish().await?;
        return Ok(code);
    }
    let catalog = config.data.join(CATALOG_FILE);
    if catalog.exists() {
        let aside = free_name(&config.data, REPLACED)?;
        fs::rename(&catalog, &aside).context("the catalog that is replaced")?;
        if !json {
            say_line!("the catalog that was there is now {}", aside.display())?;
        }
    }
    fs::rename(&restoring, &catalog).context("the catalog that is put back")?;
    fs::File::open(&config.data)?.sync_all()?;
    if !json {
        say_line!("put back {}: {objects} objects", from.display())?;
    }
    complete::locked(config, false, json).await
}

/// Carries a copy that is whole into a database that holds no catalog, and removes it.
async fn put_in(config: &Config, url: &PostgresUrl, copy: &Path) -> Result<FilledDatabase> {
    let database = FilledDatabase::begin(url, PostgresSettings::default()).await;
    let database = database.with_context(|| format!("{url}"))?;
    let catalog = open_catalog(config, copy)?;
    let mut target = Target::Database(database.clone());
    carried(&mut Rows::File(catalog.rows()), &mut target).await?;
    drop(catalog);
    fs::remove_file(copy)?;
    Ok(database)
}
