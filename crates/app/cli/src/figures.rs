//! `ripstop figures`: the figures of the papers, played anew, and what must hold of them.

use anyhow::Result;
use clap::{Args, Subcommand};
use ripstop_experiment::tofec::{Budget, Check, Verdict, evaluate};
use ripstop_figure::Progress;
use std::{
    num::{NonZeroU16, NonZeroU32, NonZeroUsize},
    path::PathBuf,
    process::ExitCode,
};

/// Which paper's.
#[derive(Subcommand, Debug)]
pub(crate) enum Figures {
    /// TOFEC (Liang and Kozat): codes and chunking that follow the backlog. See docs/tofec.md.
    ///
    /// Writes a CSV file and one or two drawings for each of the figures 1 and 4 to 11, checks.csv and
    /// report.html; prints what was checked. Exits with 1 if a check fails.
    Tofec(Tofec),
}

#[derive(Args, Debug)]
pub(crate) struct Tofec {
    /// Folder to write into.
    #[arg(long, value_name = "DIR", default_value = "docs/figures/tofec")]
    pub out: PathBuf,
    /// Runs for each point, with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value = "5")]
    pub seeds: NonZeroU16,
    /// Requests of each run.
    #[arg(long, value_name = "N", default_value = "25000", value_parser = requests)]
    pub requests: NonZeroU32,
    /// Threads; the figures do not depend on it [default: one a core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Fewer requests leave figures without points.
const REQUESTS_MIN: u32 = 500;

fn requests(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() >= REQUESTS_MIN);
    number.ok_or_else(|| format!("not a number of requests: at least {REQUESTS_MIN}"))
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) fn run(figures: &Figures) -> Result<ExitCode> {
    let Figures::Tofec(arguments) = figures;
    let (seeds, requests) = (arguments.seeds.get().into(), arguments.requests.get().into());
    let budget = Budget { seeds, requests };
    let evaluation = {
        let progress = Progress::new(budget.runs(), "runs");
        evaluate(budget, arguments.threads, || progress.advance(1))
    };
    evaluation.report()?.write(&arguments.out)?;
    print!("{}", Check::text(&evaluation.checks));
    let count = |verdict| {
        let these = evaluation.checks.iter().filter(|check| check.verdict() == verdict);
        these.count()
    };
    println!(
        "\n{} checks hold, {} within the error of {seeds} seeds, {} do not hold. Written to {}.",
        count(Verdict::Holds),
        count(Verdict::WithinError),
        count(Verdict::Fails),
        arguments.out.display()
    );
    Ok(if evaluation.holds() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
