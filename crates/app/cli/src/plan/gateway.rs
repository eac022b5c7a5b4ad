//! The gateway behind an admin port, as an inventory.

use anyhow::{Context as _, Result, bail};
use hyper::Method;
use ripstop_assembly::AdminPort;
use ripstop_estimator::parse_log;
use ripstop_planner::{Inventory, SeenNode, SeenPool};
use ripstop_telemetry::{NodeStatus, PoolStatus, Status};

/// Nodes and states from the status; the rest from the pool's task log.
pub(super) async fn inventory(admin: &AdminPort, pool: Option<&str>) -> Result<Inventory> {
    let status = admin.ask(Method::GET, "/status").await?;
    let status: Status = serde_json::from_str(&status).context("the gateway's status")?;
    let names: Vec<&str> = status.pools.iter().map(|pool| &*pool.name).collect();
    let names = names.join(", ");
    let found = match (pool, status.pools.as_slice()) {
        (Some(name), pools) => pools.iter().find(|pool| pool.name == name),
        (None, [only]) => Some(only),
        (None, _) => bail!("the gateway has the pools {names}: --pool names one"),
    };
    let found = found.with_context(|| format!("the gateway has no such pool; it has {names}"))?;
    let log = admin.ask(Method::GET, &format!("/pools/{}/task-log", found.name)).await?;
    Ok(Inventory::seen(&seen(found), &parse_log(&log).context("the gateway's task log")?))
}

fn seen(pool: &PoolStatus) -> SeenPool {
    let node = |node: &NodeStatus| SeenNode {
        id: node.id,
        name: node.name.clone(),
        lanes: node.lanes,
        up: node.up,
    };
    let nodes = pool.nodes.iter().map(node).collect();
    SeenPool { name: pool.name.clone(), code: pool.code, nodes }
}
