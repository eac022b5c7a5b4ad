use crate::metrics::{Metrics, PoolCounts, Promised, Standing};
use ripstop_gateway::{NodeState, TierGauge};
use ripstop_keeper::MoveProgress;
use ripstop_roster::{PlanStanding, PoolGauges, Roster};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Instant};

/// What `GET /status` answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The running version.
    pub version: String,
    /// Time since the start.
    pub uptime_seconds: f64,
    /// Every pool that is watched.
    pub pools: Vec<PoolStatus>,
}

/// How a pool stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// Whether enough nodes are up and take fragments.
    pub ready: bool,
    /// Whether one node more may fail without stripes that are written now being lost.
    #[serde(default)]
    pub redundant: bool,
    /// Nodes that must be up and take fragments for the pool to be ready.
    pub nodes_needed: usize,
    /// Its storage code: [N, K].
    #[serde(default)]
    pub code: Option<[usize; 2]>,
    /// Requests in the request queue.
    pub backlog: usize,
    /// Requests that have left it and are not answered.
    pub serving: usize,
    /// Its nodes.
    pub nodes: Vec<NodeStatus>,
    /// Everybody without a promise, by the name `-`, and each tenant; nobody if there are no
    /// tenants.
    #[serde(default)]
    pub tenants: Vec<TenantStatus>,
    /// The plan it made itself, if it does so and has.
    #[serde(default)]
    pub plan: Option<PlanStanding>,
    /// How far its stripes have been brought to where plans want them.
    #[serde(default)]
    pub moves: MoveProgress,
}

/// How a node stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its number in task logs.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Whether it is in service.
    pub up: bool,
    /// Whether it refused the last fragment that it was to store.
    #[serde(default)]
    pub refuses: bool,
    /// Tasks it serves at once.
    pub lanes: u16,
    /// Lanes on which a task runs.
    pub busy: u16,
    /// Tasks in its queue.
    pub waiting: usize,
}

/// How a tenant of a pool fared recently: in the last [`TENANT_SLOTS`](crate::TENANT_SLOTS) times
/// [`TENANT_SLOT`](crate::TENANT_SLOT).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TenantStatus {
    /// Its name.
    pub name: String,
    /// Recent requests that were answered or refused.
    pub requests: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Requests that wait for their turn in one of its tiers.
    pub waiting: usize,
    /// Half of what was done recently took no longer; none if nothing was done.
    pub p50_seconds: Option<f64>,
    /// 99 of 100 that were done recently took no longer.
    pub p99_seconds: Option<f64>,
    /// What it is promised, the tightest first.
    pub tiers: Vec<TierStatus>,
}

/// One tier of a tenant's promise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TierStatus {
    /// The share of the tenant's requests that is promised to be within the bound.
    pub fraction: f64,
    /// The bound.
    pub bound_seconds: f64,
    /// The share of the tenant's recent requests that was done within it; 1 without requests.
    pub within: f64,
    /// Whether that is what was promised.
    pub kept: bool,
    /// Requests that wait for their turn in the tier.
    pub waiting: usize,
    /// Half of what the tier took in and was done recently took no longer.
    pub p50_seconds: Option<f64>,
    /// 99 of 100 of them took no longer.
    pub p99_seconds: Option<f64>,
}

impl Status {
    /// How everything stands now.
    pub(super) fn of(
        version: &str,
        started: Instant,
        pools: &[Arc<Roster>],
        metrics: Option<&Metrics>,
    ) -> Self {
        let counted = metrics.map(Metrics::pools).unwrap_or_default();
        let pools = pools.iter().filter_map(|roster| {
            let now = roster.now()?;
            let counts = counted.iter().find(|counts| counts.name() == roster.name());
            let tenants = counts.map(|counts| tenants(counts, &now)).unwrap_or_default();
            Some(PoolStatus { tenants, ..pool(roster, &now) })
        });
        Self {
            version: version.to_owned(),
            uptime_seconds: ripstop_host::since(started).as_secs_f64(),
            pools: pools.collect(),
        }
    }
}

/// Whether a node can be written to.
fn takes(node: &NodeStatus) -> bool {
    node.up && !node.refuses
}

/// Without its tenants.
fn pool(roster: &Roster, now: &PoolGauges) -> PoolStatus {
    let names = roster.names();
    let node = |node: &ripstop_gateway::NodeGauge| NodeStatus {
        id: node.id.0,
        name: names.node(node.id).to_owned(),
        up: node.state == NodeState::Up,
        refuses: roster.refuses(node.id),
        lanes: node.lanes,
        busy: node.lanes_busy,
        waiting: node.tasks_waiting,
    };
    let nodes: Vec<NodeStatus> = now.nodes.iter().map(node).collect();
    let takers = nodes.iter().filter(|node| takes(node)).count();
    PoolStatus {
        name: names.name.clone(),
        ready: takers >= names.nodes_needed,
        redundant: takers > names.nodes_needed || names.code.parity() == 0,
        nodes_needed: names.nodes_needed,
        code: Some([names.code.n(), names.code.k()]),
        backlog: now.load.backlog,
        serving: now.load.serving,
        nodes,
        tenants: Vec::new(),
        plan: roster.plan(),
        moves: now.moves,
    }
}

fn tenants(counts: &PoolCounts, now: &PoolGauges) -> Vec<TenantStatus> {
    counts.standings().iter().map(|standing| tenant(standing, &now.tiers)).collect()
}

fn tenant(standing: &Standing, gauges: &[TierGauge]) -> TenantStatus {
    let tier = |at: Promised<'_>| {
        let is_its = |gauge: &&TierGauge| (gauge.tenant, gauge.tier) == (standing.id, at.tier);
        let quantile = |p| at.took.quantile(p).map(|took| took.as_secs_f64());
        TierStatus {
            fraction: at.fraction.as_f64(),
            bound_seconds: at.bound.as_secs_f64(),
            within: at.within,
            kept: at.kept,
            waiting: gauges.iter().find(is_its).map_or(0, |gauge| gauge.waiting),
            p50_seconds: quantile(0.5),
            p99_seconds: quantile(0.99),
        }
    };
    let tiers: Vec<TierStatus> = standing.promised().map(tier).collect();
    let took = standing.window.took_all();
    let quantile = |p| took.quantile(p).map(|took| took.as_secs_f64());
    TenantStatus {
        name: standing.name.clone(),
        requests: standing.window.requests,
        refused: standing.window.refused,
        waiting: tiers.iter().map(|tier| tier.waiting).sum(),
        p50_seconds: quantile(0.5),
        p99_seconds: quantile(0.99),
        tiers,
    }
}

/// One sentence for each pool that is not ready.
pub(crate) fn unready(pools: &[Arc<Roster>]) -> Vec<String> {
    let pools = pools.iter().filter_map(|roster| {
        let Some(now) = roster.now() else {
            return Some(format!("pool {}: not started", roster.name()));
        };
        let status = pool(roster, &now);
        let needed = status.nodes_needed;
        (!status.ready).then(|| format!("{}, {needed} needed{}", takers(&status), lacking(&status)))
    });
    pools.collect()
}

/// One sentence for each pool that is ready and stores what is written now without redundancy.
pub(crate) fn bare(pools: &[Arc<Roster>]) -> Vec<String> {
    let pools = pools.iter().filter_map(|roster| {
        let status = pool(roster, &roster.now()?);
        let bare = status.ready && !status.redundant;
        bare.then(|| format!("{}: writes have no redundancy{}", takers(&status), lacking(&status)))
    });
    pools.collect()
}

fn takers(status: &PoolStatus) -> String {
    let (name, all) = (&status.name, status.nodes.len());
    let up = status.nodes.iter().filter(|node| node.up).count();
    let takers = status.nodes.iter().filter(|node| takes(node)).count();
    if takers == up {
        return format!("pool {name}: {up} of {all} nodes up");
    }
    format!("pool {name}: {takers} of {all} nodes take fragments")
}

/// Which nodes are missing, and why.
fn lacking(status: &PoolStatus) -> String {
    let named = |is: fn(&NodeStatus) -> bool| {
        let names = status.nodes.iter().filter(|node| is(node)).map(|node| &*node.name);
        names.collect::<Vec<&str>>().join(", ")
    };
    let (down, full) = (named(|node| !node.up), named(|node| node.up && node.refuses));
    let parts =
        [("down", down), ("refusing", full)].into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(what, names)| format!("{what}: {names}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}
