use crate::{
    command::{cargo, run},
    tool,
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
    /// Encoding and decoding against Intel's ISA-L and a plain copy of memory.
    Codec {
        /// Words for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The simulator's speed, one core and all.
    Sim {
        /// Words for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// What a decision costs: the machine with its policies, per task and per request.
    Core {
        /// Words for Criterion.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Policies side by side on a node that is as slow as S3, live and as the simulator foretells:
    /// `ripstop bench-tail`. Takes 20 minutes, with `--short` five.
    Tail {
        /// Words for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The gateway's throughput and latency over nodes in memory: `ripstop bench`.
    Gateway {
        /// Words for the measuring program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Measures, in a release build.
pub(crate) fn bench(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Codec { words } => codec(words),
        Bench::Core { words } => core(words),
        Bench::Tail { words } => ripstop("bench-tail", words),
        Bench::Gateway { words } => ripstop("bench", words),
        Bench::Sim { words } => sim(words),
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

fn sim(words: &[String]) -> Result<()> {
    let mut bench =
        cargo(&["run", "--release", "-p", "ripstop-experiment", "--example", "speed", "--"])?;
    bench.args(words);
    run(bench, BENCH_MAX)
}

fn core(words: &[String]) -> Result<()> {
    let mut bench = cargo(&["bench", "-p", "ripstop-gateway", "--bench", "machine", "--"])?;
    bench.args(words);
    run(bench, BENCH_MAX)
}

fn ripstop(command: &str, words: &[String]) -> Result<()> {
    let mut bench = cargo(&["run", "--release", "-p", "ripstop", "--", command])?;
    bench.args(words);
    run(bench, BENCH_MAX)
}
