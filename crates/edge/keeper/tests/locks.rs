//! What is locked stays: whatever the clocks show, whoever cleans, and when the catalog is lost.

mod common;

use common::{Form, Kept, Pieces, bytes, fragments, settings, target};
use ripstop_catalog::{
    Attributes, Catalog, CatalogError, CatalogSettings, Condition, Embedded, ObjectLock,
    ObjectVersion, Refusal, Retention, RetentionMode, Versioning,
};
use ripstop_host::{Host, rehearse};
use ripstop_keeper::KeeperSettings;
use ripstop_model::PoolId;
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::{Removed, StoreError};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};
use tokio::time::sleep;

const WALL: Duration = Duration::from_hours(24 * 365 * 80);
const HOUR: Duration = Duration::from_hours(1);

/// A store with a bucket `b` that keeps versions.
async fn store() -> (Kept, Vec<Arc<MemoryNode>>) {
    let catalog = Embedded::in_memory(CatalogSettings::default()).expect("opens");
    let catalog: Arc<dyn Catalog> = Arc::new(catalog);
    let nodes: Vec<_> = (0..6).map(|_| Arc::new(MemoryNode::new(1 << 24))).collect();
    let seen = nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let (form, memory) = (Form::spread(6, 4), Memory::new(16 << 20));
    let rarely = 2 * HOUR;
    let settings =
        KeeperSettings { grace: rarely, sweep_every: rarely, list_every: rarely, ..settings() };
    let store = common::store_of(PoolId(0), catalog, seen, form, memory, settings);
    store.create_bucket("b").await.expect("created");
    store.set_versioning("b", Versioning::Enabled).await.expect("set");
    (store, nodes)
}

/// Puts a version that stays for so long.
async fn put_kept(store: &Kept, lock: ObjectLock) -> ObjectVersion {
    let body = Pieces::new(bytes(700, 1));
    let put = store.put(target("k"), 700, body).await.expect("put");
    let version = put.version.expect("it has an id");
    let read = store.version("b", "k", version).await.expect("there");
    let attributes = Attributes { lock, ..read.object.attributes.clone() };
    store.set_attributes("b", "k", &read, attributes).await.expect("kept");
    version
}

async fn delete(store: &Kept, version: ObjectVersion) -> Result<Removed, StoreError> {
    store.delete_version("b", "k", version, Condition::None, false).await
}

fn is_locked(outcome: &Result<Removed, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Catalog(CatalogError::Refused(Refusal::Locked))))
}

fn until(after: Duration) -> ObjectLock {
    let until_ms = u64::try_from((WALL + after).as_millis()).expect("small");
    let mode = RetentionMode::Compliance;
    ObjectLock { retention: Some(Retention { mode, until_ms }), legal_hold: None }
}

#[test]
fn a_clock_that_jumps_ends_no_retention() {
    let host = Host::new(1, UNIX_EPOCH + WALL);
    let clock = host.clone();
    let course = async move {
        let (store, nodes) = store().await;
        let version = put_kept(&store, until(HOUR)).await;
        let told = fragments(&nodes).await;
        assert!(is_locked(&delete(&store, version).await));
        assert_eq!(fragments(&nodes).await, told, "a rebuild would believe what is refused");
        clock.set_wall(UNIX_EPOCH + WALL + 24 * HOUR);
        assert!(is_locked(&delete(&store, version).await), "a day later by the wall clock alone");
        clock.set_wall(UNIX_EPOCH + WALL - 24 * HOUR);
        sleep(2 * HOUR).await;
        assert!(is_locked(&delete(&store, version).await), "it is yesterday, everybody says");
        clock.set_wall(UNIX_EPOCH + WALL + 24 * HOUR);
        delete(&store, version).await.expect("both clocks say so");
    };
    rehearse(async { host.run(course).await });
}

#[test]
fn a_legal_hold_outlasts_every_clock() {
    let host = Host::new(1, UNIX_EPOCH + WALL);
    let course = async move {
        let (store, _nodes) = store().await;
        let held = ObjectLock { legal_hold: Some(true), ..ObjectLock::default() };
        let version = put_kept(&store, held).await;
        sleep(24 * HOUR).await;
        assert!(is_locked(&delete(&store, version).await));
        let bypassed = store.delete_version("b", "k", version, Condition::None, true).await;
        assert!(is_locked(&bypassed));
    };
    rehearse(async { host.run(course).await });
}
