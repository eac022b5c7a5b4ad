use super::{
    address::{AdminAddress, TlsFiles, networks, tls_files},
    bounds::{self, given, within},
    policy,
    raw::{self, Bucket, CatalogCheck, LogFormat, NodeKind, Raw},
    tenant::{self, TenantConfig},
    units::Size,
};
use crate::replan::AutoPlan;
use anyhow::{Context as _, Error, Result, bail, ensure};
use ripstop_experiment::Price;
use ripstop_gateway::{Recombination, Selection, Settings as MachineSettings};
use ripstop_listen::Network;
use ripstop_model::Code;
use ripstop_policy::Settings as PolicySettings;
use ripstop_runtime::Layout;
use ripstop_store::Settings as StoreSettings;
use std::{collections::BTreeSet, fmt, net::SocketAddr, path::PathBuf, time::Duration};

/// Everything that was configured, complete and consistent.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub listen: SocketAddr,
    pub admin: AdminAddress,
    /// Names under which the admin port may be asked, beside addresses.
    pub admin_names: Vec<String>,
    /// The file of the admin port's token.
    pub admin_token: Option<PathBuf>,
    pub admin_tls: Option<TlsFiles>,
    pub tls: Option<TlsFiles>,
    pub unsigned_payload_needs_tls: bool,
    pub data: PathBuf,
    pub credentials: PathBuf,
    pub region: String,
    pub signature_v2: bool,
    pub domain: Option<String>,
    /// Without it: as many as descriptors allow.
    pub connections_max: Option<usize>,
    /// Without it: half of them, and all from this machine.
    pub connections_per_address_max: Option<usize>,
    pub trusted_proxies: Vec<Network>,
    pub stop_within: Duration,
    pub log: Option<LogFormat>,
    pub log_filter: String,
    pub memory_max: usize,
    pub catalog_cache: usize,
    /// Whether opening the catalog verifies its pages.
    pub catalog_check: bool,
    /// How often it is scrubbed; zero: never.
    pub catalog_scrub_every: Duration,
    pub store: StoreSettings,
    pub pools: Vec<PoolConfig>,
    pub tenants: Vec<TenantConfig>,
}

impl Config {
    /// Bytes of memory for strips: all but what the S3 face has for its three purposes.
    pub(crate) fn strip_memory(&self) -> usize {
        self.memory_max - 3 * self.face_memory()
    }

    /// Bytes of memory for each of documents, pages of listings, and lists of objects' pieces.
    pub(crate) fn face_memory(&self) -> usize {
        self.memory_max / 16
    }

    /// Whether this machine has the memory; where that cannot be told, it has.
    pub(crate) fn fits_machine(&self) -> Result<()> {
        let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = known.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib =
            total.and_then(|total| total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map_or(Ok(()), |kib| self.fits_memory(kib << 10))
    }

    pub(super) fn fits_memory(&self, machine: u64) -> Result<()> {
        let wanted = self.memory_max as u64 + self.catalog_cache as u64;
        ensure!(
            wanted <= machine,
            "store.memory_max and store.catalog_cache come to {}: this machine has {}",
            Size(wanted),
            Size(machine)
        );
        Ok(())
    }
}

/// A pool and its nodes.
#[derive(Clone, Debug)]
pub(crate) struct PoolConfig {
    pub name: String,
    pub layout: Layout,
    pub code: Code,
    pub buckets: Vec<String>,
    pub policy: String,
    pub policy_settings: PolicySettings,
    /// Where its task log is appended to.
    pub task_log: Option<PathBuf>,
    pub machine: MachineSettings,
    /// Whose request a free lane takes next, where there are tenants.
    pub recombination: Recombination,
    /// The plan that it follows.
    pub plan: Option<PlanSource>,
    /// How reads choose among the nodes that hold a stripe, unless the plan says so.
    pub selection: Selection,
    pub nodes: Vec<NodeConfig>,
}

impl PoolConfig {
    /// Tasks that its nodes serve at once.
    pub(crate) fn lanes(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.lanes)).sum()
    }

    /// The fewest nodes that it can have.
    fn nodes_least(&self) -> usize {
        match self.layout {
            Layout::Spread => self.code.n(),
            Layout::Shared | Layout::Unique => 1,
        }
    }

    /// The fewest nodes that must be up for it to take a write.
    pub(crate) fn nodes_needed(&self) -> usize {
        match self.layout {
            Layout::Spread => self.code.k() + usize::from(self.machine.answer_extra_min),
            Layout::Shared | Layout::Unique => 1,
        }
    }
}

/// Where a pool's plan comes from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PlanSource {
    /// This file.
    File(PathBuf),
    /// The pool makes it itself.
    Auto(AutoPlan),
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct NodeConfig {
    pub name: String,
    /// Where it is: nodes at one site are lost together.
    pub site: Option<String>,
    pub lanes: u16,
    pub place: Place,
    pub delay: Option<Delay>,
    pub price: Price,
}

/// Where a node keeps its fragments.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A folder; `ours` if it lies in the data folder, and may be made there at the first start.
    Directory {
        path: PathBuf,
        durable: bool,
        ours: bool,
    },
    Bucket(Bucket),
    Memory {
        bytes_max: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path, durable, .. } => {
                let how = if *durable { "durable" } else { "not synced" };
                write!(f, "directory {} ({how})", path.display())
            }
            Self::Bucket(at) => {
                let exposed = ripstop_node::is_exposed(&at.endpoint);
                let how =
                    if exposed { " (no TLS: can be read and changed on its way)" } else { "" };
                write!(f, "bucket {} at {}{how}", at.name, at.endpoint)
            }
            Self::Memory { bytes_max } => write!(f, "memory, at most {} MiB", bytes_max >> 20),
        }
    }
}

/// An injected delay: a preset's name or a recorded log's path.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    pub model: String,
    pub scale: f64,
    pub seed: u64,
}

/// Nodes of the pool that is there when none is configured.
const DEFAULT_NODES: usize = 6;
const DEFAULT_CODE: [usize; 2] = [6, 4];
/// Where all strips are at one node: 12 of them make chunks of 1, 2, 3, 4, 6 or 12.
const DEFAULT_CODE_TOGETHER: [usize; 2] = [24, 12];
const DEFAULT_LANES: u16 = 16;
const SCRUB_EVERY: Duration = Duration::from_hours(24);

pub(super) fn resolve(raw: Raw) -> Result<Config> {
    let Raw { gateway, store, pool, node, tenant } = raw;
    let data = gateway.data.unwrap_or_else(|| "ripstop-data".into());
    let credentials = gateway.credentials.unwrap_or_else(|| data.join("credentials"));
    let memory_max = memory("store.memory_max", store.memory_max, 256 << 20)?;
    let pools = pools(pool, node, &data, memory_max)?;
    let tenants = tenant::resolve(tenant, &pools)?;
    let catalog_cache = memory("store.catalog_cache", store.catalog_cache, 32 << 20)?;
    let connections = gateway.connections_max;
    Ok(Config {
        listen: gateway.listen.unwrap_or_else(|| ([127, 0, 0, 1], 9000).into()),
        admin: gateway
            .admin
            .unwrap_or_else(|| AdminAddress::Network(([127, 0, 0, 1], 9001).into())),
        admin_names: gateway.admin_names,
        admin_token: gateway.admin_token,
        admin_tls: tls_files(
            (gateway.admin_tls_certificate, gateway.admin_tls_key),
            ("gateway.admin_tls_certificate", "gateway.admin_tls_key"),
        )?,
        tls: tls_files(
            (gateway.tls_certificate, gateway.tls_key),
            ("gateway.tls_certificate", "gateway.tls_key"),
        )?,
        unsigned_payload_needs_tls: gateway.unsigned_payload_needs_tls,
        data,
        credentials,
        region: gateway.region.unwrap_or_else(|| "us-east-1".into()),
        signature_v2: gateway.signature_v2.unwrap_or(true),
        domain: gateway.domain,
        connections_max: given("gateway.connections_max", connections, &bounds::CONNECTIONS)?,
        connections_per_address_max: given(
            "gateway.connections_per_address_max",
            gateway.connections_per_address_max,
            &bounds::CONNECTIONS,
        )?,
        trusted_proxies: networks(&gateway.trusted_proxies)?,
        stop_within: bounds::span(
            "gateway.stop_within",
            gateway.stop_within,
            Duration::from_secs(30),
            &bounds::STOP,
        )?,
        log: gateway.log,
        log_filter: gateway.log_filter.unwrap_or_else(|| "info".into()),
        memory_max,
        catalog_cache,
        catalog_check: store.catalog_check.unwrap_or_default() == CatalogCheck::Start,
        catalog_scrub_every: store.catalog_scrub_every.map_or(SCRUB_EVERY, |span| span.0),
        store: store_settings(&store, memory_max, &pools)?,
        pools,
        tenants,
    })
}

fn memory(key: &str, value: Option<Size>, default: usize) -> Result<usize> {
    let bytes = bounds::size(key, value, default as u64, &bounds::MEMORY)?;
    usize::try_from(bytes).with_context(|| format!("{key} is more than this machine can address"))
}

fn store_settings(
    raw: &raw::Store,
    memory_max: usize,
    pools: &[PoolConfig],
) -> Result<StoreSettings> {
    let default = StoreSettings::default();
    let stripe_max = bounds::size(
        "store.stripe_max",
        raw.stripe_max,
        default.stripe_max.into(),
        &bounds::STRIPE,
    )?;
    ensure!(
        memory_max as u64 >= 4 * stripe_max,
        "store.memory_max is {}: it must hold at least four stripes of store.stripe_max ({})",
        Size(memory_max as u64),
        Size(stripe_max)
    );
    for PoolConfig { name, code, .. } in pools {
        let stored = stripe_max * code.n() as u64 / code.k() as u64;
        ensure!(
            memory_max as u64 >= 2 * stored,
            "store.memory_max is {}: half of it must hold a stripe of pool {name:?}, which comes to {} \
             with the parity of its code {code}",
            Size(memory_max as u64),
            Size(stored)
        );
    }
    let stripes = |key, value, default| {
        Ok::<_, Error>(given(key, value, &bounds::STRIPES)?.unwrap_or(default))
    };
    let span = bounds::span;
    Ok(StoreSettings {
        stripe_max: stripe_max as u32,
        stripes_in_flight: stripes(
            "store.stripes_in_flight",
            raw.stripes_in_flight,
            default.stripes_in_flight,
        )?,
        stripes_ahead: stripes("store.stripes_ahead", raw.stripes_ahead, default.stripes_ahead)?,
        memory_wait: span(
            "store.memory_wait",
            raw.memory_wait,
            default.memory_wait,
            &bounds::WAIT,
        )?,
        grace: span("store.grace", raw.grace, default.grace, &bounds::AGE)?,
        sweep_every: span(
            "store.sweep_every",
            raw.sweep_every,
            default.sweep_every,
            &bounds::SWEEP,
        )?,
        list_every: span("store.list_every", raw.list_every, default.list_every, &bounds::LIST)?,
        uploads_expire_after: span(
            "store.uploads_expire_after",
            raw.uploads_expire_after,
            default.uploads_expire_after,
            &bounds::AGE,
        )?,
        move_rate_max: bounds::size(
            "store.move_rate_max",
            raw.move_rate_max,
            default.move_rate_max,
            &bounds::RATE,
        )?,
        home_after: default.home_after,
    })
}

fn pools(
    mut pools: Vec<raw::Pool>,
    nodes: Vec<raw::Node>,
    data: &std::path::Path,
    memory_max: usize,
) -> Result<Vec<PoolConfig>> {
    if pools.is_empty() {
        pools.push(default_pool());
    }
    let first = pools[0].name.clone();
    let remote: BTreeSet<String> = nodes
        .iter()
        .filter(|node| node.kind == NodeKind::Bucket || node.delay.is_some())
        .map(|node| node.pool.as_ref().unwrap_or(&first).clone())
        .collect();
    let mut resolved: Vec<PoolConfig> = Vec::with_capacity(pools.len());
    let mut claimed = BTreeSet::new();
    for raw in pools {
        ensure!(named(&raw.name), "pool.name {:?}: {NAME_RULE}", raw.name);
        ensure!(
            resolved.iter().all(|pool| pool.name != raw.name),
            "pool.name {:?} is there twice",
            raw.name
        );
        for bucket in &raw.buckets {
            ensure!(claimed.insert(bucket.clone()), "bucket {bucket:?} is in two pools");
        }
        let is_remote = remote.contains(&raw.name);
        resolved.push(pool(raw, is_remote, memory_max)?);
    }
    let mut names = BTreeSet::new();
    let configured = !nodes.is_empty();
    for raw in nodes {
        ensure!(named(&raw.name), "node.name {:?}: {NAME_RULE}", raw.name);
        ensure!(names.insert(raw.name.clone()), "node.name {:?} is there twice", raw.name);
        let wanted = raw.pool.as_deref().unwrap_or(&first).to_owned();
        let name = raw.name.clone();
        let pool = resolved.iter_mut().find(|pool| pool.name == wanted);
        let Some(pool) = pool else { bail!("node {name:?}: there is no pool {wanted:?}") };
        pool.nodes.push(node(raw).with_context(|| format!("node {name:?}"))?);
    }
    if !configured && let [only] = &mut resolved[..] {
        let count = only.nodes_least().max(DEFAULT_NODES);
        only.nodes = (1..=count).map(|number| default_node(data, number)).collect();
    }
    for pool in &resolved {
        let (nodes, code, least) = (pool.nodes.len(), pool.code, pool.nodes_least());
        ensure!(
            nodes >= least,
            "pool {:?} has {nodes} nodes, and its code {code} needs {least}: add [[node]] entries or \
             lower pool.code",
            pool.name,
        );
    }
    Ok(resolved)
}

pub(super) const NAME_RULE: &str = "a name is 1 to 64 letters, digits, '-' or '_'";

pub(super) fn named(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

fn default_pool() -> raw::Pool {
    toml::from_str("name = \"default\"").expect("a pool needs no more than a name")
}

fn default_node(data: &std::path::Path, number: usize) -> NodeConfig {
    let path = data.join("nodes").join(format!("d{number}"));
    let place = Place::Directory { path, durable: true, ours: true };
    NodeConfig {
        name: format!("d{number}"),
        site: None,
        lanes: DEFAULT_LANES,
        place,
        delay: None,
        price: Price::default(),
    }
}

fn pool(raw: raw::Pool, is_remote: bool, memory_max: usize) -> Result<PoolConfig> {
    let at = || format!("pool {:?}", raw.name);
    let layout = raw.layout.map_or(Layout::Spread, Layout::from);
    let [n, k] = raw.code.unwrap_or(match layout {
        Layout::Spread => DEFAULT_CODE,
        Layout::Shared | Layout::Unique => DEFAULT_CODE_TOGETHER,
    });
    let code = Code::new(n, k).with_context(|| format!("{}: code", at()))?;
    let machine = machine(&raw, code, memory_max).with_context(at)?;
    machine.validate().with_context(at)?;
    let extra = usize::from(machine.answer_extra);
    ensure!(
        extra <= code.parity(),
        "{}: answer_extra is {extra}, and the code {code} has only {} fragments to spare",
        at(),
        code.parity()
    );
    let strange = [
        ("answer_extra", raw.answer_extra.is_some()),
        ("answer_extra_min", raw.answer_extra_min.is_some()),
    ];
    if let Some((key, _)) = strange.iter().find(|(_, given)| *given && layout == Layout::Shared) {
        bail!("{}: {key} means nothing in the layout shared: a stripe is one fragment there", at());
    }
    ensure!(
        layout == Layout::Spread || raw.plan.is_none() && raw.selection.is_none(),
        "{}: plan and selection are for the layout spread: elsewhere a stripe is at one node",
        at()
    );
    ensure!(
        raw.selection != Some(Selection::LeastWorkPlanned) || raw.plan.is_some(),
        "{}: selection \"least-work-planned\" needs a plan",
        at()
    );
    let plan = plan_source(&raw).with_context(at)?;
    let (policy, policy_settings) =
        policy::resolve(&raw, layout, code, is_remote).with_context(at)?;
    let (buckets, task_log) = (raw.buckets.clone(), raw.task_log.clone());
    Ok(PoolConfig {
        name: raw.name,
        layout,
        code,
        buckets,
        policy,
        policy_settings,
        task_log,
        machine,
        recombination: raw.recombination.unwrap_or_default(),
        plan,
        selection: raw.selection.unwrap_or_default(),
        nodes: Vec::new(),
    })
}

fn plan_source(raw: &raw::Pool) -> Result<Option<PlanSource>> {
    let auto = raw.plan.as_deref().is_some_and(|plan| plan.as_os_str() == "auto");
    let keys = [
        ("plan_every", raw.plan_every.is_some()),
        ("plan_gain", raw.plan_gain.is_some()),
        ("plan_theta", raw.plan_theta.is_some()),
        ("survive_sites", raw.survive_sites.is_some()),
    ];
    if let Some((key, _)) = keys.into_iter().find(|(_, given)| *given && !auto) {
        bail!("{key} is for plan = \"auto\"");
    }
    if !auto {
        return Ok(raw.plan.clone().map(PlanSource::File));
    }
    let every = bounds::span("plan_every", raw.plan_every, Duration::from_mins(1), &bounds::PLAN)?;
    let gain = raw.plan_gain.unwrap_or(0.1);
    ensure!((0.0..1.0).contains(&gain), "plan_gain is {gain}: it must be from 0 to less than 1");
    let seconds_per_dollar = given("plan_theta", raw.plan_theta, &bounds::SECONDS)?.unwrap_or(0.0);
    let survive_sites = given("survive_sites", raw.survive_sites, &bounds::SITES)?.unwrap_or(0);
    Ok(Some(PlanSource::Auto(AutoPlan { every, gain, seconds_per_dollar, survive_sites })))
}

fn machine(raw: &raw::Pool, code: Code, memory_max: usize) -> Result<MachineSettings> {
    let default = MachineSettings::default();
    let extra = default.answer_extra.min(code.parity() as u8);
    let answer_extra = raw.answer_extra.unwrap_or(extra);
    let wait = |key, value, default| bounds::span(key, value, default, &bounds::WAIT);
    let timeout = |key, value, default| bounds::span(key, value, default, &bounds::TIMEOUT);
    let waiting = |key, value, default| {
        Ok::<_, Error>(given(key, value, &bounds::WAITING)?.unwrap_or(default))
    };
    let probe_every =
        bounds::span("probe_every", raw.probe_every, default.probe_every, &bounds::PROBE)?;
    let left = bounds::size("left_max", raw.left_max, memory_max as u64 / 4, &bounds::LEFT)?;
    let requests = raw.requests_waiting_max;
    let (tasks, mends) = (raw.tasks_waiting_max, raw.mends_waiting_max);
    let failures = given("failures_to_down", raw.failures_to_down, &bounds::FAILURES)?;
    let (task, request) = (raw.task_timeout, raw.request_timeout);
    Ok(MachineSettings {
        answer_extra,
        answer_extra_min: raw
            .answer_extra_min
            .unwrap_or_else(|| default.answer_extra_min.min(answer_extra)),
        after_answer: raw.after_answer.unwrap_or(default.after_answer),
        left_bytes_max: left,
        degraded_after: wait("degraded_after", raw.degraded_after, default.degraded_after)?,
        task_timeout: timeout("task_timeout", task, default.task_timeout)?,
        request_timeout: timeout("request_timeout", request, default.request_timeout)?,
        requests_waiting_max: waiting(
            "requests_waiting_max",
            requests,
            default.requests_waiting_max,
        )?,
        tasks_waiting_max: waiting("tasks_waiting_max", tasks, default.tasks_waiting_max)?,
        mends_waiting_max: waiting("mends_waiting_max", mends, default.mends_waiting_max)?,
        late_after: timeout("late_after", raw.late_after, default.late_after)?,
        patience: wait("patience", raw.patience, default.patience)?,
        tries_max: given("tries_max", raw.tries_max, &bounds::TRIES)?.unwrap_or(default.tries_max),
        probe_every,
        failures_to_down: failures.unwrap_or(default.failures_to_down),
    })
}

fn node(raw: raw::Node) -> Result<NodeConfig> {
    let lanes = given("lanes", raw.lanes, &bounds::LANES)?.unwrap_or(DEFAULT_LANES);
    let delay = match (raw.delay.clone(), raw.delay_scale) {
        (None, None) => None,
        (None, Some(_)) => bail!("delay_scale is given without delay"),
        (Some(model), scale) => {
            let scale = within("delay_scale", scale.unwrap_or(1.0), &bounds::SCALE)?;
            Some(Delay { model, scale, seed: raw.seed.unwrap_or(0) })
        }
    };
    let price = price(&raw)?;
    let strange = foreign_key(&raw);
    if let Some(key) = strange {
        bail!("{key} means nothing for a node of kind {:?}", raw.kind);
    }
    let place = match raw.kind {
        NodeKind::Directory => Place::Directory {
            path: raw.path.context("a directory needs path")?,
            durable: raw.durable.unwrap_or(true),
            ours: false,
        },
        NodeKind::Memory => Place::Memory {
            bytes_max: bounds::size("bytes_max", raw.bytes_max, 1 << 30, &bounds::NODE)?,
        },
        NodeKind::Bucket => Place::Bucket(Bucket {
            endpoint: raw.endpoint.context("a bucket needs endpoint, such as \"https://…\"")?,
            name: raw.bucket.context("a bucket needs bucket, its name")?,
            prefix: raw.prefix.unwrap_or_default(),
            region: raw.region.unwrap_or_else(|| "us-east-1".into()),
            credentials: raw.credentials,
        }),
    };
    Ok(NodeConfig { name: raw.name, site: raw.site, lanes, place, delay, price })
}

fn price(raw: &raw::Node) -> Result<Price> {
    let keys = [
        ("price_per_get", raw.price_per_get),
        ("price_per_put", raw.price_per_put),
        ("price_per_gb_out", raw.price_per_gb_out),
        ("price_per_gb_month", raw.price_per_gb_month),
    ];
    for (key, dollars) in keys {
        given(key, dollars, &bounds::PRICE)?;
    }
    let [per_1000_gets, per_1000_puts, per_gb_out, per_gb_month] = keys.map(|(_, dollars)| dollars);
    Ok(Price { per_1000_gets, per_1000_puts, per_gb_out, per_gb_month })
}

/// A key that is given and belongs to another kind of node.
fn foreign_key(raw: &raw::Node) -> Option<&'static str> {
    let directory = raw.kind == NodeKind::Directory;
    let bucket = raw.kind == NodeKind::Bucket;
    let memory = raw.kind == NodeKind::Memory;
    let keys = [
        ("path", raw.path.is_some(), directory),
        ("durable", raw.durable.is_some(), directory),
        ("bytes_max", raw.bytes_max.is_some(), memory),
        ("endpoint", raw.endpoint.is_some(), bucket),
        ("bucket", raw.bucket.is_some(), bucket),
        ("prefix", raw.prefix.is_some(), bucket),
        ("region", raw.region.is_some(), bucket),
        ("credentials", raw.credentials.is_some(), bucket),
        ("seed", raw.seed.is_some(), raw.delay.is_some()),
    ];
    keys.into_iter().find(|(_, given, fits)| *given && !fits).map(|(key, ..)| key)
}
