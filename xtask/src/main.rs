//! The one door to building, testing and measuring Ripstop: `cargo xtask --help`.

mod bench;
mod check;
mod ci;
mod clients;
mod command;
mod drill;
mod figures;
mod fuzz;
mod root;
#[cfg(test)]
mod structure;
mod tally;
mod test;
mod tool;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The one door: check, test, ci, figures, bench, fuzz, drill.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Formatting, lints, the tests of the workspace's structure, and the documentation build.
    Check,
    /// Unit, integration and end-to-end tests; sets up the clients it needs below target/clients.
    Test(test::Arguments),
    /// What CI runs: check, then test --all; ends with a line that sums up.
    Ci,
    /// Redraws the figures of the documents, and compares them with those committed.
    Figures(figures::Arguments),
    /// Measurements side by side with others.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Fuzzes the code that parses strangers' bytes; needs cargo-fuzz and a nightly compiler.
    Fuzz(fuzz::Arguments),
    /// Plays whole gateways from seeds: clients, faults, kills, and what must hold.
    Drill(drill::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Check => check::check().and_then(tally::Tally::conclude),
        Command::Test(arguments) => test::test(&arguments).and_then(tally::Tally::conclude),
        Command::Ci => ci::ci().and_then(tally::Tally::conclude),
        Command::Figures(arguments) => figures::figures(&arguments),
        Command::Bench(bench) => bench::bench(&bench),
        Command::Fuzz(arguments) => fuzz::fuzz(&arguments),
        Command::Drill(arguments) => drill::drill(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
