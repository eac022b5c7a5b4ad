//! How long planning takes and how good the plans are, beside the published algorithm and a general
//! convex solver: `cargo run --release -p ripstop-lab --example planner [-- --short]`.
//!
//! Exits with 1 if a bound that is called one is none, or a plan is too far from it.

mod instance;
mod relaxation;

use ripstop_placement::{Problem, Published, solve, testbed};
use std::{
    error::Error,
    fs,
    io::{Write, stdout},
    process::ExitCode,
    time::Instant,
};

/// The paper's time for 1000 files at 12 nodes, seconds.
const PAPER_S: f64 = 202.0;
/// To how much of its optimum the general solver comes.
const TOLERANCE: f64 = 1e-6;

/// How far from its bound a plan may be: of a thousand files at twelve nodes, and of a million at a
/// hundred.
const GAP_MAX: [f64; 2] = [1e-3, 1e-2];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let short = std::env::args().any(|word| word == "--short");
    let mut out = stdout();
    writeln!(
        out,
        "{:<44} {:>9} {:>12} {:>12} {:>9}",
        "", "seconds", "value", "lower bound", "gap"
    )?;
    let near = plans(&mut out, short)?;
    if let Some(kib) = peak_kib() {
        writeln!(out, "peak resident memory {:.1} MiB\n", kib / 1024.0)?;
    }
    published(&mut out)?;
    let sound = general(&mut out, if short { 8 } else { 40 })?;
    Ok(if near && sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Whether all plans are near their bounds.
fn plans(out: &mut impl Write, short: bool) -> Result<bool, Box<dyn Error>> {
    let mut near = true;
    let [small, large] = GAP_MAX;
    let mut time = |name: String, problem: &Problem, gap_max| -> Result<(), Box<dyn Error>> {
        near &= timed(out, &name, problem, gap_max)?;
        Ok(())
    };
    for theta in [0.5, 2.0, 20.0, 200.0] {
        let four = instance::uneven(testbed::problem(1000, theta), 1);
        let thousand = instance::distinct(&four, 1000, 2);
        time(format!("r=1000 m=12, 4 classes, theta {theta}"), &four, small)?;
        time(format!("r=1000 m=12, 1000 rates, theta {theta}"), &thousand, small)?;
    }
    let equal = testbed::problem(1000, 2.0);
    time("r=1000 m=12, equal nodes, 4 classes".into(), &equal, small)?;
    let thousand = instance::distinct(&equal, 1000, 2);
    time("r=1000 m=12, equal nodes, 1000 rates".into(), &thousand, small)?;
    for seed in if short { 3..4 } else { 3..6 } {
        let name = format!("r=1e6 m=100, three sites, instance {seed}");
        time(name, &instance::large(seed), large)?;
    }
    time("the first of these, nodes nearly full".into(), &instance::full(3), large)?;
    Ok(near)
}

/// Whether a plan is near its bound.
fn timed(
    out: &mut impl Write,
    name: &str,
    problem: &Problem,
    gap_max: f64,
) -> Result<bool, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    let mut plan = solve(problem, None)?;
    for _ in 0..3 {
        let begun = Instant::now();
        plan = solve(problem, None)?;
        best = best.min(begun.elapsed().as_secs_f64());
        if best > 1.0 {
            break;
        }
    }
    let certificate = plan.certificate;
    writeln!(
        out,
        "{name:<44} {best:>9.4} {:>12.4} {:>12.4} {:>9.1e}",
        certificate.value,
        certificate.lower_bound,
        certificate.gap()
    )?;
    Ok(certificate.gap() < gap_max)
}

/// The most memory that this process had at once.
fn peak_kib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The paper's algorithm on the same problems. It pays for every chunk it begins, in whole classes.
fn published(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(
        out,
        "{:<44} {:>9} {:>12} {:>12}",
        "the published algorithm", "seconds", "value", "ours"
    )?;
    for theta in [0.5, 2.0, 20.0, 200.0] {
        let four = instance::uneven(testbed::problem(1000, theta), 1);
        for (name, problem) in
            [("4 classes", four.clone()), ("1000 rates", instance::distinct(&four, 1000, 2))]
        {
            let begun = Instant::now();
            let plan = solve(&problem, None)?;
            let ours_s = begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let (theirs, history) = Published::default().solve(&problem)?;
            let seconds = begun.elapsed().as_secs_f64();
            writeln!(
                out,
                "{:<44} {seconds:>9.4} {:>12.4} {:>12.4}  {} linearisations; ours {:.1} times as fast, {:.0} \
                 times as the paper's 202 s",
                format!("  r=1000 m=12, {name}, theta {theta}"),
                theirs.certificate.value,
                plan.certificate.value,
                history.len() - 1,
                seconds / ours_s,
                PAPER_S / ours_s,
            )?;
        }
    }
    Ok(())
}

/// The relaxation's optimum by Clarabel, on random instances, against bound and value.
fn general(out: &mut impl Write, instances: u64) -> Result<bool, Box<dyn Error>> {
    let (mut below, mut above, mut slack) = (f64::NEG_INFINITY, f64::INFINITY, 0.0f64);
    let (mut ours_s, mut theirs_s, mut gap) = (0.0, 0.0, 0.0f64);
    for seed in 0..instances {
        let problem = instance::random(seed);
        let begun = Instant::now();
        let plan = solve(&problem, None)?;
        ours_s += begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let optimum = relaxation::optimum(&problem, plan.z, TOLERANCE)?;
        theirs_s += begun.elapsed().as_secs_f64();
        let certificate = plan.certificate;
        below = below.max((certificate.lower_bound - optimum) / optimum);
        above = above.min((certificate.value - optimum) / optimum);
        slack = slack.max((optimum - certificate.lower_bound) / optimum);
        gap = gap.max(certificate.gap());
    }
    writeln!(
        out,
        "\n{instances} random instances, relaxation solved by Clarabel (linear programs with tangents, search over \
         z):\n  our lower bound is at most {below:.1e} above its optimum, and at most {slack:.1e} below\n  our \
         value is at least {above:.1e} above it; our certificates' largest gap {gap:.1e}\n  {ours_s:.3} s ours, \
         {theirs_s:.3} s theirs: {:.0} times as long",
        theirs_s / ours_s
    )?;
    // The value is of whole files, the optimum of parts: it is not below but for the tolerances.
    Ok(below <= 2.0 * TOLERANCE && above >= -2.0 * TOLERANCE)
}
