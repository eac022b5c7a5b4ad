//! `ripstop-lab figures`: the figures of the papers, replayed, and what must hold of them.

use anyhow::Result;
use clap::{Args, Subcommand};
use ripstop_experiment::{Budget, Check, Report, Verdict, duel, promises, tofec};
use ripstop_figure::{Progress, Table, ready_folder};
use ripstop_placing::jlcm;
use ripstop_stout as stout;
use std::{
    num::{NonZeroU16, NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Which paper's.
#[derive(Subcommand, Debug)]
pub(crate) enum Figures {
    /// TOFEC (Liang and Kozat): codes and chunking that follow the backlog. See docs/tofec.md.
    ///
    /// Writes a CSV file and one or two drawings for each of the figures 1 and 4 to 11, checks.csv
    /// and report.html; prints what was checked. Exits with 1 if a check fails.
    Tofec(Tofec),
    /// Backfill against TOFEC and every fixed code, in every arena and at every load. See
    /// docs/backfill.md.
    ///
    /// Writes duels.csv, bounds.csv, two drawings and report.html; prints the bounds. Exits with 1
    /// if one does not hold. Takes about five minutes on two cores.
    Backfill(Backfill),
    /// Promises to tenants: what is kept while one of them floods the pool. See docs/promises.md.
    ///
    /// Writes a CSV file and a drawing for each of four figures, checks.csv and report.html; prints
    /// what was checked. Exits with 1 if a check fails.
    Promises(Promises),
    /// JLCM (Xiang, Lan, Aggarwal, Chen): placement for latency and cost. See docs/placement.md.
    ///
    /// Writes a CSV file and a drawing for each of the figures 6 to 13 and one about lanes,
    /// checks.csv and report.html; prints what was checked. Exits with 1 if a check fails.
    Jlcm(Jlcm),
    /// Stout (McCullough, Dunagan, Wolman, Snoeren): adaptive batching of writes, and an interval
    /// by a model. See docs/stout.md.
    ///
    /// Writes a CSV file and a drawing for latency against load on three kinds of store, capacity,
    /// fairness and drawn settings, checks.csv and report.html; prints what was checked. Exits with
    /// 1 if a check fails. Takes some minutes on two cores.
    Stout(Stout),
}

#[derive(Args, Debug)]
pub(crate) struct Stout {
    /// Folder to write into.
    #[arg(long, value_name = "DIR", default_value = "docs/figures/stout")]
    pub out: PathBuf,
    /// Runs for each point, with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value = "1")]
    pub seeds: NonZeroU16,
    /// Cycles of all writers that each run measures at least.
    #[arg(long, value_name = "N", default_value = "20")]
    pub cycles: NonZeroU16,
    /// Threads; the figures do not depend on it [default: one a core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
pub(crate) struct Jlcm {
    /// Folder to write into.
    #[arg(long, value_name = "DIR", default_value = "docs/figures/jlcm")]
    pub out: PathBuf,
    /// Runs for each point, with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value = "5")]
    pub seeds: NonZeroU16,
    /// Requests of each run.
    #[arg(long, value_name = "N", default_value = "60000", value_parser = requests)]
    pub requests: NonZeroU32,
    /// Threads; the figures do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
pub(crate) struct Promises {
    /// Folder to write into.
    #[arg(long, value_name = "DIR", default_value = "docs/figures/promises")]
    pub out: PathBuf,
    /// Runs for each point, with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value = "5")]
    pub seeds: NonZeroU16,
    /// Threads; the figures do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
pub(crate) struct Backfill {
    /// Folder to write into.
    #[arg(long, value_name = "DIR", default_value = "docs/figures/backfill")]
    pub out: PathBuf,
    /// Runs for each point, with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value = "3")]
    pub seeds: NonZeroU16,
    /// Requests of each run; four times as many from 90 % load on.
    #[arg(long, value_name = "N", default_value = "40000", value_parser = requests)]
    pub requests: NonZeroU32,
    /// Threads; the figures do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Plays nothing: draws what this file, an earlier duels.csv, holds.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
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
    /// Threads; the figures do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Fewer requests leave figures without points.
const REQUESTS_MIN: u32 = 500;

fn requests(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() >= REQUESTS_MIN);
    number.ok_or_else(|| format!("not a number of requests: at least {REQUESTS_MIN}"))
}

pub(crate) fn run(figures: &Figures) -> Result<ExitCode> {
    let out = match figures {
        Figures::Tofec(Tofec { out, .. })
        | Figures::Backfill(Backfill { out, .. })
        | Figures::Promises(Promises { out, .. })
        | Figures::Jlcm(Jlcm { out, .. })
        | Figures::Stout(Stout { out, .. }) => out,
    };
    ready_folder(out)?;
    match figures {
        Figures::Tofec(arguments) => tofec(arguments),
        Figures::Backfill(arguments) => backfill(arguments),
        Figures::Promises(arguments) => promised(arguments),
        Figures::Jlcm(arguments) => placed(arguments),
        Figures::Stout(arguments) => batched(arguments),
    }
}

fn backfill(arguments: &Backfill) -> Result<ExitCode> {
    let duels = match &arguments.from {
        Some(path) => Table::read(path)?,
        None => play_duels(arguments)?,
    };
    let (report, bounds) = duel::report(&duels)?;
    report.write(&arguments.out)?;
    Ok(if told(&bounds) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Prints bounds; returns whether all hold.
#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) fn told(bounds: &[duel::Bound]) -> bool {
    for bound in bounds {
        println!(
            "{:<32} {:<24} {:.3} at {:>3.0} %, at most {:.2}: {}",
            bound.arena,
            bound.what,
            bound.found,
            bound.load * 100.0,
            bound.most,
            if bound.holds() { "holds" } else { "DOES NOT HOLD" }
        );
    }
    bounds.iter().all(duel::Bound::holds)
}

fn play_duels(arguments: &Backfill) -> Result<Table> {
    let (seeds, requests) = (arguments.seeds.get().into(), arguments.requests.get().into());
    let budget = Budget { seeds, requests };
    let arenas = duel::arenas();
    let progress = Progress::new(arenas.len() as u64, "arenas");
    let mut summaries = Vec::with_capacity(arenas.len());
    for arena in &arenas {
        let played = duel::duel(arena, budget, &duel::duel_loads(), arguments.threads, || ());
        summaries.push(duel::summary(arena, &played)?);
        progress.advance(1);
    }
    Ok(duel::joined(&summaries))
}

fn tofec(arguments: &Tofec) -> Result<ExitCode> {
    let (seeds, requests) = (arguments.seeds.get().into(), arguments.requests.get().into());
    let budget = Budget { seeds, requests };
    let evaluation = {
        let progress = Progress::new(tofec::runs(budget), "runs");
        tofec::evaluate(budget, arguments.threads, || progress.advance(1))
    };
    end(&evaluation.report()?, &evaluation.checks, seeds, &arguments.out)
}

fn promised(arguments: &Promises) -> Result<ExitCode> {
    let seeds = arguments.seeds.get().into();
    let evaluation = {
        let progress = Progress::new(promises::runs(seeds), "runs");
        promises::evaluate(seeds, arguments.threads, || progress.advance(1))?
    };
    end(&evaluation.report(), &evaluation.checks, seeds, &arguments.out)
}

fn placed(arguments: &Jlcm) -> Result<ExitCode> {
    let (seeds, requests) = (arguments.seeds.get().into(), arguments.requests.get() as usize);
    let budget = jlcm::Budget { seeds, requests, threads: arguments.threads };
    let evaluation = {
        let progress = Progress::new(jlcm::PARTS, "figures");
        jlcm::evaluate(budget, || progress.advance(1))?
    };
    end(&evaluation.report(), &evaluation.checks, seeds, &arguments.out)
}

fn batched(arguments: &Stout) -> Result<ExitCode> {
    let (seeds, cycles) = (arguments.seeds.get().into(), arguments.cycles.get().into());
    let budget = stout::Budget { seeds, cycles };
    let evaluation = {
        let progress = Progress::new(stout::runs(budget), "runs");
        stout::evaluate(budget, arguments.threads, || progress.advance(1))?
    };
    end(&evaluation.report(), &evaluation.checks, seeds, &arguments.out)
}

/// Writes a report and says what was checked; 1 if a check fails.
#[expect(clippy::print_stdout, reason = "what the command is for")]
fn end(report: &Report, checks: &[Check], seeds: u64, folder: &Path) -> Result<ExitCode> {
    report.write(folder)?;
    print!("{}", Check::text(checks));
    let [hold, within, fail] = Verdict::counts(checks.iter().map(Check::verdict));
    println!(
        "\n{hold} checks hold, {within} within the error of {seeds} seeds, {fail} do not hold. Written to {}.",
        folder.display()
    );
    Ok(if fail == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
