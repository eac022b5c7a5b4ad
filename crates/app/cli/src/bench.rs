//! `ripstop bench --endpoint`: clients in a closed loop against any S3 server.

mod content;
mod cpu;
mod load;
mod measured;
mod request;
mod target;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use content::Content;
use hyper::Method;
use load::{Load, Phase};
use measured::Measured;
use object_store::aws::AwsCredential;
use std::{process::ExitCode, sync::Arc, time::Duration};
use target::Target;

/// Most that one measurement puts, so that a server's memory can hold it for the reads.
const PUT_BYTES_MAX: usize = 2 << 30;
/// Most objects a second that are made ready to be put.
const PUT_RATE_MAX: f64 = 32_768.0;
/// What is read: this many bytes, and at least and at most this many objects. The same for every
/// server, however much it was given before.
const GET_BYTES: usize = 512 << 20;
const GET_OBJECTS: (usize, usize) = (64, 4096);
/// Clients run for this long before they are measured, as a share of the measurement, up to
/// `WARM_MAX`.
const WARM_SHARE: f64 = 0.25;
const WARM_MAX: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// Measure the S3 server at this address, such as `http://127.0.0.1:9000`: each client puts new
    /// objects, one after another, then all clients read these in random order, and finally delete
    /// them.
    #[arg(long, value_name = "URL")]
    pub endpoint: String,
    /// Object sizes, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [4 << 10, 1 << 20, 8 << 20])]
    pub sizes: Vec<usize>,
    /// How many clients run at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    pub clients: Vec<usize>,
    /// Operations to measure.
    #[arg(long, value_delimiter = ',', default_values_t = [BenchOperation::Put, BenchOperation::Get])]
    pub operations: Vec<BenchOperation>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Access key to sign with.
    #[arg(long, env = "AWS_ACCESS_KEY_ID", value_name = "KEY")]
    pub access_key: Option<String>,
    /// The secret of the access key.
    #[arg(long, env = "AWS_SECRET_ACCESS_KEY", hide_env_values = true, value_name = "SECRET")]
    pub secret_key: Option<String>,
    /// The bucket for the objects; created if it does not exist, and kept.
    #[arg(long, default_value = "ripstop-bench")]
    pub bucket: String,
    /// Do not sign the hash of what is put, as SDKs do over TLS.
    #[arg(long)]
    pub unsigned_payload: bool,
    /// Do not delete the objects.
    #[arg(long)]
    pub keep: bool,
    /// The server's process id on this machine, to measure its processor time.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
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

impl Bench {
    async fn target(&self) -> Result<Target> {
        let credential = AwsCredential {
            key_id: self.access_key.clone().context("--access-key is missing")?,
            secret_key: self.secret_key.clone().context("--secret-key is missing")?,
            token: None,
        };
        Target::of(&self.endpoint, &self.bucket, credential, !self.unsigned_payload).await
    }
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Bench) -> Result<ExitCode> {
    ensure!(
        arguments.seconds > 0.0 && arguments.seconds <= 3600.0,
        "--seconds is {}: it must be more than 0 and at most 3600",
        arguments.seconds
    );
    ensure!(arguments.clients.iter().all(|&clients| clients > 0), "--clients must be more than 0");
    ensure!(
        arguments.sizes.iter().all(|&size| size <= PUT_BYTES_MAX / GET_OBJECTS.0),
        "--sizes must be at most {}",
        PUT_BYTES_MAX / GET_OBJECTS.0
    );
    let target = arguments.target().await?;
    target.make_bucket().await?;
    if !arguments.json {
        let hash = if arguments.unsigned_payload { "unsigned" } else { "signed" };
        println!(
            "{}, payloads {hash}; processors: this program's and the server's",
            arguments.endpoint
        );
        println!("{}", head());
    }
    for &bytes in &arguments.sizes {
        for &clients in &arguments.clients {
            for measured in measure(&target, arguments, bytes, clients).await? {
                if arguments.json {
                    println!("{}", serde_json::to_string(&measured)?);
                } else {
                    println!("{}", row(&measured));
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts new objects, reads them, and deletes them: what was found of those operations asked for.
async fn measure(
    target: &Target,
    arguments: &Bench,
    bytes: usize,
    clients: usize,
) -> Result<Vec<Measured>> {
    let asked = |operation| arguments.operations.contains(&operation);
    let span = Duration::from_secs_f64(arguments.seconds);
    let warm = span.mul_f64(WARM_SHARE).min(WARM_MAX);
    let read = (GET_BYTES / bytes.max(1)).clamp(GET_OBJECTS.0, GET_OBJECTS.1);
    let put = if asked(BenchOperation::Put) { objects(bytes, warm + span, read) } else { read };
    let content = Arc::new(Content::new(bytes));
    let signer = &target.signer;
    let puts = Arc::new(signer.objects(&Method::PUT, &content, put).await?);
    let server = arguments.server_pid;
    let load = |method: Method, requests, phase| Load {
        method,
        requests,
        content: content.clone(),
        clients,
        phase,
        server,
    };
    let mut found = Vec::new();
    let phase = if asked(BenchOperation::Put) {
        Phase::Each { warm, span, at_least: read }
    } else {
        Phase::All
    };
    let driven = load(Method::PUT, puts, phase).drive(target).await?;
    found.extend(driven.measured);
    if asked(BenchOperation::Get) {
        let gets = Arc::new(signer.objects(&Method::GET, &content, read).await?);
        // Once before they are measured: a server that writes past the page cache would else be
        // the only one that is measured reading from the disk.
        load(Method::GET, gets.clone(), Phase::All).drive(target).await?;
        let driven = load(Method::GET, gets, Phase::Any { warm, span }).drive(target).await?;
        found.extend(driven.measured);
    }
    if !arguments.keep {
        let deletes = signer.objects(&Method::DELETE, &content, driven.begun).await?;
        load(Method::DELETE, Arc::new(deletes), Phase::All).drive(target).await?;
    }
    Ok(found)
}

/// How many objects are made ready for a measurement this long.
fn objects(bytes: usize, time: Duration, at_least: usize) -> usize {
    let by_rate = (PUT_RATE_MAX * time.as_secs_f64()) as usize;
    let most = (PUT_BYTES_MAX / bytes.max(1)).min(Content::OBJECTS_MAX);
    by_rate.min(most).max(at_least)
}

fn head() -> String {
    format!(
        "{:>4} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6} {:>8}",
        "op",
        "bytes",
        "clients",
        "MiB/s",
        "req/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "bench",
        "server",
        "compared"
    )
}

fn row(measured: &Measured) -> String {
    let cpus = |cpus: Option<f64>| cpus.map_or_else(|| "-".into(), |cpus| format!("{cpus:.2}"));
    format!(
        "{:>4} {:>9} {:>8} {:>9.1} {:>9.0} {:>9.3} {:>9.3} {:>9.3} {:>6} {:>6} {:>8}",
        measured.operation,
        measured.bytes,
        measured.clients,
        measured.mib_per_s,
        measured.requests_per_s,
        measured.mean_ms,
        measured.p50_ms,
        measured.p99_ms,
        cpus(measured.loader_cpus),
        cpus(measured.server_cpus),
        measured.compared,
    )
}

#[cfg(test)]
mod tests;
