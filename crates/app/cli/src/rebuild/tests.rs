use crate::{backup, complete, rebuild};
use anyhow::Result;
use bytes::Bytes;
use futures::TryStreamExt as _;
use ripstop_assembly::{
    CATALOG_FILE, DataFolder, KeyFile, Unwatched, assemble,
    config::{self, Config, KEY_FILE},
};
use ripstop_catalog::{Attributes, Condition};
use ripstop_model::TenantId;
use ripstop_store::{Body, Store, Target};
use std::{fs, path::Path, process::ExitCode, time::Duration};

/// A body of one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Seal = Attributes;
    type Error = std::io::Error;

    async fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        self.0.take().map(Ok)
    }

    fn seal(&mut self) -> std::io::Result<Attributes> {
        Ok(Attributes { etag: "etag".into(), ..Attributes::default() })
    }
}

/// Six directories, with more lines for their pool.
fn config(folder: &Path, pool: &str) -> Config {
    let data = folder.join("data");
    let text = format!("[gateway]\ndata = {data:?}\n[[pool]]\nname = \"p\"\n{pool}\n");
    config::parse(&text, []).unwrap()
}

async fn put(store: &Store, key: &str) {
    let condition = Condition::None;
    let target = Target { bucket: "b".into(), key: key.into(), condition };
    let content = Bytes::from(key.repeat(20_000));
    store.put(target, content.len() as u64, Whole(Some(content))).await.unwrap();
}

async fn get(store: &Store, key: &str) -> Option<Vec<u8>> {
    let located = store.object("b", key).await.ok()?;
    let len = located.object.len;
    let pieces = store.on_behalf_of(TenantId::ANYBODY).read(located, 0..len).await.ok()?;
    let pieces: Vec<Bytes> = pieces.try_collect().await.ok()?;
    Some(pieces.concat())
}

/// Starts the store, does something, and lets go of it.
async fn with<T>(config: &Config, act: impl AsyncFnOnce(&Store) -> T) -> Result<T> {
    let folder = DataFolder::create(config)?;
    let assembly = assemble(config, &Unwatched).await?;
    assembly.admit_nodes().await?;
    let done = act(&assembly.store).await;
    assembly.settle(Duration::from_secs(5)).await;
    // What follows a write goes through the catalog, which is to be closed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(assembly);
    drop(folder);
    for _ in 0..500 {
        if DataFolder::open(config).is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(done)
}

async fn fill(config: &Config) {
    let filled = with(config, async |store| {
        store.create_bucket("b").await.unwrap();
        put(store, "first").await;
    });
    filled.await.unwrap();
}

async fn reads(config: &Config, key: &str) -> bool {
    let found = with(config, async |store| get(store, key).await).await.unwrap();
    found.is_some_and(|found| found == key.repeat(20_000).into_bytes())
}

async fn refusal(config: &Config) -> String {
    format!("{:#}", with(config, async |_| ()).await.expect_err("it starts"))
}

fn is_success(code: ExitCode) -> bool {
    format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_missing_or_another_is_an_error_that_says_what_to_do_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    fill(&config).await;
    let (key, away) = (config.key_file(), folder.path().join("away"));
    let id = KeyFile::read(&key).unwrap().unwrap().ids().next().unwrap().to_string();
    fs::rename(&key, &away).unwrap();
    let told = refusal(&config).await;
    assert!(told.contains(&id) && told.contains("put the copy of it back"), "{told}");
    assert!(!key.exists(), "no key is made in its place");
    KeyFile::create(&key, 0).unwrap();
    let told = refusal(&config).await;
    assert!(told.contains(&id) && told.contains("holds the key"), "{told}");
    // A new key before the old one: what was sealed with either is read.
    let lines = fs::read_to_string(&away).unwrap();
    let both = fs::read_to_string(&key).unwrap() + lines.lines().nth(1).unwrap();
    fs::write(&key, both).unwrap();
    with(&config, async |store| put(store, "second").await).await.unwrap();
    assert!(reads(&config, "first").await && reads(&config, "second").await);
    fs::remove_file(&key).unwrap();
    fs::rename(&away, &key).unwrap();
    let told = refusal(&config).await;
    assert!(told.contains("holds the key"), "both are known by now: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_takes_the_key_along_and_a_restore_puts_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "encrypt = true");
    fill(&config).await;
    let copy = folder.path().join("copy");
    assert!(is_success(backup::run(&config, &copy).await.unwrap()));
    with(&config, async |store| put(store, "second").await).await.unwrap();
    // The disk of the data folder is gone; the nodes are others'.
    fs::remove_file(config.data.join(CATALOG_FILE)).unwrap();
    fs::remove_file(config.key_file()).unwrap();
    let told = format!("{:#}", rebuild::run(&config, false, false).await.unwrap_err());
    assert!(told.contains("put the copy of it back"), "{told}");
    assert!(!config.data.join(CATALOG_FILE).exists());
    assert!(is_success(backup::restore(&config, &copy, false).await.unwrap()));
    assert!(reads(&config, "first").await && reads(&config, "second").await);
    fs::remove_file(config.key_file()).unwrap();
    KeyFile::create(&config.key_file(), 0).unwrap();
    let told = format!("{:#}", backup::restore(&config, &copy, false).await.unwrap_err());
    assert!(told.contains("another key"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_loses_nothing_that_is_only_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    fill(&config).await;
    fs::remove_file(config.data.join(CATALOG_FILE)).unwrap();
    fs::remove_file(config.key_file()).unwrap();
    assert!(is_success(rebuild::run(&config, true, false).await.unwrap()));
    // The next start makes a key, with which what is new is sealed.
    assert!(reads(&config, "first").await);
    with(&config, async |store| put(store, "second").await).await.unwrap();
    assert!(reads(&config, "first").await && reads(&config, "second").await);
    assert!(is_success(complete::run(&config, true, false).await.unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_at_a_place_of_its_own_is_used_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), "");
    config.key_file = Some(folder.path().join("elsewhere"));
    fill(&config).await;
    assert!(!config.data.join(KEY_FILE).exists() && config.key_file().exists());
    let copy = folder.path().join("copy");
    assert!(is_success(backup::run(&config, &copy).await.unwrap()));
    assert!(copy.exists() && !folder.path().join("copy.key").exists());
    assert!(reads(&config, "first").await);
}
