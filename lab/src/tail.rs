//! `ripstop-lab tail`: policies side by side on a slow node, live and as the simulator predicts.

mod arguments;
mod case;
mod draw;
mod live;
mod luck;
mod plan;
mod verdict;

pub(crate) use arguments::Tail;

use anyhow::{Context as _, Result, ensure};
use case::Found;
use live::Stock;
use plan::Plan;
use ripstop_experiment::PolicyChoice;
use ripstop_figure::Progress;
use std::{collections::BTreeMap, fs, process::ExitCode, time::Duration};

/// What is compared unless other policies are named; the first is the one whose rank is checked.
const POLICIES: [&str; 6] =
    ["backfill", "fixed(1,1)", "fixed(4,4)", "hedge(2,1)@100ms", "hedge-p95(2,1)", "all"];
const MINUTES: f64 = 24.0;
const MINUTES_SHORT: f64 = 4.0;

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Tail) -> Result<ExitCode> {
    ensure!(
        arguments.loads.iter().all(|load| (0.001..1.0).contains(load)),
        "--loads must be from 0.001 to less than 1"
    );
    ensure!(arguments.sizes.iter().all(|size| *size > 0), "--sizes must be more than 0");
    let minutes = if arguments.short { MINUTES_SHORT } else { MINUTES };
    let minutes = arguments.minutes.unwrap_or(minutes);
    ensure!(minutes > 0.0 && minutes < 600.0, "--minutes must be more than 0 and less than 600");
    let policies = policies(&arguments.policies)?;
    let mut stocks = BTreeMap::new();
    for &size in &arguments.sizes {
        stocks.insert(size, Stock::new(size).await?);
    }
    let coding = stocks.values().map(Stock::coding_s_per_byte).fold(0.0, f64::max);
    let span = Duration::from_secs_f64(minutes * 60.0);
    let plan = Plan::new(arguments, &policies, &stocks, coding, span);
    println!("{}\n", plan.intro());
    let found = play(plan, &stocks).await?;
    let table = verdict::table(&found);
    print!("{}", verdict::text(&found));
    let checks = verdict::checks(&found);
    println!("\n{}", verdict::checks_text(&checks));
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).with_context(|| format!("folder {}", folder.display()))?;
        table.write(folder.join("tail.csv"))?;
        let drawing = folder.join("tail.svg");
        fs::write(&drawing, draw::figure(&table)?.svg())
            .with_context(|| format!("file {}", drawing.display()))?;
        verdict::checks_table(&checks).write(folder.join("checks.csv"))?;
    }
    let [.., fail] = verdict::counts(&checks);
    Ok(if fail == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn policies(given: &[String]) -> Result<Vec<PolicyChoice>> {
    let names = given.iter().map(String::as_str);
    let names: Vec<&str> = if given.is_empty() { POLICIES.to_vec() } else { names.collect() };
    names.into_iter().map(|name| name.parse().with_context(|| format!("policy {name}"))).collect()
}

/// Runs batch after batch, the cases of one at the same time.
async fn play(plan: Plan, stocks: &BTreeMap<u32, Stock>) -> Result<Vec<Found>> {
    let progress = std::sync::Arc::new(Progress::new(plan.requests(), "requests"));
    let mut found = Vec::new();
    for batch in plan.batches {
        let runs = batch.iter().map(|case| {
            let (stock, progress) = (&stocks[&case.size], progress.clone());
            async move { live::play(case, stock, progress).await }
        });
        let outcomes = futures::future::join_all(runs).await;
        for (case, live) in batch.into_iter().zip(outcomes) {
            found.push(Found { case, live: Some(live?) });
        }
    }
    found.extend(plan.overloaded.into_iter().map(|case| Found { case, live: None }));
    found.sort_by_key(|found| found.case.number);
    Ok(found)
}
