//! The `ripstop-lab` program: what is measured and drawn, and ships nothing into the gateway.

mod duel;
mod figures;
mod gateway;
mod load;
mod placing;
mod program;
mod promises;
mod rebuild;
mod tail;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Figures of the papers that Ripstop builds on, and measurements of Ripstop itself.
///
/// `cargo xtask figures` and `cargo xtask bench` build this and what it measures, and run it.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Draw the figures of the papers Ripstop builds on, and check what must hold in them.
    #[command(subcommand)]
    Figures(figures::Figures),
    /// Play policies against the best fixed code, TOFEC and hedges in settings drawn by a seed, and
    /// show where they do worst. See docs/backfill.md.
    Duel(duel::Duel),
    /// Drive GET and PUT over loopback against a pool of memory nodes, and say where the time goes.
    Gateway(gateway::Gateway),
    /// Compare policies on a node in memory that is as slow as S3: delays live, and as the
    /// simulator predicts them.
    ///
    /// Exits with 1 if something that should hold does not.
    Tail(tail::Tail),
    /// Measure promises: three tenants, one of which floods, on one slow node through the S3 port,
    /// with and without the shaper.
    ///
    /// Exits with 1 if the other two do not get what they were promised, or also get it without the
    /// shaper.
    Promises(promises::Promises),
    /// Measure how fast a lost catalog is rebuilt, and the memory that takes.
    Rebuild(rebuild::Rebuild),
    /// Measure reads from twelve unlike nodes under a plan, live and as the simulator predicts,
    /// against load balancing that knows no queues.
    ///
    /// Exits with 1 if the plan with state-aware selection is not 1.5 times faster, or a prediction
    /// is off by more than 10 %.
    Placement(placing::Placing),
    /// Measure how a gateway that plans itself recovers from a node that becomes ten times
    /// slower, beside one that has had the best plan for that from the start.
    ///
    /// Plays the same pool in the simulator too, and prints both.
    ///
    /// Exits with 1 if the mean stays more than 20 % above the new optimum, more is moved than the
    /// plans say, a read fails, or the simulator is off by more than 10 % in mean or 95th
    /// percentile before the node becomes slow or after the plan was renewed.
    Replan(placing::Slowing),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = runtime.map_err(Into::into).and_then(|it| it.block_on(run(arguments.command)));
    match result {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the program's own last word")]
fn complain(error: &anyhow::Error) {
    eprintln!("ripstop-lab: {error:#}");
}

async fn run(command: Command) -> Result<ExitCode> {
    // Asked for here, so that a bad choice is an error and not a panic later.
    ripstop_codec::Engine::chosen()?;
    match command {
        Command::Figures(figures) => figures::run(&figures),
        Command::Duel(arguments) => duel::run(&arguments),
        Command::Gateway(arguments) => gateway::run(&arguments).await,
        Command::Tail(arguments) => tail::run(&arguments).await,
        Command::Promises(arguments) => promises::run(&arguments).await,
        Command::Rebuild(arguments) => rebuild::run(&arguments).await,
        Command::Placement(arguments) => placing::run(&arguments).await,
        Command::Replan(arguments) => placing::slow_down(&arguments).await,
    }
}
