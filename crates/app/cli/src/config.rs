//! What an operator configures: raw text, environment, and what follows from both.

mod address;
mod bounds;
mod node;
mod plan_file;
mod policy;
mod pool;
mod quota;
mod raw;
mod resolve;
mod tenant;
mod units;
mod variable;

pub(crate) use address::{AdminAddress, TlsFiles};
pub(crate) use node::{NodeConfig, Place};
pub(crate) use plan_file::{PlanFile, PlanGroup};
pub(crate) use pool::{PlanSource, PoolConfig};
pub(crate) use raw::{Bucket, LogFormat};
pub(crate) use resolve::Config;
pub(crate) use tenant::{TenantConfig, TenantNumbers, shaping};
pub(crate) use units::Size;

use anyhow::{Context as _, Result};
use ripstop_runtime::Layout;
use std::path::Path;

/// Reads the file, if one is named, lays the environment and then the command line's `flags` over it,
/// and resolves the whole.
pub(crate) fn load(
    file: Option<&Path>,
    flags: impl Iterator<Item = (String, String)>,
) -> Result<Config> {
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
pub(crate) fn parse(
    text: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Config> {
    // Parsed on its own first: only then do errors show the line.
    let _: raw::Raw = toml::from_str(text)?;
    let mut table: toml::Table = toml::from_str(text)?;
    variable::overlay(&mut table, variables)?;
    let raw: raw::Raw = table.try_into()?;
    resolve::resolve(raw)
}

/// Prints what a configuration comes to.
pub(crate) fn print(config: &Config) -> Result<()> {
    say_line!("S3 on {}, region {}, admin on {}", config.listen, config.region, config.admin)?;
    say_line!(
        "data in {}, credentials in {}, store key in {}",
        config.data.display(),
        config.credentials.display(),
        config.key_file().display()
    )?;
    for pool in &config.pools {
        say_line!(
            "pool {}: layout {}, {}code {} over {} nodes, policy {}; {}",
            pool.name,
            pool.layout,
            if pool.encrypt { "encrypted, " } else { "" },
            pool.code,
            pool.nodes.len(),
            policy::describe(&pool.policy, &pool.policy_settings),
            survival(pool),
        )?;
        if let Some(path) = &pool.task_log {
            say_line!("  task log: {}", path.display())?;
        }
        for node in &pool.nodes {
            say_line!("  node {}: {}, {} lanes", node.name, node.place, node.lanes)?;
        }
    }
    for tenant in &config.tenants {
        let promise = tenant.promised.as_ref().map_or_else(
            || "promised nothing".into(),
            |promised| {
                let granted = match promised.grant {
                    tenant::Grant::Lanes(lanes) => format!("{lanes} lanes"),
                    tenant::Grant::Share(share) => format!("{share} of the lanes"),
                };
                format!("promised {} by {granted}", promised.promise)
            },
        );
        say_line!("tenant {}: {} access keys, {promise}", tenant.name, tenant.access_keys.len())?;
    }
    for quota in quota::describe(&config.quotas) {
        say_line!("quota of {quota}")?;
    }
    Ok(())
}

/// What a pool's stripes survive, and when a write is answered.
fn survival(pool: &PoolConfig) -> String {
    let (code, f) = (pool.code, usize::from(pool.machine.answer_extra));
    let (n, k, spare) = (code.n(), code.k(), code.parity());
    match pool.layout {
        Layout::Spread => format!(
            "any {spare} nodes may be lost, a write is answered with {} of {n} fragments durable",
            k + f
        ),
        Layout::Shared => format!(
            "a stripe is one fragment at one node and lost with it; any {spare} of its {n} strips may \
             be damaged; a write is answered once the fragment is durable"
        ),
        Layout::Unique => format!(
            "the fragments of a stripe are at one node and lost with it; for every write the policy \
             chooses n of them, any k of which suffice, within {code}; it is answered with {f} more \
             than k durable, if there are so many"
        ),
    }
}

#[cfg(test)]
mod tests;
