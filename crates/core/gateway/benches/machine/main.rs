//! What a decision costs: `cargo bench -p ripstop-gateway`. The time shown is that of one task: the
//! machine's work on its start and its end, its share of its request's, and the policy's choosing
//! and learning. Ends with an error if a task takes more than [`TASK_MAX`] on the path of live
//! reads.

mod closed;
mod open;

use closed::Closed;
use criterion::Criterion;
use open::Open;
use std::{
    io::{Write as _, stdout},
    process::ExitCode,
    time::{Duration, Instant},
};

/// Most that a task may take.
const TASK_MAX: Duration = Duration::from_micros(2);
/// Tasks before measuring begins: enough for policies to have learned.
const WARMUP: u64 = 100_000;
const POLICIES: [&str; 4] = ["fixed", "hedge-p95", "tofec", "backfill"];
const LOADS: [f64; 3] = [0.1, 0.5, 0.9];

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn live_reads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("live reads");
    for policy in POLICIES {
        for load in LOADS {
            let mut open = Open::new(policy, load);
            open.tasks(WARMUP);
            let name = format!("{policy} at {:.0} %", load * 100.0);
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|tasks| timed(|| open.tasks(tasks)));
            });
        }
    }
    group.finish();
}

fn full_lanes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("full lanes");
    for (nodes, lanes, clients) in [(6, 16, 8), (6, 16, 500), (6, 1, 500), (40, 8, 500)] {
        for (writes, operation) in [(false, "reads"), (true, "writes")] {
            let mut closed = Closed::new(nodes, lanes, clients, writes);
            closed.tasks(WARMUP);
            let name = format!("{nodes} nodes × {lanes} lanes, {clients} clients, {operation}");
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|tasks| timed(|| closed.tasks(tasks)));
            });
        }
    }
    group.finish();
}

/// Whether no policy takes longer than it may.
fn is_quick() -> std::io::Result<bool> {
    const TASKS: u64 = 200_000;
    let mut quick = true;
    for policy in POLICIES {
        for load in LOADS {
            let mut open = Open::new(policy, load);
            open.tasks(WARMUP);
            let rounds = (0..5).map(|_| timed(|| open.tasks(TASKS)) / TASKS as u32);
            let best = rounds.min().unwrap_or_default();
            if best > TASK_MAX {
                quick = false;
                writeln!(stdout(), "{policy} at {:.0} %: {best:?} a task", load * 100.0)?;
            }
        }
    }
    let verdict = if quick { "holds" } else { "DOES NOT HOLD" };
    writeln!(stdout(), "at most {TASK_MAX:?} a task on the path of live reads: {verdict}")?;
    Ok(quick)
}

fn main() -> ExitCode {
    let mut criterion = Criterion::default().configure_from_args();
    live_reads(&mut criterion);
    full_lanes(&mut criterion);
    criterion.final_summary();
    // Without the word it is a test run: nothing is measured.
    let measured = std::env::args().any(|word| word == "--bench");
    let quick = !measured || is_quick().unwrap_or(false);
    if quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
