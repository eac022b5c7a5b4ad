//! `ripstop simulate`: a scenario, played.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use ripstop_experiment::{Scenario, summary_table};
use ripstop_figure::Progress;
use std::{num::NonZero, path::PathBuf, process::ExitCode};

#[derive(Args, Debug)]
pub(crate) struct Simulate {
    /// Scenario file (TOML); docs/scenarios.md has its keys, examples/scenarios has some.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Write results.csv, codes.csv, figures and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs for each policy and load, with the seeds 1 to N [default: what the file says, or 5].
    #[arg(long, value_name = "N")]
    pub seeds: Option<NonZero<u16>>,
    /// Threads; the results do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<usize>>,
}

pub(crate) fn run(arguments: &Simulate) -> Result<ExitCode> {
    let path = &arguments.scenario;
    let scenario = Scenario::read(path);
    let mut scenario = scenario.with_context(|| format!("scenario {}", path.display()))?;
    if let Some(seeds) = arguments.seeds {
        scenario.set_seeds(seeds.get()).context("--seeds")?;
    }
    arguments.out.as_deref().map_or(Ok(()), ripstop_figure::ready_folder)?;
    let played = {
        let progress = Progress::new(scenario.runs() as u64, "runs");
        scenario.play(arguments.threads, || progress.advance(1))
    };
    ensure!(
        played.iter().any(|one| one.delays[0].count > 0),
        "scenario {}: no request was done",
        path.display()
    );
    if let Some(folder) = &arguments.out {
        scenario.report(&played)?.write(folder)?;
    }
    say_line!("{}, {} runs over {} seeds\n", scenario.name, played.len(), scenario.seeds.len())?;
    say!("{}", scenario.summary_text(&summary_table(&scenario.table(&played))?)?)?;
    say!("{}", scenario.promises_text(&played)?)?;
    say!("{}", scenario.plan_text(&played)?)?;
    if let Some(folder) = &arguments.out {
        say_line!("\nWritten to {}: report.html and its figures and tables.", folder.display())?;
    }
    Ok(ExitCode::SUCCESS)
}
