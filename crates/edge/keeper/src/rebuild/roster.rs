use ripstop_model::{Code, NodeId, PoolId};
use ripstop_node::Node;
use ripstop_runtime::Layout;
use std::{collections::BTreeMap, sync::Arc};

/// A pool whose nodes are asked what they have.
#[derive(Clone, Debug)]
pub struct SurveyedPool {
    /// Its number in the catalog that is being made.
    pub id: PoolId,
    /// Its name, for reports.
    pub name: String,
    /// The storage code (N,K) that it writes.
    pub code: Code,
    /// The layout that it writes.
    pub layout: Layout,
    /// Its nodes.
    pub nodes: Vec<SurveyedNode>,
}

/// A node of such a pool.
#[derive(Clone, Debug)]
pub struct SurveyedNode {
    /// Its number in the catalog that is being made.
    pub id: NodeId,
    /// Its name, for reports.
    pub name: String,
    /// The place itself.
    pub node: Arc<dyn Node>,
}

/// The pools, and which of them each node is in.
#[derive(Debug)]
pub(super) struct Roster {
    pub(super) pools: Vec<SurveyedPool>,
    nodes: BTreeMap<NodeId, (usize, usize)>,
}

impl Roster {
    pub(super) fn new(pools: Vec<SurveyedPool>) -> Self {
        let mut nodes = BTreeMap::new();
        for (at, pool) in pools.iter().enumerate() {
            nodes.extend(pool.nodes.iter().enumerate().map(|(nth, node)| (node.id, (at, nth))));
        }
        Self { pools, nodes }
    }

    /// The place of a node's pool among the pools.
    pub(super) fn pool_of(&self, node: NodeId) -> usize {
        self.nodes.get(&node).map_or(0, |&(pool, _)| pool)
    }

    pub(super) fn name_of(&self, node: NodeId) -> &str {
        let place = self.nodes.get(&node);
        place.map_or("", |&(pool, nth)| &self.pools[pool].nodes[nth].name)
    }

    /// A node by its number.
    pub(super) fn node(&self, id: NodeId) -> Option<&Arc<dyn Node>> {
        let &(pool, nth) = self.nodes.get(&id)?;
        Some(&self.pools[pool].nodes[nth].node)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &SurveyedNode> {
        self.pools.iter().flat_map(|pool| &pool.nodes)
    }
}
