use crate::metrics::{Metrics, PoolCounts, PoolGauges};
use ripstop_gateway::NodeState;
use serde::{Deserialize, Serialize};

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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// Whether enough nodes are up.
    pub ready: bool,
    /// Nodes that must be up for that.
    pub nodes_needed: usize,
    /// Requests in the request queue.
    pub backlog: usize,
    /// Requests that have left it and are not answered.
    pub serving: usize,
    /// Its nodes.
    pub nodes: Vec<NodeStatus>,
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
    /// Tasks it serves at once.
    pub lanes: u16,
    /// Lanes on which a task runs.
    pub busy: u16,
    /// Tasks in its queue.
    pub waiting: usize,
}

impl Status {
    /// How everything stands now.
    pub fn of(metrics: &Metrics) -> Self {
        let pools = metrics.pools();
        let pools = pools.iter().filter_map(|(counts, now)| Some(pool(counts, now.as_ref()?)));
        Self {
            version: metrics.version().to_owned(),
            uptime_seconds: metrics.uptime().as_secs_f64(),
            pools: pools.collect(),
        }
    }
}

fn pool(counts: &PoolCounts, now: &PoolGauges) -> PoolStatus {
    let names = counts.names();
    let node = |node: &ripstop_gateway::NodeGauge| NodeStatus {
        id: node.id.0,
        name: names.node(node.id).to_owned(),
        up: node.state == NodeState::Up,
        lanes: node.lanes,
        busy: node.lanes_busy,
        waiting: node.tasks_waiting,
    };
    let nodes: Vec<NodeStatus> = now.nodes.iter().map(node).collect();
    PoolStatus {
        name: names.name.clone(),
        ready: nodes.iter().filter(|node| node.up).count() >= names.nodes_needed,
        nodes_needed: names.nodes_needed,
        backlog: now.load.backlog,
        serving: now.load.serving,
        nodes,
    }
}

/// One sentence for each pool that is not ready.
pub(crate) fn unready(metrics: &Metrics) -> Vec<String> {
    let pools = metrics.pools();
    let mut reasons = Vec::new();
    for (counts, now) in &pools {
        let name = &counts.names().name;
        let Some(now) = now else {
            reasons.push(format!("pool {name}: not started"));
            continue;
        };
        let status = pool(counts, now);
        if !status.ready {
            let down: Vec<&str> =
                status.nodes.iter().filter(|node| !node.up).map(|node| &*node.name).collect();
            reasons.push(format!(
                "pool {name}: {} of {} nodes up, {} needed (down: {})",
                status.nodes.len() - down.len(),
                status.nodes.len(),
                status.nodes_needed,
                down.join(", ")
            ));
        }
    }
    reasons
}
