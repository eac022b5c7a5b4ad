//! A gateway whose catalog answers nothing any more writes no new stripe before another may give up
//! its session: in a rehearsal, where a minute takes none.

mod common;

use async_trait::async_trait;
use bytes::Bytes;
use common::{Form, fragments, settings, store_by, store_settings, target};
use ripstop_catalog::{
    Attributes, Catalog, CatalogError, Change, Model, Outcome, Query, Reply, Watermark,
};
use ripstop_host::{Host, now, rehearse, spawn, unix_ms};
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::{Body, StoreSettings};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};
use tokio::time::sleep;

const PIECE: usize = 64 << 10;
const PIECE_EVERY: Duration = Duration::from_millis(250);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A catalog that takes no changes while it stalls.
#[derive(Debug, Default)]
struct Stalling {
    model: Model,
    stalls: AtomicBool,
}

#[async_trait]
impl Catalog for Stalling {
    async fn commit(&self, now: u64, changes: Vec<Change>) -> Result<Vec<Outcome>, CatalogError> {
        while self.stalls.load(Ordering::Acquire) {
            sleep(LOOK_EVERY).await;
        }
        self.model.commit(now, changes).await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.model.read(query).await
    }
}

/// A body that comes for as long as anybody takes it.
struct Endless {
    left: usize,
}

impl Body for Endless {
    type Seal = Attributes;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<Bytes, &'static str>> {
        sleep(PIECE_EVERY).await;
        self.left = self.left.checked_sub(PIECE)?;
        Some(Ok(vec![7; PIECE].into()))
    }

    fn seal(&mut self) -> Result<Attributes, &'static str> {
        Ok(Attributes::default())
    }
}

async fn course() {
    let catalog = Arc::new(Stalling::default());
    let nodes: Vec<_> = (0..6).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
    let seen = nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let shared = StoreSettings { is_shared: true, stripe_max: PIECE as u32, ..store_settings() };
    let (form, memory) = (Form::spread(6, 4), Memory::new(16 << 20));
    let gateway = store_by(catalog.clone(), seen, form, memory, (shared, settings()));
    gateway.create_bucket("b").await.expect("created");
    let (store, len) = (gateway.store.clone(), PIECE * 1000);
    let body = Endless { left: len };
    let writing = spawn(async move { store.put(target("k"), len as u64, body).await });
    sleep(Duration::from_secs(20)).await;
    catalog.stalls.store(true, Ordering::Release);
    let alive_until_ms = async || {
        let watermarks = catalog.watermarks().await.expect("read");
        watermarks.iter().map(|(_, Watermark { alive_until_ms, .. })| *alive_until_ms).max()
    };
    let alive_until_ms = alive_until_ms().await.expect("it told that it is alive");
    let begun = now();
    let (mut stored, mut last_ms) = (fragments(&nodes).await.len(), 0);
    let first = stored;
    while now() - begun < Duration::from_mins(1) {
        sleep(LOOK_EVERY).await;
        let found = fragments(&nodes).await.len();
        if found != stored {
            (stored, last_ms) = (found, unix_ms());
        }
    }
    assert!(stored > first + 6, "it goes on for as long as it may: {first}, {stored}");
    assert!(unix_ms() > alive_until_ms, "others may have given it up by now");
    assert!(last_ms + 1000 < alive_until_ms, "{last_ms} of {alive_until_ms}");
    // And it goes on when the catalog does, unless it was given up meanwhile.
    catalog.stalls.store(false, Ordering::Release);
    sleep(Duration::from_secs(5)).await;
    assert!(fragments(&nodes).await.len() > stored);
    writing.abort();
}

#[test]
fn a_gateway_whose_catalog_stalls_stops_writing_before_its_session_may_be_given_up() {
    rehearse(async {
        let host = Host::new(1, UNIX_EPOCH + Duration::from_hours(24 * 365 * 60));
        host.run(course()).await;
    });
}
