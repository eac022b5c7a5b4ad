//! A gateway, from its configuration to its end.

use crate::{
    assembly::{Assembly, assemble_over},
    check::check_of,
    config::{AdminAddress, Config, KV_TIER, LogFormatName},
    credentials::{self, CredentialsOrigin},
    data_folder::{ADMIN_FILE, CATALOG_FILE, DataFolder},
    descriptors,
    fleet::{self, Beating, fleet_of},
    giving::giving,
    inventory::InventoryMaker,
    kms,
    kv::KvPort,
    opened_catalog::OpenedCatalog,
    planning::StartPlanning,
    ports::Ports,
    readiness,
    reload::{Reload, Reread},
    scrub,
    telemetry::{Telemetry, append_task_logs},
    tiers,
    users::UserCommand,
    watch::VERSION,
    webhook,
};
use anyhow::{Context as _, Result};
use ripstop_identity::Credentials;
use ripstop_listen::{Pressure, Tls};
use ripstop_recording::{Recorder, RecorderSettings};
use ripstop_roster::TaskLogFile;
use ripstop_s3::{EncryptionSettings, Inventories, Webhooks};
use ripstop_telemetry::{Admin, NamedTier, init_logs, serve_admin};
use std::{
    fmt, fs,
    io::IsTerminal as _,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What a gateway is begun with, beside its configuration.
#[derive(Clone)]
pub struct Start {
    /// Reads the configuration again when a reload is asked for.
    pub reread: Reread,
    /// Plans the pools that are to plan themselves.
    pub planning: StartPlanning,
    /// Where the tasks of pools are appended whose configuration names no file.
    pub task_log: Option<PathBuf>,
    /// A new file for what decides and what was decided, and the most bytes of it.
    pub record: Option<(PathBuf, u64)>,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task_log, record, .. } = self;
        let mut told = f.debug_struct("Start");
        told.field("task_log", task_log).field("record", record).finish_non_exhaustive()
    }
}

/// What comes from outside while a gateway serves.
#[derive(Clone, Debug)]
pub struct Signals {
    /// Has it stop: requests that run may finish.
    pub stop: CancellationToken,
    /// Has it read configuration and credentials again.
    pub reload: Arc<Notify>,
}

/// A gateway whose ports are bound and whose store is put together: all that can fail has not.
pub struct Gateway {
    config: Config,
    start: Start,
    connections_max: usize,
    keys: Credentials,
    origin: CredentialsOrigin,
    ports: Ports,
    recorder: Option<Arc<Recorder>>,
    telemetry: Telemetry,
    assembly: Assembly,
    task_logs: Vec<TaskLogFile>,
    folder: DataFolder,
    started: Instant,
    webhooks: Webhooks,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("listen", &self.ports.listen).finish_non_exhaustive()
    }
}

/// Has what is traced go to the standard error output, as the configuration says.
pub fn log_as(config: &Config) -> Result<()> {
    let text = config.log.map_or(std::io::stderr().is_terminal(), |log| log == LogFormatName::Text);
    let format =
        if text { ripstop_telemetry::LogFormat::Text } else { ripstop_telemetry::LogFormat::Json };
    Ok(init_logs(format, &config.log_filter)?)
}

/// Serves until it is told to stop.
pub async fn serve(config: Config, start: Start, signals: Signals) -> Result<()> {
    let gateway = Gateway::open(config, start).await?;
    Box::pin(gateway.serve(signals)).await
}

impl Gateway {
    /// Takes the data folder and the ports, and puts the store together.
    pub async fn open(config: Config, start: Start) -> Result<Self> {
        let started = ripstop_host::now();
        let connections_max = descriptors::connections_max(&config, descriptors::raise_limit())?;
        let folder = DataFolder::create(&config)?;
        let is_new = !config.data.join(CATALOG_FILE).exists();
        let (keys, origin) = credentials::load(&config.credentials)?;
        let ports = Ports::open(&config).await?;
        let webhooks = webhook::begin(&config)?;
        let recorder = start.record.as_ref().map(record).transpose()?;
        let telemetry = Telemetry::new(config.metrics, recorder.clone());
        telemetry.watch_webhooks(&webhooks);
        let begun = begin(&config, &telemetry, &start, is_new).await;
        if let (Err(_), Some((recording, _))) = (&begun, &start.record) {
            // It would stand in the way of the next start.
            fs::remove_file(recording)?;
        }
        let (assembly, task_logs) = begun?;
        fs::write(config.data.join(ADMIN_FILE), ports.admin.to_string())?;
        Ok(Self {
            config,
            start,
            connections_max,
            keys,
            origin,
            ports,
            recorder,
            telemetry,
            assembly,
            task_logs,
            folder,
            started,
            webhooks,
        })
    }

    /// Where S3 is served.
    pub fn listen(&self) -> SocketAddr {
        self.ports.listen
    }

    /// Where the admin port is.
    pub fn admin(&self) -> &AdminAddress {
        &self.ports.admin
    }

    /// What was configured.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where the credentials came from.
    pub fn origin(&self) -> &CredentialsOrigin {
        &self.origin
    }

    /// Serves until it is told to stop, and what was answered then is stored.
    pub async fn serve(self, signals: Signals) -> Result<()> {
        let Self { config, start, ports, recorder, telemetry, assembly, .. } = self;
        let (_folder, _task_logs) = (self.folder, self.task_logs);
        let (listen, admin) = (ports.listen, &ports.admin);
        if let Some(kv) = &ports.kv {
            tracing::info!(listen = %kv.at, "memcached is spoken");
        }
        tracing::info!(%listen, %admin, data = %config.data.display(), "ripstop serves");
        let seams = (start.reread, start.planning);
        let metrics = telemetry.metrics.clone();
        let fleet = fleet_of(&config, &assembly, listen)?;
        let reload = Reload::begin(seams, &config, self.keys, &assembly, fleet.clone(), metrics)?;
        fleet::begin(&fleet, assembly.catalog.is_shared()).await?;
        let beating = Beating::begin(&fleet);
        reload.renew_with(ports.all_tls());
        reload.admit_with(ports.kv.as_ref().and_then(|kv| kv.settings.users.clone()));
        let reloading = ripstop_host::spawn(reload_when_told(reload.clone(), signals.reload));
        let users = ripstop_host::spawn(take_users(reload.clone()));
        let tiers = named_tiers(&assembly, ports.kv.as_ref(), &telemetry);
        let desk = Admin {
            gateways: Some(fleet::shown(&fleet, &assembly.store)),
            ..desk(&assembly, &telemetry, &reload, self.started, tiers)
        };
        let scrubbing = scrub::spawn(assembly.catalog.embedded(), config.catalog_scrub_every);
        let stop = signals.stop;
        let admin = serve_admin(ports.admin_listener, desk, ports.admin_settings, stop.clone());
        let admin_served = ripstop_host::spawn(admin);
        let kv = ports.kv.map(|kv| kv.serve(config.stop_within, &telemetry, stop.clone()));
        let webhooks = self.webhooks;
        let of_website = ports.website.as_ref().map_or(0, |_| self.connections_max / 4);
        let connections_max = self.connections_max - of_website;
        let settings = s3_settings(&config, connections_max, ports.tls, &assembly);
        let settings = ripstop_s3::FrontSettings { webhooks, ..settings };
        let inventories = Inventories::new(assembly.store.clone(), settings.clone());
        assembly.keeper.have_reports_made(Arc::new(InventoryMaker(inventories)));
        let stopping = stop.clone();
        let stopped = async {
            stopping.cancelled().await;
            ripstop_host::now()
        };
        let (keyring, observer) = (reload.keyring(), Arc::new(telemetry));
        let store = assembly.store.clone();
        let sites = ports.website.map(|listener| {
            let settings = website_settings(&settings, &config, of_website);
            let (store, keyring) = (store.clone(), keyring.clone());
            let (observer, stop) = (observer.clone(), stop.clone());
            let sites =
                ripstop_s3::serve_website(listener, store, keyring, settings, observer, stop);
            ripstop_host::spawn(sites)
        });
        let served = ripstop_s3::serve(ports.listener, store, keyring, settings, observer, stop);
        let ((), stopped) = tokio::join!(served, stopped);
        if let Some(sites) = sites {
            sites.await?;
        }
        admin_served.await?;
        if let Some(kv) = kv {
            kv.await?;
        }
        beating.end(stopped + config.stop_within).await;
        scrubbing.abort();
        reloading.abort();
        users.abort();
        assembly.settle(config.stop_within.saturating_sub(ripstop_host::since(stopped))).await;
        if let Some(recorder) = recorder {
            recorder.finish();
        }
        tracing::info!("ripstop stopped");
        Ok(())
    }
}

/// Memory tiers by name, that of the door that speaks memcached among them, which are counted from
/// now on.
fn named_tiers(assembly: &Assembly, kv: Option<&KvPort>, telemetry: &Telemetry) -> Vec<NamedTier> {
    let hot = assembly.tiers.iter().map(|tier| (tier.name().to_owned(), tier.memory().clone()));
    let kv = kv.and_then(KvPort::memory).map(|memory| (KV_TIER.to_owned(), memory.clone()));
    let tiers: Vec<NamedTier> = hot.chain(kv).collect();
    if let Some(metrics) = &telemetry.metrics {
        for (name, memory) in &tiers {
            metrics.watch_tier(name, memory.clone());
        }
    }
    tiers
}

/// What the admin port shows and can be told.
fn desk(
    assembly: &Assembly,
    telemetry: &Telemetry,
    reload: &Arc<Reload>,
    started: Instant,
    tiers: Vec<NamedTier>,
) -> Admin {
    let health = assembly.catalog.embedded().map(|catalog| readiness::catalog(catalog.health()));
    let lineage = readiness::lineage(assembly.store.clone());
    let looks = health.into_iter().chain([lineage]).collect();
    Admin {
        version: VERSION,
        started,
        pools: assembly.rosters.clone(),
        store: Some(assembly.store.clone()),
        metrics: telemetry.metrics.clone(),
        readiness: readiness::all(looks),
        check: check_of(assembly),
        reload: Some(reload_of(reload.clone())),
        catalog: assembly.catalog.embedded().cloned(),
        keys: Some(keys_of(reload.clone())),
        users: Some(users_of(reload.clone())),
        give: Some(giving(assembly.store.clone(), reload.clone())),
        tiers,
        gateways: None,
    }
}

/// Reads configuration and credentials again whenever it is told to.
async fn reload_when_told(reload: Arc<Reload>, told: Arc<Notify>) {
    loop {
        told.notified().await;
        match reload.reload() {
            Ok(done) => tracing::info!("reloaded: {done}"),
            Err(error) => tracing::error!("not reloaded: {error:#}"),
        }
    }
}

/// How often the file of users is looked at: a key that is taken away there lets nobody in for
/// longer.
const USERS_LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes users, keys and policies whenever their file is another one.
async fn take_users(reload: Arc<Reload>) {
    let mut seen = None;
    loop {
        let reload = reload.clone();
        let look = move || {
            let stamp = reload.users().stamp();
            if stamp != seen {
                match reload.refresh_users() {
                    Ok(()) => tracing::info!("users, keys and policies are taken as they are now"),
                    Err(error) => tracing::error!("users stay as they were: {error:#}"),
                }
            }
            stamp
        };
        seen = ripstop_host::spawn_blocking(look).await.unwrap_or(seen);
        tokio::time::sleep(USERS_LOOK_EVERY).await;
    }
}

/// What the admin port calls to have users changed.
fn users_of(reload: Arc<Reload>) -> ripstop_telemetry::ChangeUsers {
    Arc::new(move |command| {
        let reload = reload.clone();
        Box::pin(async move {
            let carry_out = move || {
                let command: UserCommand = serde_json::from_slice(&command)
                    .map_err(|_| anyhow::anyhow!("the body is no command about users"))?;
                let told = format!("{command:?}");
                let answer = reload.users().carry_out(command)?;
                reload.refresh_users()?;
                tracing::info!(command = told, "users");
                anyhow::Ok(serde_json::to_string(&answer)?)
            };
            let done = ripstop_host::spawn_blocking(carry_out).await;
            done.map_err(|_| "it broke off".to_owned())?.map_err(|error| format!("{error:#}"))
        })
    })
}

/// Puts together what serves, and what watches it.
async fn begin(
    config: &Config,
    telemetry: &Telemetry,
    start: &Start,
    is_new: bool,
) -> Result<(Assembly, Vec<TaskLogFile>)> {
    let kms_link = kms::link(config)?;
    let catalog = OpenedCatalog::open(config).await?;
    let is_new = if catalog.is_shared() { catalog.is_empty().await? } else { is_new };
    let assembly = assemble_over(config, catalog, telemetry, tiers::begin(config)?).await?;
    if let Err(refusal) = admit(&assembly, is_new).await {
        let (key_is_new, object_keys_are_new) = (assembly.key_is_new, assembly.object_keys_are_new);
        drop(assembly);
        if is_new && config.catalog.is_none() {
            fs::remove_file(config.data.join(CATALOG_FILE))?;
            // Nothing was sealed with it.
            if key_is_new {
                fs::remove_file(config.key_file())?;
            }
            if object_keys_are_new {
                fs::remove_file(config.object_keys_file())?;
            }
        }
        return Err(refusal);
    }
    kms::adopt(&assembly.kms, kms_link, &assembly.object_keys);
    telemetry.attach(&assembly, config.strip_memory());
    let task_logs = append_task_logs(&assembly, config, start.task_log.as_deref())?;
    Ok((assembly, task_logs))
}

/// Refuses nodes that are not this store's.
async fn admit(assembly: &Assembly, is_new: bool) -> Result<()> {
    if is_new {
        assembly.refuse_orphans().await?;
    }
    assembly.admit_nodes().await
}

fn record((path, file_max): &(PathBuf, u64)) -> Result<Arc<Recorder>> {
    let settings = RecorderSettings { file_max: *file_max, ..RecorderSettings::default() };
    let recorder = Recorder::create(path, settings);
    let recorder = recorder.with_context(|| format!("recording {}", path.display()))?;
    Ok(Arc::new(recorder))
}

fn s3_settings(
    config: &Config,
    connections_max: usize,
    tls: Option<Tls>,
    assembly: &Assembly,
) -> ripstop_s3::FrontSettings {
    let (writes, reads) = (assembly.memory.clone(), assembly.memory.clone());
    ripstop_s3::FrontSettings {
        region: config.region.clone(),
        signature_v2: config.signature_v2,
        object_ownership: config.object_ownership,
        domain: config.domain.clone(),
        access_log_every: config.access_log_every,
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
        encryption: EncryptionSettings {
            keys: assembly.object_keys.clone(),
            default: config.encryption.clone(),
        },
        storage_classes: assembly.store.storage_classes().map(str::to_owned).collect(),
        ..ripstop_s3::FrontSettings::default()
    }
}

/// Bytes of lists of where objects' bytes are, for websites.
const WEBSITE_EXTENTS_MEMORY_MAX: usize = 4 << 20;

fn website_settings(
    s3: &ripstop_s3::FrontSettings,
    config: &Config,
    connections_max: usize,
) -> ripstop_s3::FrontSettings {
    ripstop_s3::FrontSettings {
        website_domain: config.website_domain.clone(),
        connections_max: connections_max.max(1),
        extents_memory_max: WEBSITE_EXTENTS_MEMORY_MAX,
        ..s3.clone()
    }
}

/// What the admin port calls to have configuration and credentials read again.
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
