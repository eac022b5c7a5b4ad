//! What watches a gateway in a drill: its machines, its catalog, its requests.

use crate::{life::Life, node::DrillNode, world::World};
use async_trait::async_trait;
use ripstop_assembly::Watch;
use ripstop_catalog::{Catalog, CatalogError, Change, Outcome, Query, Reply};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use ripstop_node::Node;
use ripstop_recording::Beginning;
use ripstop_roster::Roster;
use ripstop_runtime::{Observer, Witness};
use ripstop_s3::{Answered, RequestObserver};
use std::sync::Arc;

/// What nodes of a drill are called.
pub(crate) const NODE_PREFIX: &str = "d";

/// Writes down what a gateway does.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<Life>,
}

impl Watch for Watcher {
    fn pool(&self, _: &Arc<Roster>) -> Option<Arc<dyn Observer>> {
        None
    }

    fn witness(&self, _: &Beginning) -> Option<Arc<dyn Witness>> {
        Some(Arc::new(self.clone()))
    }

    /// The drill's node of that name takes the place of the configured one.
    fn node(&self, name: &str, node: Arc<dyn Node>) -> Arc<dyn Node> {
        let number = name.strip_prefix(NODE_PREFIX).and_then(|number| number.parse().ok());
        let Some(number) = number else { return node };
        let (world, life) = (self.world.clone(), self.life.clone());
        Arc::new(DrillNode { number, world, life })
    }

    fn catalog(&self, catalog: Arc<dyn Catalog>) -> Arc<dyn Catalog> {
        Arc::new(WatchedCatalog { inner: catalog, watcher: self.clone() })
    }
}

impl Witness for Watcher {
    fn told(&self, now: Timestamp, event: &Event) {
        self.world.trace.note(format_args!("told {now:?} {event:?}"));
    }

    fn said(&self, actions: &[Action]) {
        self.world.trace.note(format_args!("said {actions:?}"));
    }
}

impl RequestObserver for Watcher {
    fn answered(&self, answered: &Answered) {
        self.world.trace.note(format_args!("answered {answered:?}"));
    }
}

/// A catalog whose commits are written down.
#[derive(Debug)]
struct WatchedCatalog {
    inner: Arc<dyn Catalog>,
    watcher: Watcher,
}

#[async_trait]
impl Catalog for WatchedCatalog {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let Watcher { world, life } = &self.watcher;
        life.go_on().await;
        world.trace.note(format_args!("commit {now_ms} {changes:?}"));
        for change in &changes {
            if let Change::DeleteObject { bucket, key, tombstone, .. } = change {
                world.note_deletion((bucket.clone(), key.clone()), tombstone.is_some());
            }
        }
        let outcomes = self.inner.commit(now_ms, changes).await;
        life.go_on().await;
        world.trace.note(format_args!("committed {outcomes:?}"));
        outcomes
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.watcher.life.go_on().await;
        self.inner.read(query).await
    }
}
