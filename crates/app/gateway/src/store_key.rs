//! The file of the store's key, and what the catalog says of it.

mod file;

pub use file::{KeyFile, copy};

use crate::config::Config;
use anyhow::{Context as _, Result, bail};
use ripstop_catalog::{Catalog, Change};
use ripstop_model::StripeId;
use ripstop_runtime::Seals;
use std::time::UNIX_EPOCH;

/// The catalog numbers names; those with this before them are ids of keys that seal the store.
const PREFIX: &str = "key:";
/// Likewise, names of pools that have encrypted.
const ENCRYPTS: &str = "encrypts:";
/// Likewise, the store's own: a catalog without it has served nobody.
const STORE: &str = "store:";

/// Stripes of the catalog that are looked at together.
const PAGE: usize = 256;

/// The keys of a store that is put together.
#[derive(Debug)]
pub struct StoreKeys {
    /// What seals and verifies with them.
    pub seals: Seals,
    /// Whether their file was made just now.
    pub is_new: bool,
}

/// The keys of the store with this catalog; one that has none gets one.
pub async fn keys_of(config: &Config, catalog: &dyn Catalog) -> Result<StoreKeys> {
    let names: Vec<String> = catalog.nodes().await?.into_iter().map(|(name, _)| name).collect();
    let known: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let path = &config.key_file();
    let found = KeyFile::read(path)?;
    let is_new = found.is_none();
    let file = match found {
        Some(file) => file,
        None if known.is_empty() => {
            let has_served = names.iter().any(|name| name.starts_with(STORE));
            let since_ms = if has_served { after_all(catalog).await? } else { 0 };
            KeyFile::create(path, since_ms)?
        }
        None => bail!(
            "this store seals what it stores with key {}, and there is no key {}: put the copy of it back \
             there, readable by its owner only (chmod 600). If no copy is left, what is sealed can be recovered \
             without it, what is encrypted cannot: move the catalog away and run `ripstop rebuild --unsealed`",
            known.join(", "),
            path.display()
        ),
    };
    let ids: Vec<String> = file.ids().map(|id| id.to_string()).collect();
    if let Some(lost) = known.iter().find(|id| !ids.iter().any(|own| own == *id)) {
        bail!(
            "{} holds the key {}, and this store seals what it stores with key {lost}: put the copy of that \
             back there. One file may hold several keys, a line each; the first seals",
            path.display(),
            ids.join(", ")
        );
    }
    for id in &ids {
        if !known.contains(&id.as_str()) {
            note(catalog, format!("{PREFIX}{id}")).await?;
        }
    }
    warn_of_encryption(config, catalog, &names).await?;
    Ok(StoreKeys { seals: file.seals(), is_new })
}

/// Now, or later if the catalog knows a stripe that was named later: some clock was ahead.
async fn after_all(catalog: &dyn Catalog) -> Result<u64> {
    let mut since_ms = now_ms()?;
    loop {
        let page = catalog.stripes_after(StripeId::new(since_ms, 0), PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(since_ms) };
        since_ms = last.unix_ms() + 1;
    }
}

/// Says of each pool that encrypts for the first time what its key is.
async fn warn_of_encryption(
    config: &Config,
    catalog: &dyn Catalog,
    names: &[String],
) -> Result<()> {
    for pool in config.pools.iter().filter(|pool| pool.encrypt) {
        let name = format!("{ENCRYPTS}{}", pool.name);
        if names.contains(&name) {
            continue;
        }
        tracing::warn!(
            pool = pool.name,
            key = %config.key_file().display(),
            "this pool encrypts what it stores: without its key the data is lost. Keep a copy of the key elsewhere"
        );
        note(catalog, name).await?;
    }
    Ok(())
}

/// Has the catalog of a rebuild say which keys seal the store, if there are any.
pub async fn note_keys(config: &Config, catalog: &dyn Catalog) -> Result<()> {
    for id in KeyFile::read(&config.key_file())?.iter().flat_map(KeyFile::ids) {
        note(catalog, format!("{PREFIX}{id}")).await?;
    }
    Ok(())
}

/// What reads fragments while a catalog is made: all keys that are there. What is sealed with
/// others passes if `unsealed` is asked for.
pub fn reading_seals(config: &Config, unsealed: bool) -> Result<Seals> {
    let seals = KeyFile::read(&config.key_file())?.map_or_else(Seals::default, |file| file.seals());
    Ok(if unsealed { seals.unsealed() } else { seals })
}

async fn note(catalog: &dyn Catalog, name: String) -> Result<()> {
    catalog.commit_one(now_ms()?, Change::NameNode { name }).await.context("the catalog")?;
    Ok(())
}

fn now_ms() -> Result<u64> {
    Ok(ripstop_host::wall().duration_since(UNIX_EPOCH)?.as_millis() as u64)
}
