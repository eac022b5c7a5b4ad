//! Memory tiers of a gateway that runs: how they stand, and what they can be told.

use crate::{common::Common, progress::progress};
use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use hyper::Method;
use indicatif::ProgressBar;
use ripstop_assembly::AdminPort;
use ripstop_telemetry::MemoryTierStatus;
use std::{net::SocketAddr, process::ExitCode, time::Duration};

/// How often a tier is asked how far it has come.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A tier that comes no further for so long is not waited for.
const STUCK_AFTER: Duration = Duration::from_secs(20);

#[derive(Args, Debug)]
pub(crate) struct Tier {
    #[command(subcommand)]
    told: Told,
}

#[derive(Subcommand, Debug)]
enum Told {
    /// Show all tiers: their servers, what these hold, and what is lost or on its way.
    Status {
        #[command(flatten)]
        common: Common,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Add an empty server to a ring, and wait until it has its share of what the ring has.
    ///
    /// What it has is lost: the server is emptied, unless the tier shares its servers. Write it
    /// into the configuration too: the next reload goes by that.
    Add {
        #[command(flatten)]
        common: Common,
        /// The tier's name; `kv` is that of the door that speaks memcached.
        tier: String,
        /// The ring, counted from 0.
        ring: usize,
        /// Where the server is.
        #[arg(value_name = "ADDR:PORT")]
        server: SocketAddr,
    },
    /// Move what a server has to others of its ring, and wait until it has nothing any more.
    Remove {
        #[command(flatten)]
        common: Common,
        /// The tier's name.
        tier: String,
        /// Where the server is.
        #[arg(value_name = "ADDR:PORT")]
        server: SocketAddr,
    },
    /// Have a tier try again what it could not make again, and wait until nothing is lacking.
    ///
    /// Tiers do this by themselves when a server comes or goes. Exits with 1 if something is
    /// lacking yet.
    Repair {
        #[command(flatten)]
        common: Common,
        /// The tier's name.
        tier: String,
    },
}

impl Told {
    const fn common(&self) -> &Common {
        match self {
            Self::Status { common, .. }
            | Self::Add { common, .. }
            | Self::Remove { common, .. }
            | Self::Repair { common, .. } => common,
        }
    }
}

pub(crate) async fn run(tier: &Tier) -> Result<ExitCode> {
    let admin = AdminPort::of_folder(&tier.told.common().resolve()?)?;
    match &tier.told {
        Told::Status { json, .. } => {
            let text = admin.ask(Method::GET, "/tiers").await?;
            if *json {
                say_line!("{}", text.trim_end())?;
            } else {
                tiers(&text)?.iter().try_for_each(print)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Told::Add { tier, ring, server, .. } => {
            let query = format!("add?ring={ring}&server={server}");
            tell(&admin, tier, &query, |status| status.points_left).await
        }
        Told::Remove { tier, server, .. } => {
            let query = format!("remove?server={server}");
            tell(&admin, tier, &query, |status| status.points_left).await
        }
        Told::Repair { tier, .. } => tell(&admin, tier, "repair", |status| status.wounds).await,
    }
}

fn tiers(text: &str) -> Result<Vec<MemoryTierStatus>> {
    serde_json::from_str(text).context("the gateway's answer")
}

/// Tells a tier something, and waits until nothing is left to do.
async fn tell(
    admin: &AdminPort,
    tier: &str,
    told: &str,
    left: impl Fn(&MemoryTierStatus) -> usize,
) -> Result<ExitCode> {
    if tier.is_empty()
        || !tier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    {
        bail!("{tier:?} is no tier's name");
    }
    admin.ask(Method::POST, &format!("/tiers/{tier}/{told}")).await?;
    let bar = progress("points of rings, or chunks, are left; this may be left alone");
    let status = wait(admin, tier, &bar, left).await;
    bar.finish_and_clear();
    let (status, is_done) = status?;
    print(&status)?;
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How the tier stands in the end, and whether nothing is left.
async fn wait(
    admin: &AdminPort,
    tier: &str,
    bar: &ProgressBar,
    left: impl Fn(&MemoryTierStatus) -> usize,
) -> Result<(MemoryTierStatus, bool)> {
    let (mut least, mut moved_at) = (usize::MAX, ripstop_host::now());
    loop {
        let all = tiers(&admin.ask(Method::GET, "/tiers").await?)?;
        let status = all.into_iter().find(|status| status.name == tier);
        let status = status.with_context(|| format!("there is no tier {tier:?} any more"))?;
        let count = left(&status);
        bar.set_position(count as u64);
        if count == 0 {
            return Ok((status, true));
        }
        if count < least {
            (least, moved_at) = (count, ripstop_host::now());
        }
        if ripstop_host::since(moved_at) >= STUCK_AFTER {
            return Ok((status, false));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn print(status: &MemoryTierStatus) -> Result<()> {
    let MemoryTierStatus { name, keys, stored_bytes, dead_bytes, index_bytes, .. } = status;
    say_line!(
        "tier {name}: {keys} keys, {stored_bytes} bytes at servers ({dead_bytes} dead), index of \
         {index_bytes} bytes"
    )?;
    let MemoryTierStatus { points_left, wounds, decoded, damaged, refused, .. } = status;
    say_line!(
        "  points of rings to change {points_left}, lacking items {wounds}; decoded {decoded}, damaged \
         {damaged}, refused {refused}"
    )?;
    for server in &status.servers {
        say_line!("  ring {} {} {}", server.ring, server.server, server.state)?;
    }
    Ok(())
}
