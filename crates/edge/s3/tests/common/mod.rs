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
    let memory_nodes: Vec<_> = (0..3).map(|_| Arc::new(MemoryNode::new(4 << 30))).collect();
    let nodes = memory_nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    (store_over(folder, settings, nodes), memory_nodes)
}

/// The same over these nodes.
pub(crate) fn store_over(
    folder: &Path,
    settings: StoreSettings,
    nodes: Vec<Arc<dyn Node>>,
) -> Store {
    let catalog =
        Embedded::open(&folder.join("catalog"), ripstop_catalog::CatalogSettings::default());
    // Nobody keeps the store: requests are what is tested.
    let (to, _) = ripstop_runtime::aftermaths();
    let pins = Pins::default();
    let node = |(id, node)| PoolNode { id: NodeId(id), lanes: 8, node };
    let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default());
    let memory = Memory::new(256 << 20);
    let pool = Pool::new(
        Origin { store: 1, pool: PoolId(0) },
        Code::new(3, 2).expect("a code"),
        MachineSettings { answer_extra: 1, ..MachineSettings::default() },
        policy.expect("known"),
        (0..).zip(nodes).map(node).collect(),
        Arc::new(Unwatched),
        Arc::default(),
        memory.blocks().clone(),
        pins.clone(),
        to,
    );
    let catalog = Arc::new(catalog.expect("opens"));
    let pools = vec![pool];
    Store::new(catalog, pools, BTreeMap::new(), memory, pins, settings)
}
