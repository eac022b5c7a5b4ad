//! What an operator configures: raw text, environment, and what follows from both.

mod address;
mod adopt;
mod bounds;
mod delay_model;
mod describe;
mod kms;
mod kv;
mod name;
mod node;
mod plan_file;
mod policy;
mod pool;
mod quota;
mod raw;
mod resolve;
mod rings;
mod tenant;
mod tier;
mod units;
mod variable;
mod webhook;

pub use address::{AdminAddress, TlsFiles};
pub use describe::describe;
pub use kms::{KmsConfig, KmsLoginConfig};
pub use kv::{KvConfig, KvPlace};
pub use node::{NodeConfig, NodeDelay, NodePlace};
pub use plan_file::{PLAN_FORMAT, PlanFile, PlanGroup};
pub use pool::{PACK_BELOW_MAX, PlanSource, PoolConfig};
pub use raw::{BucketTable, LogFormatName};
pub use resolve::{Config, KEY_FILE, OBJECT_KEYS_FILE};
pub use ripstop_placement::planning::AutoPlan;
pub use tenant::{TenantConfig, TenantNumbers, shaping};
pub(crate) use tier::KV_TIER;
pub use tier::TierConfig;
pub use units::Size;
pub use webhook::WebhookConfig;

use anyhow::{Context as _, Result};
use std::path::Path;

/// Reads the file, if one is named, lays the environment and then the command line's `flags` over
/// it, and resolves the whole.
pub fn load(file: Option<&Path>, flags: impl Iterator<Item = (String, String)>) -> Result<Config> {
    let text = match file {
        None => String::new(),
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("configuration {} cannot be read", path.display()))?,
    };
    let named = || file.map_or("the environment".into(), |path| path.display().to_string());
    parse(&text, std::env::vars().chain(flags))
        .with_context(|| format!("configuration of {}", named()))
}

/// The configuration that `text` and `variables` make together.
pub fn parse(text: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Config> {
    // Parsed on its own first: only then do errors show the line.
    let _: raw::Raw = toml::from_str(text)?;
    let mut table: toml::Table = toml::from_str(text)?;
    variable::overlay(&mut table, variables)?;
    let raw: raw::Raw = table.try_into()?;
    resolve::resolve(raw)
}

#[cfg(test)]
mod tests;
