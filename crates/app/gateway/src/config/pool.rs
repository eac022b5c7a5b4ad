//! Pools: which nodes belong together, and how stripes are coded over them.

use super::{
    bounds::{self, given},
    name::{NAME_RULE, named},
    node::{NodeConfig, default_node, node},
    policy,
    raw::{self, NodeKind},
};
use anyhow::{Context as _, Error, Result, bail, ensure};
use ripstop_gateway::{MachineSettings, ReadSelection, Recombination};
use ripstop_model::Code;
use ripstop_placement::planning::AutoPlan;
use ripstop_policy::PolicySettings;
use ripstop_runtime::Layout;
use ripstop_store::PackSettings;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

/// A pool and its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolConfig {
    /// Unlike every other pool's.
    pub name: String,
    /// How the fragments of a stripe lie at nodes.
    pub layout: Layout,
    /// Its storage code.
    pub code: Code,
    /// Whether what it stores is encrypted.
    pub encrypt: bool,
    /// Those whose objects it stores.
    pub buckets: Vec<String>,
    /// Which class of storage it is, if it is any beside the standard one.
    pub storage_class: Option<String>,
    /// The memory tier in which it keeps what is read often.
    pub hot: Option<String>,
    /// How it gathers small writes.
    pub packs: PackSettings,
    /// Its policy by name.
    pub policy: String,
    /// What the policy is told.
    pub policy_settings: PolicySettings,
    /// Where its task log is appended to.
    pub task_log: Option<PathBuf>,
    /// Limits and times of its machine.
    pub machine: MachineSettings,
    /// Whose request a free lane takes next, where there are tenants.
    pub recombination: Recombination,
    /// The plan that it follows.
    pub plan: Option<PlanSource>,
    /// How reads choose among the nodes that hold a stripe, unless the plan says so.
    pub selection: ReadSelection,
    /// At least as many as its layout needs.
    pub nodes: Vec<NodeConfig>,
}

impl PoolConfig {
    /// Tasks that its nodes serve at once.
    pub fn lanes(&self) -> u64 {
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
    pub fn nodes_needed(&self) -> usize {
        match self.layout {
            Layout::Spread => self.code.k() + usize::from(self.machine.answer_extra_min),
            Layout::Shared | Layout::Unique => 1,
        }
    }
}

/// Where a pool's plan comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanSource {
    /// This file.
    File(PathBuf),
    /// The pool makes it itself.
    Auto(AutoPlan),
}

/// How long a batch may be told to wait for company.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// Nodes of the pool that is there when none is configured.
const DEFAULT_NODES: usize = 6;
const DEFAULT_CODE: [usize; 2] = [6, 4];
/// Where all strips are at one node: 12 of them make chunks of 1, 2, 3, 4, 6 or 12.
const DEFAULT_CODE_TOGETHER: [usize; 2] = [24, 12];

pub(super) fn pools(
    mut pools: Vec<raw::Pool>,
    nodes: Vec<raw::Node>,
    data: &Path,
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
            "pool.name {:?} is given twice",
            raw.name
        );
        if let Some(class) = &raw.storage_class {
            check_class(class, &resolved)?;
        }
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
        ensure!(names.insert(raw.name.clone()), "node.name {:?} is given twice", raw.name);
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

/// Longest name of a class of storage.
const CLASS_LEN_MAX: usize = 32;

/// Refuses a class of storage of a pool that comes after these.
fn check_class(class: &str, before: &[PoolConfig]) -> Result<()> {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-' || c == '_';
    ensure!(
        (1..=CLASS_LEN_MAX).contains(&class.len()) && class.chars().all(plain),
        "storage_class {class:?}: a class is 1 to {CLASS_LEN_MAX} capital letters, digits, '-' or '_'"
    );
    ensure!(class != "STANDARD", "storage_class \"STANDARD\" is each bucket's own pool");
    ensure!(
        !before.is_empty(),
        "storage_class {class:?} is the first pool's, which keeps what is STANDARD"
    );
    ensure!(
        before.iter().all(|pool| pool.storage_class.as_deref() != Some(class)),
        "storage_class {class:?} is given twice"
    );
    Ok(())
}

/// Longest objects that are gathered in packs: others gain nothing by it.
pub const PACK_BELOW_MAX: u64 = 128 << 10;

/// Objects shorter than this are gathered unless it is said otherwise.
const PACK_BELOW: u32 = 64 << 10;

fn packs(raw: &raw::Pool) -> Result<PackSettings> {
    let mut packs = PackSettings { below: PACK_BELOW, ..PackSettings::default() };
    if let Some(below) = raw.pack_below {
        ensure!(below.0 <= PACK_BELOW_MAX, "pack_below is {}, at most 128 KiB", below.0);
        packs.below = below.0 as u32;
    }
    if let Some(batching) = &raw.batching {
        packs.batching.clone_from(batching);
        packs.controller().context("batching")?;
    }
    if let Some(interval) = raw.batch_interval {
        ensure!(
            (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval.0),
            "batch_interval is {:?}, not 1 ms to 1 s",
            interval.0
        );
        packs.interval = interval.0;
    }
    if let Some(most) = raw.puts_per_second_max {
        ensure!(most.is_finite() && most > 0.0, "puts_per_second_max is {most}, not above 0");
        packs.puts_per_second_max = Some(most);
    }
    Ok(packs)
}

fn default_pool() -> raw::Pool {
    toml::from_str("name = \"default\"").expect("a pool needs no more than a name")
}

fn pool(raw: raw::Pool, is_remote: bool, memory_max: usize) -> Result<PoolConfig> {
    let at = || format!("pool {:?}", raw.name);
    let layout = raw.layout.unwrap_or_default();
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
        "{}: plan and selection are for the layout spread: in others a stripe is at one node",
        at()
    );
    ensure!(
        raw.selection != Some(ReadSelection::LeastWorkPlanned) || raw.plan.is_some(),
        "{}: selection \"least-work-planned\" needs a plan",
        at()
    );
    let plan = plan_source(&raw).with_context(at)?;
    let (policy, policy_settings) =
        policy::resolve(&raw, layout, code, is_remote).with_context(at)?;
    let packs = packs(&raw).with_context(at)?;
    let (buckets, task_log) = (raw.buckets.clone(), raw.task_log.clone());
    Ok(PoolConfig {
        name: raw.name,
        layout,
        code,
        encrypt: raw.encrypt,
        buckets,
        storage_class: raw.storage_class,
        hot: raw.hot,
        packs,
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
    let default = AutoPlan::default();
    let every = bounds::span("plan_every", raw.plan_every, default.every, &bounds::PLAN)?;
    let gain = raw.plan_gain.unwrap_or(default.gain);
    ensure!((0.0..1.0).contains(&gain), "plan_gain is {gain}: it must be from 0 to less than 1");
    let seconds_per_dollar = given("plan_theta", raw.plan_theta, &bounds::SECONDS)?
        .unwrap_or(default.seconds_per_dollar);
    let survive_sites =
        given("survive_sites", raw.survive_sites, &bounds::SITES)?.unwrap_or(default.survive_sites);
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
