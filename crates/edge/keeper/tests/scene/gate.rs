//! Gates at which a test holds operations.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use ripstop_model::FragmentId;
use ripstop_node::{Capabilities, Listed, MemoryNode, Node, NodeError};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::sync::watch;

/// Holds what comes while it is shut.
#[derive(Debug)]
pub(crate) struct Gate {
    shut: AtomicBool,
    /// How many more it lets pass although it is shut.
    passes: AtomicUsize,
    held: AtomicUsize,
    /// How often those held were let go.
    opened: watch::Sender<u64>,
}

impl Default for Gate {
    fn default() -> Self {
        let (shut, opened) = (AtomicBool::default(), watch::Sender::new(0));
        Self { shut, passes: AtomicUsize::default(), held: AtomicUsize::default(), opened }
    }
}

/// Counts as held until it is let go, or dropped.
struct Held<'a>(&'a Gate);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate {
    /// From now on holds what comes.
    pub(crate) fn shut(&self) {
        self.shut_after(0);
    }

    /// From now on holds what comes after this many.
    pub(crate) fn shut_after(&self, passes: usize) {
        self.passes.store(passes, Ordering::SeqCst);
        self.shut.store(true, Ordering::SeqCst);
    }

    /// From now on lets pass what comes; what it holds it keeps.
    pub(crate) fn hold_no_more(&self) {
        self.shut.store(false, Ordering::SeqCst);
    }

    /// Lets everything go.
    pub(crate) fn open(&self) {
        self.hold_no_more();
        self.opened.send_modify(|opened| *opened += 1);
    }

    /// How many it holds.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    pub(crate) async fn pass(&self) {
        let mut opened = self.opened.subscribe();
        let before = *opened.borrow();
        let next = |passes: usize| passes.checked_sub(1);
        if self.shut.load(Ordering::SeqCst)
            && self.passes.try_update(Ordering::SeqCst, Ordering::SeqCst, next).is_err()
        {
            self.held.fetch_add(1, Ordering::SeqCst);
            let _held = Held(self);
            opened.wait_for(|opened| *opened > before).await.expect("the gate is there");
        }
    }
}

/// The gates of all nodes of a scene.
#[derive(Debug, Default)]
pub(crate) struct NodeGates {
    /// Holds answers to puts: the fragments are stored.
    pub(crate) puts: Gate,
    /// Holds gets before they reach the node.
    pub(crate) gets: Gate,
    /// Holds deletions before they reach the node.
    pub(crate) deletes: Gate,
}

/// A node behind gates.
#[derive(Debug)]
pub(super) struct Gated {
    pub(super) inner: Arc<MemoryNode>,
    pub(super) gates: Arc<NodeGates>,
}

#[async_trait]
impl Node for Gated {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        self.inner.put(name, fragment).await?;
        self.gates.puts.pass().await;
        Ok(())
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        self.gates.gets.pass().await;
        self.inner.get(name, range).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        self.gates.deletes.pass().await;
        self.inner.delete(name).await
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
