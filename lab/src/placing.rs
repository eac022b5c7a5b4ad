//! `ripstop-lab placement`: reads from twelve unlike nodes under a plan, live and as the simulator
//! predicts, against load balancing that knows no queues.

mod beside;
mod case;
mod live;
mod site;
mod slowing;
mod twin;

pub(crate) use slowing::{Slowing, run as slow_down};

use anyhow::{Context as _, Result, ensure};
use case::{Case, placement};
use clap::Args;
use ripstop_experiment::patient;
use ripstop_figure::{Cell, Progress, Table, mean, percentile};
use ripstop_gateway::ReadSelection;
use ripstop_placement::{Plan, Problem, baseline, solve};
use site::{K, NODES, STRIPES, problem};
use std::{fs, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

/// How much lower the mean is to be under the plan than with oblivious load balancing.
const GAIN: f64 = 1.5;
/// How far a prediction may be off.
const OFF: f64 = 0.1;

#[derive(Args, Debug)]
pub(crate) struct Placing {
    /// How long requests arrive, in seconds; all measurements run at once.
    #[arg(long, default_value_t = 150.0)]
    pub seconds: f64,
    /// Requests, as a share of what all nodes together can serve.
    #[arg(long, default_value_t = 0.6)]
    pub load: f64,
    /// Seed of all luck: arrivals and delays.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write placement.csv into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Times from arrival to answer, seconds; not numbers where no read was answered.
struct Times {
    count: usize,
    mean: f64,
    p99: f64,
}

impl Times {
    fn of(mut seconds: Vec<f64>) -> Self {
        let mean = mean(&seconds).unwrap_or(f64::NAN);
        seconds.sort_by(f64::total_cmp);
        let p99 = percentile(&seconds, 99.0).unwrap_or(f64::NAN);
        Self { count: seconds.len(), mean, p99 }
    }
}

/// What came of a case.
struct Found {
    case: Case,
    live: Times,
    failed: usize,
    /// The simulator's answer for the same arrivals.
    predicted: Times,
    /// And for many more.
    long_run_s: f64,
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Placing) -> Result<ExitCode> {
    ensure!((1.0..3600.0).contains(&arguments.seconds), "--seconds must be from 1 to 3600");
    ensure!((0.01..0.95).contains(&arguments.load), "--load must be from 0.01 to 0.95");
    let rate = site::rate(arguments.load);
    let problem = problem(rate);
    let plan = solve(&problem, None)?;
    println!("{}\n", intro(arguments, rate, &plan));
    let cases = cases(&problem, &plan);
    let times = site::times(rate, arguments.seconds, arguments.seed);
    let total = times.len() * cases.len();
    let progress = Arc::new(Progress::new(total as u64, "requests"));
    let stock = live::Stock::new(&cases[0].placement).await?;
    let runs = cases.iter().map(|case| stock.play(case, &times, arguments.seed, progress.clone()));
    let lives = futures::future::join_all(runs).await;
    drop(progress);
    let mut found = Vec::new();
    for (case, live) in cases.into_iter().zip(lives) {
        let (live, failed) = live?;
        let rehearse = |times: &[Duration], seed| {
            let rehearsal =
                site::rehearsal(patient(), &|id| Box::new(site::delay(site::factor(id))), seed);
            Times::of(rehearsal.play(&case.placement, stock.places(), times))
        };
        let predicted = rehearse(&times, arguments.seed);
        let long = site::times(rate, arguments.seconds.max(1.0) * 40.0, arguments.seed + 1);
        let long_run_s = rehearse(&long, arguments.seed + 1).mean;
        found.push(Found { case, live: Times::of(live), failed, predicted, long_run_s });
    }
    print!("{}", text(&found));
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).with_context(|| format!("folder {}", folder.display()))?;
        table(&found).write(folder.join("placement.csv"))?;
    }
    Ok(if verdict(&found) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn intro(arguments: &Placing, rate: f64, plan: &Plan) -> String {
    format!(
        "{NODES} nodes in memory with one lane each, four at each of three sites as slow as {:?} times a mean of \
         {:.0} ms; {STRIPES} stripes of code (7,{K}); {rate:.1} reads a second, {:.0} % of what the nodes can \
         serve\nplan: {} groups, bound {:.0} ms, at most {:.3} % above the best possible",
        site::FACTORS,
        site::MEAN_S * 1000.0,
        arguments.load * 100.0,
        plan.classes[0].len(),
        plan.latency * 1000.0,
        plan.certificate.gap() * 100.0,
    )
}

/// The plan with its dispatch, without regard to queues and with; and load balancing that only
/// knows how fast nodes are. All have their chunks at the same nodes.
fn cases(problem: &Problem, plan: &Plan) -> Vec<Case> {
    let oblivious = baseline::oblivious(problem, plan);
    let case = |name, plan: &Plan, selection, bound: bool| Case {
        name,
        placement: placement(plan, selection),
        bound_s: bound.then_some(plan.latency),
    };
    vec![
        case("oblivious load balancing", &oblivious, ReadSelection::Probabilistic, true),
        case("plan, probabilistic", plan, ReadSelection::Probabilistic, true),
        case("plan, ready nodes", plan, ReadSelection::Ready, false),
        case("plan, least work", plan, ReadSelection::LeastWork, false),
        case("plan, least work and plan", plan, ReadSelection::LeastWorkPlanned, false),
    ]
}

fn text(found: &[Found]) -> String {
    let mut text = format!(
        "{:<26} {:>9} {:>9} {:>10} {:>9} {:>10} {:>7} {:>9}\n",
        "", "mean ms", "p99 ms", "predicted", "live/it", "long run", "failed", "bound ms"
    );
    for found in found {
        let (live, predicted) = (&found.live, &found.predicted);
        let row = format!(
            "{:<26} {:>9.1} {:>9.1} {:>10.1} {:>9.3} {:>10.1} {:>7} {:>9}\n",
            found.case.name,
            live.mean * 1000.0,
            live.p99 * 1000.0,
            predicted.mean * 1000.0,
            live.mean / predicted.mean,
            found.long_run_s * 1000.0,
            found.failed,
            found.case.bound_s.map_or("-".into(), |bound| format!("{:.1}", bound * 1000.0)),
        );
        text.push_str(&row);
    }
    text
}

fn table(found: &[Found]) -> Table {
    let columns = [
        "case",
        "requests",
        "failed",
        "live_mean_ms",
        "live_p99_ms",
        "predicted_mean_ms",
        "predicted_p99_ms",
        "long_run_mean_ms",
        "bound_ms",
    ];
    let mut table = Table::new(columns);
    for found in found {
        table.push([
            Cell::from(found.case.name),
            (found.live.count as f64).into(),
            (found.failed as f64).into(),
            (found.live.mean * 1000.0).into(),
            (found.live.p99 * 1000.0).into(),
            (found.predicted.mean * 1000.0).into(),
            (found.predicted.p99 * 1000.0).into(),
            (found.long_run_s * 1000.0).into(),
            found.case.bound_s.map_or(Cell::Missing, |bound| (bound * 1000.0).into()),
        ]);
    }
    table
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
fn verdict(found: &[Found]) -> bool {
    let answer = |yes| if yes { "holds" } else { "DOES NOT HOLD" };
    let last = &found[found.len() - 1];
    let gain = found[0].live.mean / last.live.mean;
    let better = gain >= GAIN;
    println!(
        "\nlive, oblivious over the plan with state: {gain:.2}, at least {GAIN}: {}",
        answer(better)
    );
    let off = found.iter().map(|found| (found.live.mean / found.predicted.mean - 1.0).abs());
    let off = off.fold(0.0, f64::max);
    let near = off <= OFF;
    println!("predictions are off by {:.1} % at most, 10 % allowed: {}", off * 100.0, answer(near));
    let within = |found: &Found| found.case.bound_s.is_none_or(|bound| found.long_run_s <= bound);
    let bounded = found.iter().all(within);
    println!("simulated means stay below the bound: {}", answer(bounded));
    let whole = found.iter().all(|found| found.failed == 0);
    println!("no read failed: {}", answer(whole));
    better && near && bounded && whole
}
