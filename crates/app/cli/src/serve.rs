use crate::{
    args::Serve,
    assembly::{ADMIN_FILE, Assembly, CATALOG_FILE, DataFolder, assemble},
    check::check_of,
    config::{Config, LogFormat},
    credentials::{self, Origin},
    descriptors,
    ports::Ports,
    readiness,
    reload::Reload,
    scrub,
    watch::Telemetry,
};
use anyhow::{Context as _, Result};
use ripstop_listen::{Pressure, Tls};
use ripstop_recording::{Recorder, RecorderSettings};
use ripstop_runtime::Memory;
use ripstop_telemetry::{Admin, TaskLogFile, init_logs, serve_admin};
use std::{
    io::IsTerminal as _,
    net::SocketAddr,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{signal::unix, signal::unix::SignalKind};
use tokio_util::sync::CancellationToken;

/// How long the process may take to end once requests have had their time to.
const END_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(config: Config, options: &Serve) -> Result<ExitCode> {
    let text = config.log.map_or(std::io::stderr().is_terminal(), |log| log == LogFormat::Text);
    let format =
        if text { ripstop_telemetry::LogFormat::Text } else { ripstop_telemetry::LogFormat::Json };
    init_logs(format, &config.log_filter)?;
    let connections_max = descriptors::connections_max(&config, descriptors::raise_limit())?;
    let _folder = DataFolder::create(&config)?;
    let is_new = !config.data.join(CATALOG_FILE).exists();
    let (keys, origin) = credentials::load(&config.credentials)?;
    let ports = Ports::open(&config).await?;
    let recorder = options.record.as_deref().map(|path| record(path, options)).transpose()?;
    let telemetry = Telemetry::new(recorder.clone());
    let begun = begin(&config, &telemetry, options, is_new).await;
    if let (Err(_), Some(recording)) = (&begun, &options.record) {
        // It would stand in the way of the next start.
        std::fs::remove_file(recording)?;
    }
    let (assembly, _task_logs) = begun?;
    let (listen, admin) = (ports.listen, ports.admin.clone());
    std::fs::write(config.data.join(ADMIN_FILE), admin.to_string())?;
    greet(&config, listen, &origin);
    tracing::info!(%listen, %admin, data = %config.data.display(), "ripstop serves");
    let stop = stop_signal(config.stop_within)?;
    let reload =
        Reload::begin(options.common.clone(), &config, keys, &assembly, telemetry.metrics.clone())?;
    reload.renew_with(ports.tls(), ports.admin_tls());
    reload_on_hangup(reload.clone())?;
    let store = assembly.store.clone();
    let desk = Admin {
        metrics: telemetry.metrics.clone(),
        readiness: readiness::all(vec![
            readiness::catalog(assembly.catalog.health()),
            readiness::lineage(store.clone()),
        ]),
        check: check_of(&assembly),
        reload: Some(reload_of(reload.clone())),
        catalog: Some(assembly.catalog.clone()),
        keys: Some(keys_of(reload.clone())),
    };
    let scrubbing = scrub::spawn(assembly.catalog.clone(), config.catalog_scrub_every);
    let admin_served =
        tokio::spawn(serve_admin(ports.admin_listener, desk, ports.admin_settings, stop.clone()));
    let settings = s3_settings(&config, connections_max, ports.tls, &assembly.memory);
    let stopping = stop.clone();
    let stopped = async {
        stopping.cancelled().await;
        Instant::now()
    };
    let (keyring, observer) = (reload.keyring(), Arc::new(telemetry));
    let served = ripstop_s3::serve(ports.listener, store, keyring, settings, observer, stop);
    let ((), stopped) = tokio::join!(served, stopped);
    admin_served.await?;
    scrubbing.abort();
    assembly.settle(config.stop_within.saturating_sub(stopped.elapsed())).await;
    if let Some(recorder) = recorder {
        recorder.finish();
    }
    tracing::info!("ripstop stopped");
    Ok(ExitCode::SUCCESS)
}

fn s3_settings(
    config: &Config,
    connections_max: usize,
    tls: Option<Tls>,
    memory: &Memory,
) -> ripstop_s3::Settings {
    let (writes, reads) = (memory.clone(), memory.clone());
    ripstop_s3::Settings {
        region: config.region.clone(),
        signature_v2: config.signature_v2,
        domain: config.domain.clone(),
        connections_max,
        connections_per_address_max: config.connections_per_address_max,
        trusted_proxies: config.trusted_proxies.clone(),
        tls,
        unsigned_payload_needs_tls: config.unsigned_payload_needs_tls,
        drain_timeout: config.stop_within,
        write_pressure: Pressure::new(move || writes.write_pressure()),
        read_pressure: Pressure::new(move || reads.read_pressure()),
        documents_memory_max: config.face_memory(),
        pages_memory_max: config.face_memory(),
        extents_memory_max: config.face_memory(),
        ..ripstop_s3::Settings::default()
    }
}

/// Puts together what serves, and what watches it.
async fn begin(
    config: &Config,
    telemetry: &Telemetry,
    options: &Serve,
    is_new: bool,
) -> Result<(Assembly, Vec<TaskLogFile>)> {
    let assembly = assemble(config, telemetry).await?;
    if let Err(refusal) = admit(&assembly, is_new).await {
        let key_is_new = assembly.key_is_new;
        drop(assembly);
        if is_new {
            std::fs::remove_file(config.data.join(CATALOG_FILE))?;
            // Nothing was sealed with it.
            if key_is_new {
                std::fs::remove_file(config.key_file())?;
            }
        }
        return Err(refusal);
    }
    telemetry.attach(&assembly, config.strip_memory());
    let task_logs = telemetry.append_task_logs(config, options.task_log.as_deref())?;
    Ok((assembly, task_logs))
}

/// Refuses nodes that are not this store's.
async fn admit(assembly: &Assembly, is_new: bool) -> Result<()> {
    if is_new {
        assembly.refuse_orphans().await?;
    }
    assembly.admit_nodes().await
}

fn record(path: &Path, options: &Serve) -> Result<Arc<Recorder>> {
    let settings =
        RecorderSettings { file_max: options.record_max.0, ..RecorderSettings::default() };
    let recorder = Recorder::create(path, settings);
    let recorder = recorder.with_context(|| format!("recording {}", path.display()))?;
    Ok(Arc::new(recorder))
}

/// Fires on SIGINT or SIGTERM. A second one ends the program at once, and so does the time when all
/// should have ended `within`: what a disk that hangs still holds would otherwise keep the process.
fn stop_signal(within: Duration) -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) =
        (unix::signal(SignalKind::interrupt())?, unix::signal(SignalKind::terminate())?);
    let fired = stop.clone();
    tokio::spawn(async move {
        for again in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if again {
                std::process::exit(130);
            }
            tracing::info!("stopping: requests that run may finish");
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
    let started = std::thread::Builder::new().name("end".into()).spawn(end);
    if let Err(error) = started {
        tracing::warn!(%error, "nothing ends the process if a disk hangs");
    }
}

/// What the admin port calls to have configuration and credentials read anew.
fn reload_of(reload: Arc<Reload>) -> ripstop_telemetry::Reload {
    Arc::new(move || {
        let reload = reload.clone();
        Box::pin(async move { reload.reload().map_err(|error| format!("{error:#}")) })
    })
}

/// What the admin port calls to show who may come in.
fn keys_of(reload: Arc<Reload>) -> ripstop_telemetry::Keys {
    Arc::new(move |after, max| {
        let credentials = reload.keyring().credentials();
        let name = |tenant| reload.tenant_name(tenant);
        ripstop_telemetry::keys_of(&credentials, &name, after, max)
    })
}

/// Reads configuration and credentials anew at every SIGHUP.
fn reload_on_hangup(reload: Arc<Reload>) -> Result<()> {
    let mut hangup = unix::signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match reload.reload() {
                Ok(done) => tracing::info!("reloaded: {done}"),
                Err(error) => tracing::error!("not reloaded: {error:#}"),
            }
        }
    });
    Ok(())
}

/// Shows new credentials once, with settings to paste: on a terminal. What is written elsewhere stays in some log,
/// so that the secret is not.
#[expect(clippy::print_stdout, reason = "shown to whoever starts it for the first time")]
fn greet(config: &Config, listen: SocketAddr, origin: &Origin) {
    let Origin::New { access_key, secret_key } = origin else { return };
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
