//! `ripstop plan`: where chunks go and who serves them, from an inventory of nodes and classes.

mod answer;
mod apply;
mod complaint;
mod exact;
mod explain;
mod gateway;
mod inventory;
mod moments;
mod picture;

pub(crate) use apply::{file_of, groups_of};
pub(crate) use exact::is_exact;
pub(crate) use moments::{Measured, needed_reads, quantiles};

use crate::admin_client::AdminPort;
use answer::Answer;
use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use inventory::{Inventory, Named};
use ripstop_gateway::Selection;
use std::{path::PathBuf, process::ExitCode};

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Nodes, classes of files and what a second is worth (TOML). See docs/placement.md.
    #[arg(value_name = "INVENTORY", required_unless_present = "from")]
    pub inventory: Option<PathBuf>,
    /// Take nodes, lanes, code and states from the gateway behind this admin port, and service times and the
    /// rate of requests from its task log. An INVENTORY besides is laid over it, by names: prices, sites, files.
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// The file with that admin port's token, if it wants one.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub from_token: Option<PathBuf>,
    /// That admin port's certificate (PEM), if it speaks TLS: the URL begins with https.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub from_certificate: Option<PathBuf>,
    /// Which of that gateway's pools, if it has several.
    #[arg(long, value_name = "POOL", requires = "from")]
    pub pool: Option<String>,
    /// Seconds of mean latency that a dollar is worth, instead of the inventory's.
    #[arg(long, value_name = "SECONDS", value_parser = theta)]
    pub theta: Option<f64>,
    /// The plan that is followed now: a file that --apply wrote or --json printed. Chunks move only where
    /// that pays, and the moves are told.
    #[arg(long, value_name = "FILE")]
    pub previous: Option<PathBuf>,
    /// Write the plan to this file, for a pool whose configuration says `plan = "FILE"`.
    #[arg(long, value_name = "FILE")]
    pub apply: Option<PathBuf>,
    /// How the gateway's reads choose among the nodes that hold a stripe, in the file of --apply: ready,
    /// probabilistic, least-work or least-work-planned.
    #[arg(long, value_name = "HOW", default_value = "least-work-planned", value_parser = selection)]
    pub selection: Selection,
    /// Say why this class sits where it sits: which constraints bind, what each node costs it, and the next
    /// best plan.
    #[arg(long, value_name = "CLASS", conflicts_with = "json")]
    pub explain: Option<String>,
    /// Write latency against cost as a second's worth changes, the tables and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub json: bool,
}

fn theta(text: &str) -> Result<f64, String> {
    let theta = text.parse().ok().filter(|theta: &f64| *theta >= 0.0 && theta.is_finite());
    theta.ok_or_else(|| "not a number of seconds, 0 or more".into())
}

fn selection(text: &str) -> Result<Selection, String> {
    let quoted = serde_json::Value::String(text.to_owned());
    serde_json::from_value(quoted)
        .map_err(|_| "not one of ready, probabilistic, least-work, least-work-planned".into())
}

pub(crate) async fn run(arguments: &Plan) -> Result<ExitCode> {
    let named = inventory(arguments).await?;
    let explained = arguments.explain.as_ref().map(|class| position(&named, class)).transpose()?;
    let previous = arguments.previous.as_deref().map(|path| apply::previous(&named, path));
    let previous = previous.transpose()?;
    let plan = exact::plan(&named, previous.as_ref())
        .map_err(|error| anyhow!("there is no plan: {}", complaint::complaint(&named, &error)))?;
    let answer = Answer::new(&named, &plan);
    let file = arguments.apply.as_ref().map(|path| {
        let file = apply::plan_file(&named, &plan, arguments.selection)?;
        anyhow::Ok((path, file))
    });
    let file = file.transpose()?;
    if let Some((path, file)) = &file {
        file.write(path)?;
    }
    if let Some(folder) = &arguments.out {
        picture::write(&named, &plan, &answer, folder)?;
    }
    if arguments.json {
        say_line!("{}", serde_json::to_string_pretty(&answer)?)?;
    } else {
        say!("{}", answer.text())?;
        named.notes.iter().try_for_each(|note| say_line!("note: {note}"))?;
    }
    if let (Some(_), false) = (&previous, arguments.json) {
        say!("\n{}", answer.moves_text())?;
    }
    if let Some(class) = explained {
        say!("\n{}", explain::explain(&named, &plan, class))?;
    }
    if let (Some((path, file)), false) = (&file, arguments.json) {
        say_line!("\nWritten to {}, {} groups.", path.display(), file.group.len())?;
    }
    if let (Some(folder), false) = (&arguments.out, arguments.json) {
        say_line!("\nWritten to {}: report.html and its figure and tables.", folder.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn inventory(arguments: &Plan) -> Result<Named> {
    let read = arguments.inventory.as_deref().map(Inventory::read).transpose()?;
    let inventory = match (&arguments.from, read) {
        (Some(admin), over) => {
            let (token, certificate) = (&arguments.from_token, &arguments.from_certificate);
            let admin = AdminPort::at(admin, token.as_deref(), certificate.as_deref())?;
            let seen = gateway::inventory(&admin, arguments.pool.as_deref()).await?;
            match over {
                Some(over) => seen.overlaid(over),
                None => seen,
            }
        }
        (None, read) => read.context("an INVENTORY or --from is needed")?,
    };
    let named = inventory.named(arguments.theta);
    if inventory.notes.is_empty() {
        return named;
    }
    named.with_context(|| inventory.notes.join("; "))
}

fn position(named: &Named, class: &str) -> Result<usize> {
    let found = named.classes.iter().position(|name| name == class);
    found.with_context(|| format!("no class {class:?}; there are: {}", named.classes.join(", ")))
}
