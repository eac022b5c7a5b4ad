//! `ripstop serve`: a gateway that goes by this process's signals.

use crate::common::Common;
use anyhow::Result;
use clap::Args;
use ripstop_assembly::{CredentialsOrigin, Gateway, Signals, Start, config::Size, log_as};
use ripstop_planner::Replanner;
use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

/// How long the process may take to end once requests have had their time to.
const END_WITHIN: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub common: Common,
    /// Append the tasks of all pools whose configuration names no `task_log` to this file, in the
    /// format that `ripstop fit` reads. At 64 MiB it is renamed to FILE.1 and a new one is begun.
    #[arg(long, value_name = "FILE")]
    pub task_log: Option<PathBuf>,
    /// Record decisions, and what they depend on, in this file, which must not exist yet, for
    /// `ripstop replay`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Size limit of that file: what follows is not recorded.
    #[arg(long, value_name = "SIZE", default_value = "4 GiB", requires = "record")]
    pub record_max: Size,
}

pub(crate) async fn run(options: &Serve) -> Result<ExitCode> {
    let config = options.common.resolve()?;
    config.fits_machine()?;
    log_as(&config)?;
    let stop_within = config.stop_within;
    let common = options.common.clone();
    let start = Start {
        reread: Arc::new(move || common.resolve()),
        planning: Replanner::start,
        task_log: options.task_log.clone(),
        record: options.record.clone().map(|file| (file, options.record_max.0)),
    };
    // Before anything shows that it runs: whoever sees that may signal it.
    let signals = Signals { stop: stop_signal(stop_within)?, reload: reload_signal()? };
    let gateway = tokio::select! {
        biased;
        () = signals.stop.cancelled() => return Ok(ExitCode::SUCCESS),
        gateway = Gateway::open(config, start) => gateway?,
    };
    greet(&gateway);
    Box::pin(gateway.serve(signals)).await?;
    Ok(ExitCode::SUCCESS)
}

/// Fires on SIGINT or SIGTERM. A second one ends the program at once, and so does the time when all
/// should have ended `within`: what a disk that hangs still holds would otherwise keep the process.
fn stop_signal(within: Duration) -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let fired = stop.clone();
    ripstop_host::spawn(async move {
        for again in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if again {
                std::process::exit(130);
            }
            tracing::info!("stopping: running requests may finish");
            fired.cancel();
            end_after(within.saturating_add(END_WITHIN));
        }
    });
    Ok(stop)
}

/// Ends the process after a while, if it has not ended by itself.
fn end_after(wait: Duration) {
    let end = move || {
        std::thread::sleep(wait);
        tracing::error!("not all ended within {} s: a disk hangs", wait.as_secs());
        std::process::exit(1);
    };
    let started = ripstop_host::thread("end", end);
    if let Err(error) = started {
        tracing::warn!(%error, "nothing will end the process if a disk hangs");
    }
}

/// Told at every SIGHUP.
fn reload_signal() -> Result<Arc<Notify>> {
    let (mut hangup, told) = (signal(SignalKind::hangup())?, Arc::new(Notify::new()));
    let reload = told.clone();
    ripstop_host::spawn(async move {
        while hangup.recv().await.is_some() {
            told.notify_one();
        }
    });
    Ok(reload)
}

/// Shows new credentials once, with settings to paste: on a terminal. What is written elsewhere
/// stays in some log, so that the secret is not.
#[expect(clippy::print_stdout, reason = "shown to the person who starts it for the first time")]
fn greet(gateway: &Gateway) {
    let CredentialsOrigin::New { access_key, secret_key } = gateway.origin() else { return };
    let (config, listen) = (gateway.config(), gateway.listen());
    let (file, region) = (config.credentials.display(), &config.region);
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    if !std::io::stdout().is_terminal() {
        println!(
            "New credentials are in {file}; S3 is served on {scheme}://{listen}, region {region}."
        );
        return;
    }
    println!("New credentials, shown this once and kept in {file}:");
    println!();
    println!("export AWS_ACCESS_KEY_ID={access_key}");
    println!("export AWS_SECRET_ACCESS_KEY={}", **secret_key);
    println!("export AWS_DEFAULT_REGION={region}");
    println!("export AWS_ENDPOINT_URL={scheme}://{listen}");
    println!();
    println!("aws s3 mb s3://first && aws s3 cp README.md s3://first/ && aws s3 ls s3://first/");
    println!();
}
