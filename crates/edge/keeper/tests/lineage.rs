//! An old catalog that is put back deletes nothing that was written since, and can be completed.

mod common;

use common::{Form, Kept, bytes, fragments, get, put, settings, store_with};
use ripstop_catalog::{Audited, Catalog, Change, Embedded};
use ripstop_keeper::{
    CheckOptions, Keeper, RebuildProgress, SurveyedNode, SurveyedPool, complete, rebuild,
};
use ripstop_model::{Code, FragmentId, NodeId, PoolId};
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::{Layout, Memory, Seals};
use ripstop_store::Store;
use std::{fs, path::PathBuf, sync::Arc, time::Duration};

/// Nodes and a folder that outlive their gateways.
struct Place {
    folder: tempfile::TempDir,
    nodes: Vec<Arc<MemoryNode>>,
}

/// One run of a gateway.
struct Session {
    catalog: Arc<Embedded>,
    store: Store,
    keeper: Keeper,
    memory: Memory,
}

const MEMORY: usize = 16 << 20;

impl Place {
    fn new() -> Self {
        let nodes = (0..6).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
        Self { folder: tempfile::tempdir().expect("a folder"), nodes }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn all(&self) -> Vec<(NodeId, Arc<dyn Node>)> {
        let nodes = (0..).zip(&self.nodes);
        nodes.map(|(id, node)| (NodeId(id), node.clone() as Arc<dyn Node>)).collect()
    }

    fn surveyed(&self) -> SurveyedPool {
        let nodes = self.all().into_iter();
        let nodes = nodes.map(|(id, node)| SurveyedNode { id, name: format!("d{}", id.0), node });
        SurveyedPool {
            id: PoolId(0),
            name: "p".into(),
            code: Code::new(6, 4).expect("a code"),
            layout: Layout::Spread,
            nodes: nodes.collect(),
        }
    }

    fn open(&self) -> Session {
        let settings = ripstop_catalog::CatalogSettings::default();
        let catalog = Arc::new(Embedded::open(&self.path("catalog"), settings).expect("opens"));
        let nodes = self.all().into_iter().map(|(_, node)| node).collect();
        let (memory, form) = (Memory::new(MEMORY), Form::spread(6, 4));
        let Kept { store, keeper } =
            store_with(catalog.clone(), nodes, form, memory.clone(), common::settings());
        Session { catalog, store, keeper, memory }
    }

    async fn fragments(&self) -> Vec<(usize, FragmentId)> {
        fragments(&self.nodes).await
    }
}

impl Session {
    /// Waits until what was answered is stored and noted.
    async fn settle(&self) {
        while !self.memory.is_free() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    async fn close(self) {
        self.settle().await;
        drop((self.store, self.keeper));
        while Arc::strong_count(&self.catalog) > 1 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn content(at: u64) -> Vec<u8> {
    bytes(20_000, at)
}

/// A catalog that was copied while stopped, and put back after twenty-one newer writes.
async fn put_back() -> Place {
    let place = Place::new();
    let first = place.open();
    first.store.create_bucket("b").await.expect("made");
    put(&first.store, "old", &content(100)).await;
    put(&first.store, "overwritten", &content(101)).await;
    first.close().await;
    fs::copy(place.path("catalog"), place.path("copy")).expect("copied");
    let second = place.open();
    for at in 0..20 {
        put(&second.store, &format!("new{at}"), &content(at)).await;
    }
    put(&second.store, "overwritten", &content(200)).await;
    second.close().await;
    fs::rename(place.path("copy"), place.path("catalog")).expect("put back");
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_catalog_put_back_deletes_nothing_newer_and_says_so() {
    let place = put_back().await;
    let before = place.fragments().await;
    // Also after a restart, which reserves names later than those that are unknown.
    for _ in 0..2 {
        let old = place.open();
        assert_eq!(old.store.newer(), None, "before the nodes are listed");
        put(&old.store, "later", &content(300)).await;
        old.settle().await;
        let with_later = place.fragments().await;
        assert_eq!(old.keeper.sweep_unclaimed().await.expect("swept"), 0);
        assert!(old.store.newer().is_some());
        let repair = CheckOptions { repair: true };
        let report = old.keeper.check(repair, |_| {}).await.expect("checked");
        assert!(report.newer >= 21 * 6 && !report.is_clean(), "{report:?}");
        assert_eq!(place.fragments().await, with_later);
        old.close().await;
    }
    let now = place.fragments().await;
    assert!(before.iter().all(|fragment| now.contains(fragment)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_old_catalog_lacks_is_brought_in_from_the_fragments() {
    let place = put_back().await;
    let old = Embedded::open(&place.path("catalog"), ripstop_catalog::CatalogSettings::default());
    let (old, found) =
        (old.expect("opens"), Embedded::in_memory(ripstop_catalog::CatalogSettings::default()));
    let found = found.expect("made");
    let (scratch, progress) = (place.path("scratch"), RebuildProgress::default());
    let seals = Seals::default();
    rebuild(&found, vec![place.surveyed()], &scratch, &progress, &seals).await.expect("rebuilt");
    let report = complete(&old, &found, |_| {}).await.expect("completed");
    assert_eq!((report.buckets, report.objects, report.left_out), (0, 21, 0), "{report:?}");
    let again = complete(&old, &found, |_| {}).await.expect("completed");
    assert_eq!(again.objects, 0);
    old.commit_one(1, Change::Vouch { before_ms: u64::MAX >> 20 }).await.expect("vouched");
    assert!(old.audit().await.expect("audited").is_clean());
    drop(old);

    let session = place.open();
    for at in 0..20 {
        assert_eq!(get(&session.store, &format!("new{at}")).await.expect("there"), content(at));
    }
    assert_eq!(get(&session.store, "old").await.expect("there"), content(100));
    assert_eq!(get(&session.store, "overwritten").await.expect("there"), content(200));
    session.keeper.sweep_unclaimed().await.expect("swept");
    assert_eq!(session.store.newer(), None);
    assert_eq!(get(&session.store, "new0").await.expect("there"), content(0));
    assert!(
        session.keeper.check(CheckOptions::default(), |_| {}).await.expect("checked").is_clean()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_wrote_that_was_given_up_is_left_out() {
    let place = put_back().await;
    let settings = ripstop_catalog::CatalogSettings::default;
    let old = Embedded::open(&place.path("catalog"), settings()).expect("opens");
    let found = Embedded::in_memory(settings()).expect("made");
    let (scratch, progress) = (place.path("scratch"), RebuildProgress::default());
    let seals = Seals::default();
    rebuild(&found, vec![place.surveyed()], &scratch, &progress, &seals).await.expect("rebuilt");
    let newest = found.object("b", "new0").await.expect("read").expect("there").object.told_by;
    let session = ripstop_catalog::Session::of(newest);
    let watch = Change::Watch { session, least: newest, alive_until_ms: 1 };
    old.commit_one(1, watch).await.expect("watched");
    old.commit_one(2, Change::Retire).await.expect("given up");
    let report = complete(&old, &found, |_| {}).await.expect("completed");
    assert_eq!((report.buckets, report.objects, report.left_out), (0, 0, 21), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_gateway_left_is_swept_by_the_next() {
    let place = Place::new();
    let killed = place.open();
    killed.store.create_bucket("b").await.expect("made");
    put(&killed.store, "kept", &content(1)).await;
    killed.settle().await;
    let before = place.fragments().await;
    // What the file holds now is what a kill before the next commit leaves.
    fs::copy(place.path("catalog"), place.path("copy")).expect("copied");
    put(&killed.store, "uncommitted", &content(2)).await;
    killed.close().await;
    fs::rename(place.path("copy"), place.path("catalog")).expect("put back");
    assert!(place.fragments().await.len() > before.len());

    let next = place.open();
    assert!(settings().grace.is_zero());
    assert!(next.keeper.sweep_unclaimed().await.expect("swept") > 0);
    assert_eq!((next.store.newer(), place.fragments().await), (None, before));
    assert_eq!(get(&next.store, "kept").await.expect("there"), content(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_known_to_the_catalog_before_anything_is_written_by_it() {
    let place = Place::new();
    let session = place.open();
    session.store.create_bucket("b").await.expect("made");
    for at in 0..50 {
        put(&session.store, &format!("k{at}"), &content(at)).await;
    }
    session.settle().await;
    let vouched = session.catalog.vouched().await.expect("vouched");
    let names = place.fragments().await;
    assert!(names.len() >= 51 * 6 && vouched.sessions.len() == 1);
    assert!(names.iter().all(|(_, name)| vouched.covers(name.stripe)));
}
