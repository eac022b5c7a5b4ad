mod rivals;

use crate::{
    command::{cargo, command, run},
    test, tool,
};
use anyhow::Result;
use clap::Subcommand;
use std::time::Duration;

const BENCH_MAX: Duration = Duration::from_hours(1);
/// What building Intel's ISA-L from source takes.
const ISAL_PACKAGES: [&str; 5] = ["nasm", "autoconf", "automake", "libtool", "libclang-dev"];

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Encoding and decoding against Intel's ISA-L and a plain copy of memory; then seals and
    /// encryption, as `seal`.
    Codec {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Seals of fragments and encryption, kernel by kernel, beside CRC-64 and a plain copy of
    /// memory.
    Seal,
    /// The simulator's speed, on one core and on all.
    Sim {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The cost of a decision: the machine with its policies, per task and per request; a batcher
    /// with its controllers, per member; policies of fifty statements, per request.
    Core {
        /// Arguments for Criterion.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Policies side by side on a node that is as slow as S3, live and as the simulator predicts:
    /// `ripstop-lab tail`. Takes 25 minutes, with `--short` five.
    Tail {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Tenants' promises while one of them floods, through the S3 port: `ripstop-lab promises`.
    Promises {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// A plan with state-aware selection against oblivious load balancing, live and simulated:
    /// `ripstop-lab placement`.
    Placement {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// A gateway that plans itself while a node becomes ten times slower, beside one with the best
    /// plan for that from the start: `ripstop-lab replan`.
    Replan {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The planner: time, certificate and memory, beside the published algorithm and a general
    /// convex solver.
    Plan {
        /// Arguments for the measuring program: `--short` takes a minute less.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Ripstop beside MinIO and versitygw on one disk, by turns, under the same load. Takes 15
    /// minutes, with `--short` four. Fails if Ripstop is slower in comparison than it should be.
    Rivals(rivals::Arguments),
    /// Small objects in packs, beside a stripe for each and beside MinIO and versitygw. Takes 15
    /// minutes, with `--short` four. Fails where a bound does not hold.
    Small(rivals::Arguments),
    /// How fast a lost catalog is rebuilt, and the memory that takes: `ripstop-lab rebuild`.
    Rebuild {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The gateway's throughput and latency over nodes in memory: `ripstop-lab gateway`.
    Gateway {
        /// Arguments for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Measures, in a release build.
pub(crate) fn bench(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Codec { words } => codec(words).and_then(|()| seal()),
        Bench::Seal => seal(),
        Bench::Core { words } => core(words),
        Bench::Tail { words } => lab("tail", words),
        Bench::Promises { words } => lab("promises", words),
        Bench::Placement { words } => lab("placement", words),
        Bench::Replan { words } => lab("replan", words),
        Bench::Rivals(arguments) => rivals::rivals(arguments),
        Bench::Small(arguments) => rivals::small(arguments),
        Bench::Rebuild { words } => lab("rebuild", words),
        Bench::Gateway { words } => lab("gateway", words),
        Bench::Sim { words } => example("simulator", words),
        Bench::Plan { words } => example("planner", words),
    }
}

fn codec(words: &[String]) -> Result<()> {
    let missing: Vec<&str> =
        ISAL_PACKAGES.into_iter().filter(|package| !tool::installed(package)).collect();
    if !missing.is_empty() {
        tool::debian(&missing)?;
    }
    let mut bench =
        cargo(&["run", "--release", "--manifest-path", "benches/isal/Cargo.toml", "--"])?;
    bench.args(words);
    run(bench, BENCH_MAX)
}

fn seal() -> Result<()> {
    run(cargo(&["bench", "-p", "ripstop-seal", "--bench", "speed"])?, BENCH_MAX)
}

fn example(name: &str, words: &[String]) -> Result<()> {
    let mut bench = cargo(&["run", "--release", "-p", "ripstop-lab", "--example", name, "--"])?;
    bench.args(words);
    run(bench, BENCH_MAX)
}

fn core(words: &[String]) -> Result<()> {
    for (package, name) in [
        ("ripstop-gateway", "machine"),
        ("ripstop-batching", "batcher"),
        ("ripstop-access", "policy"),
    ] {
        let mut bench = cargo(&["bench", "-p", package, "--bench", name, "--"])?;
        bench.args(words);
        run(bench, BENCH_MAX)?;
    }
    Ok(())
}

/// What serves in a process of its own is the program as it is shipped.
fn lab(name: &str, words: &[String]) -> Result<()> {
    let (ripstop, lab) = (test::ripstop()?, test::lab()?);
    let mut bench = command(lab, [name])?;
    bench.args(words).env("RIPSTOP_BIN", ripstop);
    run(bench, BENCH_MAX)
}
