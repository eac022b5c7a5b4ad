//! Nodes and a catalog that outlive their gateways, which may be killed at any step.

use super::{POOL, Tampered, form, open};
use crate::common::{Kept, fragments};
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use ripstop_catalog::Embedded;
use ripstop_keeper::{KeeperSettings, SurveyedNode, SurveyedPool};
use ripstop_model::{Code, FragmentId, NodeId};
use ripstop_node::{Capabilities, Listed, MemoryNode, Node, NodeError};
use ripstop_runtime::Layout;
use ripstop_store::StoreSettings;
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

/// How long a gateway lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Endless,
    /// Until it asked for this much, or was answered: nothing comes of that any more.
    Steps(usize),
}

/// What a gateway has left of its life.
#[derive(Debug)]
pub(crate) struct Lifetime {
    left: AtomicUsize,
    over: Notify,
}

impl Default for Lifetime {
    fn default() -> Self {
        Self { left: AtomicUsize::new(usize::MAX), over: Notify::default() }
    }
}

impl Lifetime {
    /// One step, if it comes to that.
    pub(super) async fn step(&self) {
        let next = |left: usize| match left {
            usize::MAX => Some(left),
            left => left.checked_sub(1),
        };
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        if left.is_err() {
            self.over.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

/// A node that a dead gateway does not reach.
#[derive(Debug)]
struct Reached {
    inner: Arc<MemoryNode>,
    life: Arc<Lifetime>,
}

#[async_trait]
impl Node for Reached {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        self.life.step().await;
        let done = self.inner.put(name, fragment).await;
        self.life.step().await;
        done
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        self.inner.get(name, range).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        self.life.step().await;
        let done = self.inner.delete(name).await;
        self.life.step().await;
        done
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        self.inner.list()
    }

    async fn health(&self) -> Result<(), NodeError> {
        self.inner.health().await
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

/// What is there when no gateway is.
pub(crate) struct World {
    nodes: Vec<Arc<MemoryNode>>,
    catalog: Arc<Embedded>,
    life: Arc<Lifetime>,
}

impl World {
    pub(crate) fn new() -> Self {
        let nodes = (0..form().nodes).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
        let catalog =
            Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens");
        Self { nodes, catalog: Arc::new(catalog), life: Arc::default() }
    }

    pub(crate) fn catalog(&self) -> Arc<Embedded> {
        self.catalog.clone()
    }

    /// From now on this is the catalog.
    pub(crate) fn take(&mut self, catalog: Arc<Embedded>) {
        self.catalog = catalog;
    }

    /// The next gateway lives this long.
    pub(crate) fn begin(&mut self, life: Life) {
        let left = match life {
            Life::Endless => usize::MAX,
            Life::Steps(steps) => steps,
        };
        self.life = Arc::new(Lifetime { left: AtomicUsize::new(left), over: Notify::default() });
    }

    /// A gateway, in the runtime that this is called in.
    pub(crate) fn open(&self, settings: (StoreSettings, KeeperSettings)) -> Kept {
        let reached = |inner: &Arc<MemoryNode>| {
            Arc::new(Reached { inner: inner.clone(), life: self.life.clone() }) as Arc<dyn Node>
        };
        let nodes = self.nodes.iter().map(reached).collect();
        let catalog = Tampered::new(self.catalog.clone(), self.life.clone());
        open(Arc::new(catalog), nodes, settings)
    }

    /// Waits until the gateway is dead.
    pub(crate) async fn is_over(&self) {
        self.life.over.notified().await;
    }

    /// What is at the nodes.
    pub(crate) async fn fragments(&self) -> Vec<(usize, FragmentId)> {
        fragments(&self.nodes).await
    }

    /// Deletes everything at a node.
    pub(crate) async fn wipe(&self, node: usize) {
        for (at, name) in fragments(&self.nodes).await {
            if at == node {
                self.nodes[node].delete(name).await.expect("deleted");
            }
        }
    }

    /// The nodes, as a rebuild looks at them.
    pub(crate) fn surveyed(&self) -> SurveyedPool {
        let node = |(id, node): (u16, &Arc<MemoryNode>)| SurveyedNode {
            id: NodeId(id),
            name: format!("d{id}"),
            node: node.clone(),
        };
        let (n, k) = form().code;
        SurveyedPool {
            id: POOL,
            name: "p".into(),
            code: Code::new(n, k).expect("a code"),
            layout: Layout::Spread,
            nodes: (0..).zip(&self.nodes).map(node).collect(),
        }
    }
}
