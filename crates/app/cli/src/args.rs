use crate::{
    capacity::Capacity,
    placing::{Placing, Slowing},
    promises::Promises,
    rebuild::RebuildBench,
    replay::Replay,
};
use crate::{
    figures::Figures, fit::Fit, plan::Plan, simulate::Simulate, tail::Tail, what_if::WhatIf,
};
use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use ripstop_assembly::config::{self, AdminAddress, Config, Size};
use std::{net::SocketAddr, path::PathBuf};

/// An S3 gateway over coded storage: objects survive the loss of nodes, and one endpoint serves them.
///
/// With no configuration, `ripstop serve` keeps everything in ./ripstop-data: six directories as nodes,
/// each object coded so that any four of the six suffice.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Serve S3, and the admin port, until told to stop (SIGINT or SIGTERM).
    Serve(Serve),
    /// Read every fragment and report what is missing, damaged or unclaimed.
    ///
    /// A gateway that runs on the same data folder is asked to do it; otherwise the catalog is opened
    /// here. Exits with 0 if all is well or was put right, with 1 if something was found, with 2 if
    /// the check could not be made.
    Check(Check),
    /// Make a lost catalog again from the fragments at the nodes, or complete an old one with --onto. The
    /// gateway must not run.
    ///
    /// Exits with 0 if everything that was ever answered is there, as far as can be told; with 1 if
    /// something is lost, disputed or unreadable, or a node was not listed to its end; with 2 if no catalog
    /// was made.
    Rebuild(Rebuild),
    /// Copy the catalog to a new file, while a gateway serves from it or not, and verify the copy.
    ///
    /// The store's key goes along, as FILE.key, if it is in the data folder; where another place is configured
    /// for it, that is left to you.
    ///
    /// It may be copied to where the data folder's disk does not take it along. Exits with 1 if records in
    /// the catalog do not agree, with 2 if no copy was made.
    Backup(Backup),
    /// Put a copy of the catalog back, and bring in what has been written since from the fragments. The
    /// gateway must not run.
    ///
    /// The catalog that was there is kept beside it, as catalog.replaced-SECONDS.redb.
    Restore(Restore),
    /// Replay a recording of `serve --record`, and compare every decision with the one that was made.
    ///
    /// Exits with 0 if all are equal, with 1 after the first that is not, with 2 if the file cannot be
    /// read.
    Replay(Replay),
    /// Say whether the configuration is good, and what it comes to.
    CheckConfig(Common),
    /// Drive GET and PUT over loopback against a pool of memory nodes, and say where the time goes; or
    /// against any S3 server.
    Bench(Bench),
    /// Compare policies on a node in memory that is as slow as S3: delays live, and as the simulator
    /// foretells them.
    ///
    /// Exits with 1 if something does not hold that should.
    BenchTail(Tail),
    /// Measure promises: three tenants on one slow node through the S3 port, one of which floods, with
    /// the shaper and without.
    ///
    /// Exits with 1 if the other two do not have what they were promised, or had it without the shaper too.
    BenchPromises(Promises),
    /// Measure how fast a lost catalog is made again, and the memory that takes.
    BenchRebuild(RebuildBench),
    /// Measure reads from twelve unlike nodes under a plan, live and as the simulator foretells, against load
    /// balancing that knows no queues.
    ///
    /// Exits with 1 if the plan with state-aware selection is not 1.5 times faster, or a prediction is off by more
    /// than 10 %.
    BenchPlacement(Placing),
    /// Measure how a gateway that plans itself comes back from a node that becomes ten times slower, beside one
    /// that has had the best plan for that from the start.
    ///
    /// Exits with 1 if the mean stays more than 20 % above the new optimum, more is moved than the plans say, or
    /// a read fails.
    BenchReplan(Slowing),
    /// Fit the delay model to a task log, and say how far to trust it.
    ///
    /// For each direction, and for each node: the model of TOFEC as the paper fits it and corrected, what it
    /// rests on, and how far the measurements are off it. Exits with 2 if the log cannot be read or
    /// says too little.
    Fit(Fit),
    /// Play a scenario: policies against loads, on nodes that exist only on paper.
    ///
    /// Every decision is made by the code that serves. Equal scenarios give equal numbers, on every machine.
    Simulate(Simulate),
    /// Replay an access log through a configured pool: latency, load and cost under other policies.
    ///
    /// Nothing is read or stored: the nodes are simulated, every decision is made by the code that
    /// serves. Objects larger than `store.stripe_max` are cut as the gateway cuts them, and done when all
    /// their stripes are.
    Whatif(WhatIf),
    /// Say how much capacity a promise takes on a trace: requests a second for each of its tiers.
    ///
    /// Tiers such as 95 % of requests within 10 ms and all of them within 500 ms, each with a share of
    /// its own; beside it what first come, first served and the min–max load heuristic take, and the
    /// capacities of many fractions and bounds. Every request costs the same. See docs/capacity.md.
    Capacity(Capacity),
    /// Plan where chunks go and who serves them: least mean latency plus what it costs, with a bound on what
    /// any plan could save.
    ///
    /// Files survive the loss of nodes and sites as the inventory demands. Exits with 2 if there is no plan,
    /// and says which constraint cannot be met and how far off it is. See docs/placement.md.
    Plan(Plan),
    /// Draw the figures of the papers this program builds on, and check what must hold of them.
    #[command(subcommand)]
    Figures(Figures),
}

/// What every command that touches data takes. A flag wins over the environment, and that over the
/// file.
#[derive(Args, Debug, Clone)]
pub(crate) struct Common {
    /// Configuration file (TOML).
    ///
    /// Each of its keys is a variable too: `RIPSTOP_GATEWAY_LISTEN`, `RIPSTOP_STORE_GRACE`,
    /// `RIPSTOP_POOL_<NAME>_CODE`, `RIPSTOP_NODE_<NAME>_LANES` and so on. See docs/configuration.md.
    #[arg(long, env = "RIPSTOP_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of the catalog, the credentials and, unless configured otherwise, the nodes
    /// [default: ripstop-data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address that S3 is served on [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Address of health, metrics and maintenance, or `unix:/path` for a socket of its owner's alone
    /// [default: 127.0.0.1:9001].
    #[arg(long, value_name = "ADDR:PORT")]
    pub admin: Option<AdminAddress>,
}

impl Common {
    /// The configuration with the command line laid over it.
    pub(crate) fn resolve(&self) -> Result<Config> {
        let flags = [
            (
                "RIPSTOP_GATEWAY_DATA",
                self.data.as_ref().map(|path| format!("'''{}'''", path.display())),
            ),
            ("RIPSTOP_GATEWAY_LISTEN", self.listen.map(|address| format!("\"{address}\""))),
            ("RIPSTOP_GATEWAY_ADMIN", self.admin.as_ref().map(|at| format!("'''{at}'''"))),
        ];
        let flags = flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        config::load(self.config.as_deref(), flags)
    }
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub common: Common,
    /// Append the tasks of all pools whose configuration names no `task_log` to this file, as `ripstop
    /// fit` reads them. At 64 MiB it is renamed to FILE.1 and begun anew.
    #[arg(long, value_name = "FILE")]
    pub task_log: Option<PathBuf>,
    /// Record everything that decides and what was decided into this file, which must not be there yet,
    /// for `ripstop replay`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Most bytes of that file: what follows is not recorded.
    #[arg(long, value_name = "SIZE", default_value = "4 GiB", requires = "record")]
    pub record_max: Size,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub common: Common,
    /// Mend what can be mended from the fragments that are left, and delete what nothing claims.
    #[arg(long)]
    pub repair: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Backup {
    #[command(flatten)]
    pub common: Common,
    /// The copy: a name that nothing has.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub common: Common,
    /// A file that `ripstop backup` made.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print what was found and brought in as one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Rebuild {
    #[command(flatten)]
    pub common: Common,
    /// Keep the catalog that is there, and bring in what it lacks: after an old one was put back.
    #[arg(long)]
    pub onto: bool,
    /// Believe what is sealed with a key that is lost, which nothing can verify then. What is encrypted with
    /// it stays lost.
    #[arg(long)]
    pub unsealed: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// Object sizes, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [4 << 10, 1 << 20, 8 << 20])]
    pub sizes: Vec<usize>,
    /// Clients at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    pub clients: Vec<usize>,
    /// Which operations.
    #[arg(long, value_delimiter = ',', default_values_t = [BenchOperation::Put, BenchOperation::Get])]
    pub operations: Vec<BenchOperation>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Storage code, as N,K.
    #[arg(long, value_delimiter = ',', default_values_t = [6, 4])]
    pub code: Vec<usize>,
    /// The pool's policy; several are measured one after another, row by row.
    #[arg(long, value_delimiter = ',', default_values_t = ["fixed".to_owned()])]
    pub policies: Vec<String>,
    /// Make nodes as slow as s3-2013-a, s3-2013-b, s3-2025 or s3-2025-busy.
    #[arg(long)]
    pub delay: Option<String>,
    /// Encrypt what is stored.
    #[arg(long)]
    pub encrypt: bool,
    #[command(flatten)]
    pub elsewhere: Elsewhere,
}

/// Another server to be measured, and how.
#[derive(Args, Debug)]
pub(crate) struct Elsewhere {
    /// Measure the S3 server at this address, such as `http://127.0.0.1:9000`, and no gateway in this
    /// process: each client puts new objects, one after another, then all read these in random order, and
    /// at last they are deleted.
    #[arg(long, value_name = "URL", conflicts_with_all = ["code", "policies", "delay"])]
    pub endpoint: Option<String>,
    /// Who asks.
    #[arg(long, env = "AWS_ACCESS_KEY_ID", value_name = "KEY")]
    pub access_key: Option<String>,
    /// The secret of the access key.
    #[arg(long, env = "AWS_SECRET_ACCESS_KEY", hide_env_values = true, value_name = "SECRET")]
    pub secret_key: Option<String>,
    /// Where the objects go; made if it is not there, and left there.
    #[arg(long, default_value = "ripstop-bench", requires = "endpoint")]
    pub bucket: String,
    /// Sign no hash of what is put, as SDKs do over TLS.
    #[arg(long, requires = "endpoint")]
    pub unsigned_payload: bool,
    /// Leave the objects there.
    #[arg(long, requires = "endpoint")]
    pub keep: bool,
    /// The server's process on this machine, for the processor time it takes.
    #[arg(long, value_name = "PID", requires = "endpoint")]
    pub server_pid: Option<u32>,
    /// Print one JSON object a line in place of a table.
    #[arg(long, requires = "endpoint")]
    pub json: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BenchOperation {
    Put,
    Get,
}

impl std::fmt::Display for BenchOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Put => "put",
            Self::Get => "get",
        })
    }
}
