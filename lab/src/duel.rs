//! `ripstop-lab duel`: policies against their rivals in settings that nobody chose.

use crate::figures::told;
use anyhow::Result;
use clap::Args;
use ripstop_experiment::{Budget, PolicyChoice, duel, text_columns};
use ripstop_figure::{Cell, Progress, Table};
use std::{
    num::{NonZeroU16, NonZeroU32, NonZeroUsize},
    path::PathBuf,
    process::ExitCode,
};

/// What is drawn, and how much is played.
#[derive(Args, Debug)]
pub(crate) struct Duel {
    /// Settings to draw: lanes, layouts, sizes, delays, correlation, cancellations, arrivals and
    /// loads.
    #[arg(long, value_name = "N", default_value = "100")]
    pub generated: NonZeroU16,
    /// Runs of each policy in each setting, with the seeds 1 to N; confidence wants 2.
    #[arg(long, value_name = "N", default_value = "3")]
    pub seeds: NonZeroU16,
    /// Requests of each run.
    #[arg(long, value_name = "N", default_value = "20000", value_parser = requests)]
    pub requests: NonZeroU32,
    /// What the settings are drawn by: equal seeds, equal settings.
    #[arg(long, value_name = "SEED", default_value = "1")]
    pub generator_seed: u64,
    /// A policy to judge; can be given several times.
    #[arg(long, value_name = "POLICY", default_values = ["backfill"])]
    pub policy: Vec<PolicyChoice>,
    /// Only this setting, by its number from 0.
    #[arg(long, value_name = "NUMBER")]
    pub only: Option<u64>,
    /// Draws nothing: judges the policies as Backfill is in the arenas of docs/backfill.md, against
    /// the rivals that this file, a duels.csv of `figures backfill`, holds; --seeds and --requests
    /// must be those it was made with (3 and 40000). Exits with 1 if a bound does not hold.
    #[arg(long, value_name = "FILE")]
    pub arenas: Option<PathBuf>,
    /// How many of the worst settings are shown of each policy.
    #[arg(long, value_name = "N", default_value = "20")]
    pub worst: usize,
    /// Where to write every row, as CSV.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Threads; what comes of it does not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Fewer requests have no 99th percentile to speak of.
const REQUESTS_MIN: u32 = 2000;

fn requests(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() >= REQUESTS_MIN);
    number.ok_or_else(|| format!("not a number of requests: at least {REQUESTS_MIN}"))
}

pub(crate) fn run(arguments: &Duel) -> Result<ExitCode> {
    let (seeds, requests) = (arguments.seeds.get().into(), arguments.requests.get().into());
    if let Some(path) = &arguments.arenas {
        return in_arenas(arguments, &Table::read(path)?, Budget { seeds, requests });
    }
    let numbers = match arguments.only {
        Some(number) => number..number + 1,
        None => 0..arguments.generated.get().into(),
    };
    let drawn = |number| duel::drawn(arguments.generator_seed, number, requests);
    let settings: Vec<duel::Drawn> = numbers.map(drawn).collect();
    let table = {
        let progress = Progress::new(settings.len() as u64, "settings");
        let budget = Budget { seeds, requests };
        duel::field(&settings, &arguments.policy, budget, arguments.threads, || progress.advance(1))
    };
    if let Some(path) = &arguments.out {
        std::fs::write(path, table.to_csv())?;
    }
    for policy in &arguments.policy {
        tell(&table, &policy.to_string(), arguments.worst);
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
fn in_arenas(arguments: &Duel, kept: &Table, budget: Budget) -> Result<ExitCode> {
    let mut hold = true;
    for policy in &arguments.policy {
        let bounds = {
            let progress = Progress::new(kept.rows().len() as u64 * budget.seeds, "runs");
            let done = || progress.advance(1);
            duel::newcomer(kept, policy, budget, arguments.threads, done)?
        };
        println!("{policy}");
        hold &= told(&bounds);
    }
    Ok(if hold { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
fn tell(table: &Table, policy: &str, worst: usize) {
    let stand = duel::stand(table, policy);
    let share = |count: usize| 100.0 * count as f64 / stand.settings.max(1) as f64;
    println!(
        "{policy}: {} settings, {:.1} % within bounds, {:.1} % surely beyond, {} minutes ran away; \
         ratios to the best rival on average {:.3} (mean) and {:.3} (p99)",
        stand.settings,
        share(stand.within),
        share(stand.beyond),
        stand.runaways,
        stand.ratios.0,
        stand.ratios.1
    );
    let at = |name: &str| table.index(name).expect("fields have this column");
    let number = |cell: &Cell| cell.number().map_or_else(|| "-".into(), |it| format!("{it:.3}"));
    let mut rows = vec![
        ["setting", "mean", "±", "rival", "p99", "±", "rival", "runaways"]
            .map(String::from)
            .to_vec(),
    ];
    for row in stand.worst.iter().take(worst) {
        let cell = |name: &str| &row[at(name)];
        let width = |low: &str, high: &str| match (cell(low).number(), cell(high).number()) {
            (Some(low), Some(high)) => format!("{:.3}", (high - low) / 2.0),
            _ => "-".into(),
        };
        rows.push(vec![
            cell("setting").shown(),
            number(cell("mean_ratio")),
            width("mean_ratio_low", "mean_ratio_high"),
            cell("mean_rival").shown(),
            number(cell("p99_ratio")),
            width("p99_ratio_low", "p99_ratio_high"),
            cell("p99_rival").shown(),
            cell("runaways").shown(),
        ]);
    }
    println!("{}", text_columns(&rows));
}
