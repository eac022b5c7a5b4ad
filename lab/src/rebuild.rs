//! `ripstop-lab rebuild`: how fast a catalog is made again, and how much memory that takes.

use crate::program;
use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use ripstop_assembly::{CATALOG_FILE, DataFolder, Unwatched, assemble, config};
use ripstop_catalog::{Attributes, Condition};
use ripstop_store::{Body, Store, Target};
use std::{
    convert::Infallible,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

const BUCKET: &str = "bench";
/// Objects that are made at once.
const PUTS: usize = 256;
/// How long the last fragments may take to be stored.
const SETTLE_WITHIN: Duration = Duration::from_mins(1);
/// How often the peak of memory is read.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Puts small objects into a store over six directories, throws its catalog away, and measures how
/// fast `ripstop rebuild` makes a new one, with the files in memory.
#[derive(Args, Debug)]
pub(crate) struct Rebuild {
    /// How many objects.
    #[arg(long, default_value_t = 100_000)]
    pub objects: u64,
    /// Bytes of each.
    #[arg(long, default_value_t = 16)]
    pub size: usize,
    /// Folder for the store, which is created and kept [default: a temporary one].
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// Measure the `ripstop` at this path instead of the one beside this program.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Rebuild) -> Result<ExitCode> {
    ensure!(arguments.objects > 0, "--objects must be more than 0");
    let temporary = tempfile::tempdir()?;
    let folder = arguments.folder.clone().unwrap_or_else(|| temporary.path().join("store"));
    let config = folder.join("ripstop.toml");
    if !config.exists() {
        let begun = Instant::now();
        make(&folder, &config, arguments).await?;
        println!("{} objects made in {:.1} s", arguments.objects, begun.elapsed().as_secs_f64());
    }
    let catalog = folder.join("data").join(CATALOG_FILE);
    if catalog.exists() {
        fs::remove_file(&catalog)?;
    }
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => program::ripstop()?,
    };
    let begun = Instant::now();
    let mut rebuild = Command::new(&program)
        .args(["rebuild", "--json", "--config"])
        .arg(&config)
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("{}", program.display()))?;
    let peak_kib = watch(&mut rebuild)?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = rebuild.wait()?;
    println!(
        "{status}: {seconds:.2} s, {:.0} objects/s, at most {} MiB of memory, catalog of {} MiB",
        arguments.objects as f64 / seconds,
        peak_kib >> 10,
        fs::metadata(&catalog)?.len() >> 20,
    );
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Puts the objects.
async fn make(folder: &Path, file: &Path, arguments: &Rebuild) -> Result<()> {
    fs::create_dir(folder).with_context(|| format!("folder {}", folder.display()))?;
    let mut text = format!("[gateway]\ndata = \"{}\"\n", folder.join("data").display());
    for node in 1..=6 {
        let path = folder.join(format!("d{node}"));
        fs::create_dir(&path)?;
        let path = path.display();
        writeln!(
            text,
            "[[node]]\nname = \"d{node}\"\nkind = \"directory\"\npath = \"{path}\"\ndurable = false"
        )?;
    }
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, text)?;
    let config = config::load(Some(&unfinished), std::iter::empty())?;
    let _folder = DataFolder::create(&config)?;
    let assembly = assemble(&config, &Unwatched).await?;
    assembly.store.create_bucket(BUCKET).await?;
    let store = &assembly.store;
    futures::stream::iter(0..arguments.objects)
        .map(|number| put(store.clone(), number, arguments.size))
        .buffer_unordered(PUTS)
        .try_for_each(|()| async { Ok(()) })
        .await?;
    assembly.settle(SETTLE_WITHIN).await;
    drop(assembly);
    // Only a store that is whole has its configuration.
    Ok(fs::rename(&unfinished, file)?)
}

async fn put(store: Store, number: u64, size: usize) -> Result<()> {
    let target = Target {
        bucket: BUCKET.into(),
        key: format!("photos/{:03}/{number:010}.jpg", number % 1000),
        condition: Condition::None,
    };
    let body = Content(Some(vec![number as u8; size].into()));
    tokio::spawn(async move { store.put(target, size as u64, body).await }).await??;
    Ok(())
}

/// What an object holds.
struct Content(Option<Bytes>);

impl Body for Content {
    type Seal = Attributes;
    type Error = Infallible;

    async fn next(&mut self) -> Option<Result<Bytes, Infallible>> {
        self.0.take().filter(|bytes| !bytes.is_empty()).map(Ok)
    }

    fn seal(&mut self) -> Result<Attributes, Infallible> {
        let etag = "d41d8cd98f00b204e9800998ecf8427e".into();
        let headers = vec![("content-type".into(), "image/jpeg".into())];
        Ok(Attributes { etag, headers, ..Attributes::default() })
    }
}

/// Waits for a process to end; answers the most memory that it had, in KiB.
fn watch(process: &mut Child) -> Result<u64> {
    let status = format!("/proc/{}/status", process.id());
    let mut peak = 0;
    while process.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(now.unwrap_or_default());
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(peak)
}
