//! `ripstop plan`: where chunks go and who serves them, from an inventory of nodes and classes.

mod gateway;

use anyhow::{Context as _, Result};
use clap::Args;
use ripstop_assembly::AdminPort;
use ripstop_gateway::ReadSelection;
use ripstop_planner::{Asked, Inventory, Proposal};
use std::{path::PathBuf, process::ExitCode};

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Nodes, classes of files and what a second is worth (TOML). See docs/placement.md.
    #[arg(value_name = "INVENTORY", required_unless_present = "from")]
    pub inventory: Option<PathBuf>,
    /// Take nodes, lanes, code and states from the gateway behind this admin port, and service
    /// times and the rate of requests from its task log. If an INVENTORY is given too, its values
    /// are laid over these, by name: prices, sites, files.
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// The file with that admin port's token, if it requires one.
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
    /// The plan now in force: a file that --apply wrote or --json printed. Chunks move only where
    /// that pays, and the new plan lists the moves.
    #[arg(long, value_name = "FILE")]
    pub previous: Option<PathBuf>,
    /// Write the plan to this file, for a pool whose configuration says `plan = "FILE"`.
    #[arg(long, value_name = "FILE")]
    pub apply: Option<PathBuf>,
    /// For --apply: how the gateway's reads choose among the nodes that hold a stripe:
    /// ready, probabilistic, least-work or least-work-planned.
    #[arg(long, value_name = "HOW", default_value = "least-work-planned", value_parser = selection)]
    pub selection: ReadSelection,
    /// Explain the placement of this class: which constraints bind, what each node costs it, and
    /// the next best plan.
    #[arg(long, value_name = "CLASS", conflicts_with = "json")]
    pub explain: Option<String>,
    /// Write latency against cost for several values of a second, the tables and report.html into
    /// this folder.
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

fn selection(text: &str) -> Result<ReadSelection, String> {
    let quoted = serde_json::Value::String(text.to_owned());
    serde_json::from_value(quoted)
        .map_err(|_| "not one of ready, probabilistic, least-work, least-work-planned".into())
}

pub(crate) async fn run(arguments: &Plan) -> Result<ExitCode> {
    let asked = Asked {
        theta: arguments.theta,
        explained: arguments.explain.as_deref(),
        previous: arguments.previous.as_deref(),
    };
    let proposal = Proposal::of(&inventory(arguments).await?, asked)?;
    let file = arguments.apply.as_ref().map(|path| {
        let file = proposal.file(arguments.selection)?;
        file.write(path)?;
        anyhow::Ok((path, file))
    });
    let file = file.transpose()?;
    if let Some(folder) = &arguments.out {
        proposal.write(folder)?;
    }
    if arguments.json {
        say_line!("{}", proposal.json()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{}", proposal.text())?;
    if let Some(moves) = proposal.moves_text() {
        say!("\n{moves}")?;
    }
    if let Some(explanation) = proposal.explanation() {
        say!("\n{explanation}")?;
    }
    if let Some((path, file)) = &file {
        say_line!("\nWritten to {}, {} groups.", path.display(), file.group.len())?;
    }
    if let Some(folder) = &arguments.out {
        say_line!("\nWritten to {}: report.html and its figure and tables.", folder.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn inventory(arguments: &Plan) -> Result<Inventory> {
    let read = arguments.inventory.as_deref().map(Inventory::read).transpose()?;
    Ok(match (&arguments.from, read) {
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
    })
}
