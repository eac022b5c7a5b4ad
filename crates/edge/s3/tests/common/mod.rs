//! A face over memory nodes.
#![allow(dead_code, reason = "each user takes its part")]

use ripstop_catalog::Embedded;
use ripstop_gateway::{MachineSettings, Report};
use ripstop_model::{Code, NodeId, PoolId, Timestamp};
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::{Memory, Observer, Origin, Pins, Pool, PoolNode};
use ripstop_store::{Store, StoreSettings};
use std::{collections::BTreeMap, path::Path, sync::Arc};

#[derive(Debug)]
struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Timestamp, _: &Report) {}
}

/// A store of code (3,2) over three memory nodes, with its catalog in `folder`; and its nodes.
pub(crate) fn store(folder: &Path, settings: StoreSettings) -> (Store, Vec<Arc<MemoryNode>>) {
    store_of_pools(folder, settings, 1)
}

/// The same with this many pools, of three nodes each.
pub(crate) fn store_of_pools(
    folder: &Path,
    settings: StoreSettings,
    pools: u16,
) -> (Store, Vec<Arc<MemoryNode>>) {
    let memory_nodes: Vec<_> = (0..3 * pools).map(|_| Arc::new(MemoryNode::new(4 << 30))).collect();
    let nodes: Vec<_> = memory_nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    (store_over(folder, settings, &nodes), memory_nodes)
}

/// The same over these nodes, three for each pool.
pub(crate) fn store_over(folder: &Path, settings: StoreSettings, nodes: &[Arc<dyn Node>]) -> Store {
    let catalog =
        Embedded::open(&folder.join("catalog"), ripstop_catalog::CatalogSettings::default());
    // Nobody keeps the store: requests are what is tested.
    let (to, _) = ripstop_runtime::aftermaths();
    let pins = Pins::default();
    let node = |(id, node): (u16, &Arc<dyn Node>)| PoolNode {
        id: NodeId(id),
        lanes: 8,
        node: node.clone(),
    };
    let memory = Memory::new(256 << 20);
    let pool = |(number, nodes): (u16, &[Arc<dyn Node>])| {
        let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default());
        Pool::new(
            Origin { store: 1, pool: PoolId(number) },
            Code::new(3, 2).expect("a code"),
            MachineSettings { answer_extra: 1, ..MachineSettings::default() },
            policy.expect("known"),
            (3 * number..).zip(nodes).map(node).collect(),
            Arc::new(Unwatched),
            Arc::default(),
            memory.blocks().clone(),
            pins.clone(),
            to.clone(),
        )
    };
    let pools = (0..).zip(nodes.chunks(3)).map(pool).collect();
    let catalog = Arc::new(catalog.expect("opens"));
    Store::new(catalog, pools, BTreeMap::new(), memory, pins, settings)
}
