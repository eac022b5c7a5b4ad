//! `ripstop-lab gateway`: GET and PUT over loopback against a gateway on memory nodes, in one
//! process.

mod served;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use ripstop_client::{Client, Url, noise};
use ripstop_model::Code;
use served::{Served, Totals};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// Keys that the clients of one measurement share: enough that they do not meet.
const KEYS: usize = 128;

/// What one measurement found.
struct Measured {
    requests: u64,
    elapsed: Duration,
    latency: Histogram<u64>,
    totals: Totals,
}

/// Drives GET and PUT over loopback against a pool of memory nodes, and says where the time goes.
#[derive(Args, Debug)]
pub(crate) struct Gateway {
    /// Object sizes, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [4 << 10, 1 << 20, 8 << 20])]
    pub sizes: Vec<usize>,
    /// How many clients run at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    pub clients: Vec<usize>,
    /// Operations to measure.
    #[arg(long, value_delimiter = ',', default_values_t = [Operation::Put, Operation::Get])]
    pub operations: Vec<Operation>,
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
    /// Pack objects below this size, such as `64 KiB`; 0 stores each by itself.
    #[arg(long)]
    pub pack_below: Option<String>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Put,
    Get,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Put => "put",
            Self::Get => "get",
        })
    }
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Gateway) -> Result<ExitCode> {
    ensure!(arguments.code.len() == 2, "--code takes N,K");
    ensure!(arguments.seconds > 0.0, "--seconds must be more than 0");
    let code = Code::new(arguments.code[0], arguments.code[1])?;
    let delay = arguments.delay.as_deref();
    println!(
        "code {code} over memory nodes{}{}, client and gateway in one process, {} cores",
        if arguments.encrypt { ", encrypted" } else { "" },
        delay.map(|delay| format!(" as slow as {delay}")).unwrap_or_default(),
        std::thread::available_parallelism()?
    );
    println!(
        "time of a request in %: codec | seals of fragments | MD5 and checksums | catalog | nodes"
    );
    println!(
        "{:>12} {:>4} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}  {:>5} {:>5} {:>5} {:>5} {:>5}",
        "policy",
        "op",
        "bytes",
        "clients",
        "MB/s",
        "req/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "codec",
        "seal",
        "hash",
        "cat",
        "nodes"
    );
    for &bytes in &arguments.sizes {
        for &clients in &arguments.clients {
            for policy in &arguments.policies {
                // A gateway of its own for each row: none pays for the garbage of another.
                let (encrypt, pack_below) = (arguments.encrypt, arguments.pack_below.as_deref());
                let pool = served::Pool { code, policy, delay, encrypt, pack_below };
                let gateway = Served::start(pool).await?;
                for &operation in &arguments.operations {
                    let seconds = Duration::from_secs_f64(arguments.seconds);
                    let measured = measure(&gateway, operation, bytes, clients, seconds).await?;
                    println!("{policy:>12} {}", row(operation, bytes, clients, &measured));
                }
                gateway.stop().await;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(
    gateway: &Served,
    operation: Operation,
    bytes: usize,
    clients: usize,
    span: Duration,
) -> Result<Measured> {
    let keys = KEYS.min((256 << 20) / bytes.max(1)).max(clients);
    let (puts, gets) = gateway.urls(keys).await?;
    let body = bytes::Bytes::from(noise(bytes));
    let mut filler = Client::connect(gateway.address).await?;
    for url in &puts {
        filler.put(url, body.clone()).await?;
    }
    let before = gateway.totals();
    let (start, end) = (Instant::now(), Instant::now() + span);
    let workers: Vec<_> = (0..clients)
        .map(|at| {
            let urls: Vec<Url> = match operation {
                Operation::Put => &puts,
                Operation::Get => &gets,
            }
            .iter()
            .skip(at)
            .step_by(clients)
            .cloned()
            .collect();
            let (address, body) = (gateway.address, body.clone());
            tokio::spawn(async move { drive(address, operation, &urls, &body, end).await })
        })
        .collect();
    let mut latency = Histogram::new(3)?;
    for worker in workers {
        latency.add(worker.await??)?;
    }
    let elapsed = start.elapsed();
    let totals = gateway.totals().since(&before);
    Ok(Measured { requests: latency.len(), elapsed, latency, totals })
}

async fn drive(
    address: std::net::SocketAddr,
    operation: Operation,
    urls: &[Url],
    body: &bytes::Bytes,
    end: Instant,
) -> Result<Histogram<u64>> {
    let mut client = Client::connect(address).await?;
    let mut latency = Histogram::new(3)?;
    for url in urls.iter().cycle() {
        let start = Instant::now();
        if start >= end {
            break;
        }
        match operation {
            Operation::Put => client.put(url, body.clone()).await?,
            Operation::Get => {
                let got = client.get(url).await?;
                ensure!(got == body.len() as u64, "{got} bytes came");
            }
        }
        latency.record(start.elapsed().as_micros() as u64)?;
    }
    Ok(latency)
}

fn row(operation: Operation, bytes: usize, clients: usize, measured: &Measured) -> String {
    let seconds = measured.elapsed.as_secs_f64();
    let rate = measured.requests as f64 / seconds;
    let whole = measured.latency.mean() * 1000.0 * measured.requests as f64;
    let share = |nanos: u64| 100.0 * nanos as f64 / whole.max(1.0);
    let ms = |quantile| measured.latency.value_at_quantile(quantile) as f64 / 1000.0;
    let totals = &measured.totals;
    format!(
        "{operation:>4} {bytes:>9} {clients:>8} {:>9.0} {rate:>9.0} {:>9.3} {:>9.3} {:>9.3}  {:>5.1} \
         {:>5.1} {:>5.1} {:>5.1} {:>5.1}",
        rate * bytes as f64 / 1e6,
        measured.latency.mean() / 1000.0,
        ms(0.5),
        ms(0.99),
        share(totals.codec),
        share(totals.verify),
        share(totals.hashing),
        share(totals.catalog),
        share(totals.nodes),
    )
}
