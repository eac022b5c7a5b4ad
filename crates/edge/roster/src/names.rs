use ripstop_model::{Code, NodeId};

/// What a pool and its nodes are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolNames {
    /// The pool.
    pub name: String,
    /// Its storage code (N,K): requests with a longer code are counted as code `other`.
    pub code: Code,
    /// Nodes that must be up for the pool to be ready: as many as an answered write needs.
    pub nodes_needed: usize,
    /// Its nodes.
    pub nodes: Vec<(NodeId, String)>,
}

impl PoolNames {
    /// What a node is called; `unknown` if it is not one of the pool's.
    pub fn node(&self, id: NodeId) -> &str {
        self.nodes.iter().find(|(at, _)| *at == id).map_or("unknown", |(_, name)| name)
    }
}
