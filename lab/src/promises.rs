//! `ripstop-lab promises`: tenants on one slow node through the S3 port, one of which floods, with
//! the shaper and without.

use crate::load::{Answers, Sender, Server};
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use ripstop_delay::{Preset, StorageOperation};
use ripstop_figure::{Cell, Progress, Table, percentile};
use std::{fmt::Write as _, fs, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

/// Objects that are read: enough that no two requests of a moment want the same.
const OBJECTS: usize = 64;
const LANES: f64 = 8.0;
const PRESET: Preset = Preset::S3In2025;
/// Lanes that are kept free for each tenant.
const GRANTED: f64 = 2.0;
/// What a tenant that keeps to it asks for, of what it was granted.
const CONFORMING: f64 = 0.6;

/// Who sends; the last one floods.
const TENANTS: [&str; 3] = ["alpha", "beta", "flood"];

#[derive(Args, Debug)]
pub(crate) struct Promises {
    /// How long requests arrive, in seconds: with the shaper, and for as long without.
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// Bytes of an object.
    #[arg(long, default_value_t = 64 << 10)]
    pub size: u32,
    /// 95 % of a tenant's requests are promised to be within this many milliseconds.
    #[arg(long, default_value_t = 200)]
    pub bound_ms: u64,
    /// One tenant asks for this many times what it was promised.
    #[arg(long, default_value_t = 10.0)]
    pub flood: f64,
    /// How tenants' requests share the lanes: pclock, fair, split, miser or fifo.
    #[arg(long, default_value = "pclock")]
    pub recombination: String,
    /// Seed of the arrivals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write promises.csv into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What came of one tenant's requests.
struct Found {
    shaped: bool,
    tenant: &'static str,
    rate: f64,
    sent: usize,
    refused: usize,
    failed: usize,
    /// Of those that were answered, ascending, seconds.
    took: Vec<f64>,
}

impl Found {
    fn quantile_ms(&self, share: f64) -> f64 {
        percentile(&self.took, share * 100.0).map_or(f64::NAN, |took| took * 1000.0)
    }

    /// Of all requests, those that were answered within the bound.
    fn within(&self, bound: Duration) -> f64 {
        let within = self.took.partition_point(|took| *took <= bound.as_secs_f64());
        within as f64 / self.sent.max(1) as f64
    }
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Promises) -> Result<ExitCode> {
    ensure!((1.0..3600.0).contains(&arguments.seconds), "--seconds must be from 1 to 3600");
    ensure!((1024..=8 << 20).contains(&arguments.size), "--size must be from 1 KiB to 8 MiB");
    ensure!((1.0..100.0).contains(&arguments.flood), "--flood must be from 1 to 100");
    let bound = Duration::from_millis(arguments.bound_ms);
    let mean_s = mean_s(arguments.size);
    println!(
        "{LANES} lanes to a node in memory that is as slow as S3 ({}: {:.1} ms on average for {} KiB); each of \
         {} tenants is promised 95 % within {} ms by {GRANTED} lanes, two ask for {CONFORMING} of that, one \
         for {} times as much",
        PRESET.name(),
        mean_s * 1000.0,
        arguments.size >> 10,
        TENANTS.len(),
        arguments.bound_ms,
        arguments.flood,
    );
    let rates = TENANTS.map(|tenant| {
        let factor = if tenant == "flood" { arguments.flood } else { CONFORMING };
        factor * GRANTED / mean_s
    });
    let total = rates.iter().sum::<f64>() * arguments.seconds * 2.0;
    let progress = Arc::new(Progress::new(total as u64, "requests"));
    let mut found = Vec::new();
    for shaped in [false, true] {
        let server = Server::start(&TENANTS, &configuration(arguments, shaped)).await?;
        server.fill(OBJECTS, arguments.size as usize).await?;
        found.extend(play(arguments, shaped, &server, rates, &progress).await?);
        server.stop().await?;
    }
    drop(progress);
    let table = table(&found, bound);
    println!("\n{}", text(&found, bound));
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).with_context(|| format!("folder {}", folder.display()))?;
        table.write(folder.join("promises.csv"))?;
    }
    let kept = |found: &&Found| found.within(bound) >= 0.95;
    let others = |shaped| found.iter().filter(move |f| f.shaped == shaped && f.tenant != "flood");
    let holds = others(true).all(|found| kept(&found));
    let breaks = !others(false).any(|found| kept(&found));
    let answer = |yes| if yes { "yes" } else { "NO" };
    println!("with the shaper both others have what they were promised: {}", answer(holds));
    println!("without it neither has: {}", answer(breaks));
    Ok(if holds && breaks { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// One slow node, and the tenants if there is to be a shaper.
fn configuration(arguments: &Promises, shaped: bool) -> String {
    let mut text = format!(
        "[[pool]]\nname = \"slow\"\nlayout = \"shared\"\nrecombination = \"{}\"\n\
         [[node]]\nname = \"s3\"\nkind = \"memory\"\nlanes = {LANES}\ndelay = \"{}\"\nseed = {}\n",
        arguments.recombination,
        PRESET.name(),
        arguments.seed,
    );
    for tenant in TENANTS.iter().filter(|_| shaped) {
        let bound = arguments.bound_ms;
        write!(
            text,
            "[[tenant]]\nname = \"{tenant}\"\naccess_keys = [\"{tenant}\"]\n\
             promise = \"0.95:{bound}ms,1:{}ms\"\ncapacity = {GRANTED:.1}\n",
            10 * bound
        )
        .expect("a string takes all that is written to it");
    }
    text
}

/// Mean time of one fetch of a whole object.
fn mean_s(size: u32) -> f64 {
    PRESET.model().mean_ms(StorageOperation::Get, u64::from(size)) / 1000.0
}

/// Has every tenant send at its rate, all at the same time.
async fn play(
    arguments: &Promises,
    shaped: bool,
    server: &Server,
    rates: [f64; TENANTS.len()],
    progress: &Arc<Progress>,
) -> Result<Vec<Found>> {
    let mut senders = Vec::new();
    for (index, (tenant, rate)) in TENANTS.into_iter().zip(rates).enumerate() {
        let urls = server.urls(tenant, OBJECTS).await?;
        let seed = arguments.seed * 100 + index as u64;
        let sender = Sender { address: server.address, urls, len: arguments.size.into() };
        let span = Duration::from_secs_f64(arguments.seconds);
        senders.push((tenant, rate, tokio::spawn(sender.send(rate, span, seed, progress.clone()))));
    }
    let mut found = Vec::new();
    for (tenant, rate, sender) in senders {
        let Answers { sent, refused, failed, done, .. } = sender.await??;
        let mut took: Vec<f64> = done.into_iter().map(|(_, took)| took).collect();
        took.sort_by(f64::total_cmp);
        found.push(Found { shaped, tenant, rate, sent, refused, failed, took });
    }
    Ok(found)
}

fn text(found: &[Found], bound: Duration) -> String {
    let mut text = format!(
        "{:<8} {:<6} {:>10} {:>8} {:>8} {:>7} {:>9} {:>9} {:>9} {:>8}\n",
        "shaper",
        "tenant",
        "offered/s",
        "answered",
        "refused",
        "failed",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "within"
    );
    for found in found {
        let row = format!(
            "{:<8} {:<6} {:>10.1} {:>8} {:>8} {:>7} {:>9.1} {:>9.1} {:>9.1} {:>7.2}%\n",
            if found.shaped { "yes" } else { "no" },
            found.tenant,
            found.rate,
            found.took.len(),
            found.refused,
            found.failed,
            found.quantile_ms(0.5),
            found.quantile_ms(0.95),
            found.quantile_ms(0.99),
            found.within(bound) * 100.0,
        );
        text.push_str(&row);
    }
    text
}

fn table(found: &[Found], bound: Duration) -> Table {
    let mut table = Table::new([
        "shaper",
        "tenant",
        "offered_per_s",
        "sent",
        "answered",
        "refused",
        "failed",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "within_share",
    ]);
    for found in found {
        table.push([
            Cell::from(if found.shaped { "yes" } else { "no" }),
            found.tenant.into(),
            found.rate.into(),
            (found.sent as f64).into(),
            (found.took.len() as f64).into(),
            (found.refused as f64).into(),
            (found.failed as f64).into(),
            found.quantile_ms(0.5).into(),
            found.quantile_ms(0.95).into(),
            found.quantile_ms(0.99).into(),
            found.within(bound).into(),
        ]);
    }
    table
}
