use clap::Args;
use ripstop_assembly::config::Size;
use ripstop_trace::Format;
use std::{num::NonZero, path::PathBuf};

#[derive(Args, Debug)]
pub(crate) struct WhatIf {
    /// Access log: an S3 server access log, Ripstop's own JSON lines, CSV, or a block trace (SPC);
    /// plain, gzip or zstd.
    ///
    /// CSV needs a header with a time (`time_s`, `time_ms`, `time_us`, `time_ns` or `timestamp`),
    /// `operation` and `bytes`; `key`, `tenant` and `status` if known. Times in whole seconds are
    /// spread at random over their second.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Configuration file (TOML) with the pool: nodes, lanes, layout, code, policy, prices.
    #[arg(long, env = "RIPSTOP_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The pool to simulate [default: the first].
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Policies to compare, separated by semicolons or blanks, or given several times: tofec,
    /// fixed(2,1), hedge(2,1)@100ms and so on [default: the pool's own, backfill, tofec-multi,
    /// direct reads, hedge-p95].
    #[arg(long, value_name = "POLICIES")]
    pub policies: Vec<String>,
    /// Play the log this many times as fast as it was recorded.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub speed: f64,
    /// Runs for each policy, which differ in the luck of how long tasks take.
    #[arg(long, value_name = "N", default_value_t = NonZero::new(3).expect("three is not zero"))]
    pub seeds: NonZero<u16>,
    /// Delays of all nodes: a preset (s3-2013-a, s3-2013-b, s3-2025, s3-2025-busy) or a recorded
    /// log [default: each node's `delay` in the configuration].
    #[arg(long, value_name = "PRESET|FILE", conflicts_with = "task_log")]
    pub delay: Option<String>,
    /// Delays of all nodes: drawn at random from this task log. If it has as many nodes as the
    /// pool, each node has its own delays, in the order of their numbers.
    #[arg(long, value_name = "FILE")]
    pub task_log: Option<PathBuf>,
    /// With --task-log: use delays of the model fitted to it, not the recorded ones. That says more
    /// about chunk sizes that were not recorded, and less about the tail.
    #[arg(long, requires = "task_log")]
    pub fitted: bool,
    /// How much alike the delays of one request's tasks are, 0 to 1 (TOFEC measured 0.11 to 0.17).
    #[arg(long, value_name = "C", default_value_t = 0.0)]
    pub correlation: f64,
    /// Milliseconds for which a lane is busy after its task was cancelled.
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    pub cancellation_ms: f64,
    /// Also say what packs would change: node requests, dollars, and how long small writes take, if
    /// writes shorter than this were gathered.
    #[arg(long, value_name = "SIZE")]
    pub pack_below: Option<Size>,
    /// Format of the log: s3, ripstop, csv, spc, sectors [default: detected].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Leave out lines that cannot be read, and count them.
    #[arg(long)]
    pub skip_bad_lines: bool,
    /// Only this many requests from the log's beginning.
    #[arg(long, value_name = "N")]
    pub first: Option<NonZero<usize>>,
    /// Threads; the results do not depend on them [default: one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<usize>>,
    /// Write results.csv, figures and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
