//! What a keeper moves to other classes of storage by the rules of buckets.

mod common;

use common::*;
use ripstop_catalog::{
    Attributes, Audited as _, Condition, Embedded, ListingRequest, Object, ObjectLock,
    ObjectVersion, Retention, RetentionMode, Versioning,
};
use ripstop_gateway::MachineSettings;
use ripstop_keeper::{Aged, CheckOptions, Keeper, LifecycleReader};
use ripstop_lifecycle::Day;
use ripstop_model::{Code, NodeId, PoolId};
use ripstop_node::{Fault, FaultHandle, FaultSettings, MemoryNode, Node};
use ripstop_runtime::{Memory, Origin, Pins, Pool, PoolNode};
use ripstop_store::{PackSettings, Store, StoreSettings};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const READER: LifecycleReader =
    LifecycleReader { document: ripstop_s3::LIFECYCLE_DOCUMENT, read: ripstop_s3::lifecycle_rules };
const DAY_MS: u64 = 86_400_000;
/// Long enough to be moved.
const LEN: usize = 128 << 10;

/// Pools of three nodes each, any two of which suffice: the bucket's, `WARM` and `COLD`.
struct Classes {
    store: Store,
    keeper: Keeper,
    catalog: Arc<Embedded>,
    faults: Vec<FaultHandle>,
    _folder: tempfile::TempDir,
}

impl Classes {
    fn new(below: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("catalog");
        let catalog = Embedded::open(&path, ripstop_catalog::CatalogSettings::default());
        let catalog = Arc::new(catalog.expect("opens"));
        let (to, aftermaths) = ripstop_runtime::aftermaths();
        let (pins, memory) = (Pins::default(), Memory::new(16 << 20));
        let mut faults = Vec::new();
        let pools = (0..3_u16).map(|pool| {
            let node = |at| {
                let fault =
                    Fault::new(Arc::new(MemoryNode::new(1 << 30)), FaultSettings::default(), 7);
                faults.push(fault.handle());
                let node = Arc::new(fault) as Arc<dyn Node>;
                PoolNode { id: NodeId(pool * 3 + at), lanes: 4, node }
            };
            Pool::new(
                Origin { store: 1, pool: PoolId(pool) },
                Code::new(3, 2).expect("a code"),
                MachineSettings {
                    degraded_after: Duration::from_millis(50),
                    ..MachineSettings::default()
                },
                Box::new(Form::spread(3, 2)),
                (0..3).map(node).collect(),
                Arc::new(Unwatched),
                Arc::default(),
                memory.blocks().clone(),
                pins.clone(),
                to.clone(),
            )
        });
        let pools = pools.collect();
        let packs = || PackSettings { below, ..PackSettings::default() };
        let settings = StoreSettings {
            classes: vec![("WARM".to_owned(), PoolId(1)), ("COLD".to_owned(), PoolId(2))],
            packs: (0..3).map(|pool| (PoolId(pool), packs())).collect(),
            ..store_settings()
        };
        let store = Store::new(catalog.clone(), pools, BTreeMap::new(), memory, pins, settings);
        let keeper = Keeper::begin(store.clone(), aftermaths, common::settings());
        Self { store, keeper, catalog, faults, _folder: folder }
    }

    /// With a bucket `b` that keeps versions like this, and these rules.
    async fn with_rules(versioning: Versioning, rules: &str) -> Self {
        let classes = Self::new(0);
        classes.store.create_bucket("b").await.expect("made");
        classes.store.set_versioning("b", versioning).await.expect("set");
        classes.configure(rules).await;
        classes
    }

    async fn configure(&self, rules: &str) {
        let document = format!(
            "<LifecycleConfiguration><Rule><ID>1</ID><Status>Enabled</Status>{rules}</Rule>\
             </LifecycleConfiguration>"
        );
        let set = self.store.set_bucket_document("b", READER.document, Some(&document)).await;
        set.expect("configured");
    }

    /// Does what is due this many days from now.
    async fn after_days(&self, days: u64) -> Aged {
        let now_ms = ripstop_host::unix_ms() + days * DAY_MS;
        self.keeper.remove_due(READER, Day::STANDARD, now_ms).await.expect("walked")
    }

    /// Takes a pool's nodes down, or up again.
    fn down(&self, pool: usize, is_down: bool) {
        self.faults[3 * pool..3 * pool + 3].iter().for_each(|node| node.down(is_down));
    }

    async fn object(&self, key: &str, version: ObjectVersion) -> Object {
        self.store.version("b", key, version).await.expect("there").object.clone()
    }

    /// Classes by key and order of the versions, as a listing shows them.
    async fn classes(&self) -> Vec<(String, String)> {
        let request = ListingRequest { bucket: "b".into(), max: 100, ..Default::default() };
        let listing = self.store.versions(&request).await.expect("listed");
        let found = listing.versions.into_iter().filter(|it| !it.is_marker);
        found.map(|it| (it.key, it.object.storage_class)).collect()
    }

    /// The catalog agrees with itself, and every stripe is whole, in the pool that it should be in.
    async fn is_whole(&self) {
        tokio::time::sleep(Duration::from_millis(200)).await;
        self.keeper.sweep_garbage().await.expect("swept");
        self.keeper.sweep_unclaimed().await.expect("swept");
        let report = self.keeper.check(CheckOptions { repair: false }, |_| {}).await;
        let report = report.expect("checked");
        assert!(report.is_clean(), "{report:?}");
        let audit = self.catalog.audit().await.expect("audited");
        assert!(audit.is_clean(), "{audit:?}");
    }
}

fn moved(moved: u64, bytes: usize) -> Aged {
    Aged { moved, moved_bytes: bytes as u64, ..Aged::default() }
}

fn transition(class: &str, days: u32) -> String {
    format!("<Transition><Days>{days}</Days><StorageClass>{class}</StorageClass></Transition>")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_goes_from_pool_to_pool_and_stays_what_it_is() {
    let rules = "<Prefix/>".to_owned()
        + &transition("WARM", 1)
        + &transition("COLD", 5)
        + "<Expiration><Days>9</Days></Expiration>";
    let at = Classes::with_rules(Versioning::Never, &rules).await;
    let content = bytes(700_000, 3);
    put(&at.store, "k", &content).await;
    put(&at.store, "short", &bytes(LEN - 1, 4)).await;
    let was = at.object("k", ObjectVersion::Null).await;
    assert_eq!(at.after_days(0).await, Aged::default());
    assert_eq!(at.after_days(2).await, moved(1, content.len()));
    assert_eq!(at.after_days(2).await, Aged::default(), "it is there");
    at.down(0, true);
    assert!(get(&at.store, "k").await.expect("read from WARM") == content);
    get(&at.store, "short").await.expect_err("it stayed");
    at.down(0, false);
    at.is_whole().await;
    assert_eq!(at.after_days(6).await, moved(1, content.len()));
    let is = at.object("k", ObjectVersion::Null).await;
    let Object { told_by, stamp, extents, .. } = is.clone();
    let attributes = Attributes { storage_class: "COLD".into(), ..was.attributes.clone() };
    assert_eq!(is, Object { attributes, told_by, stamp, extents, ..was });
    at.down(0, true);
    at.down(1, true);
    assert!(get(&at.store, "k").await.expect("read from COLD") == content);
    at.down(0, false);
    at.down(1, false);
    let names = |key: &str, class: &str| (key.to_owned(), class.to_owned());
    assert_eq!(at.classes().await, [names("k", "COLD"), names("short", "")]);
    at.is_whole().await;
    // Tags go with it, and it is told where it is.
    let read = at.store.object("b", "k").await.expect("there");
    let tags = vec![("a".to_owned(), "b".to_owned())];
    let attributes = Attributes { tags, ..read.object.attributes.clone() };
    at.store.set_attributes("b", "k", &read, attributes).await.expect("tagged");
    assert_eq!(at.after_days(10).await, Aged { objects: 2, ..Aged::default() });
    at.is_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_versions_go_by_rules_of_their_own_and_locked_ones_too_and_all_keep_their_order() {
    let rules = "<Prefix/><NoncurrentVersionTransition><NoncurrentDays>1</NoncurrentDays>\
        <NewerNoncurrentVersions>1</NewerNoncurrentVersions><StorageClass>COLD</StorageClass>\
        </NoncurrentVersionTransition>";
    let at = Classes::with_rules(Versioning::Never, rules).await;
    put(&at.store, "k", &bytes(LEN, 0)).await;
    at.store.set_versioning("b", Versioning::Enabled).await.expect("set");
    for seed in 1..4 {
        put(&at.store, "k", &bytes(LEN, seed)).await;
    }
    let until_ms = ripstop_host::unix_ms() + 900 * DAY_MS;
    let retention = Some(Retention { mode: RetentionMode::Compliance, until_ms });
    let listed = |listing: ripstop_catalog::Listing| {
        listing.versions.into_iter().map(|it| it.version).collect::<Vec<_>>()
    };
    let request = ListingRequest { bucket: "b".into(), max: 100, ..Default::default() };
    let before = listed(at.store.versions(&request).await.expect("listed"));
    let read = at.store.version("b", "k", before[2]).await.expect("there");
    let lock = ObjectLock { retention, legal_hold: Some(true) };
    let attributes = Attributes { lock, ..read.object.attributes.clone() };
    at.store.set_attributes("b", "k", &read, attributes).await.expect("locked");
    at.store.delete("b", "k", Condition::None).await.expect("marked");
    // Of four that are not what the key stands for, the latest is kept.
    assert_eq!(at.after_days(3).await, moved(3, 3 * LEN));
    assert_eq!(at.after_days(3).await, Aged::default());
    let classes: Vec<_> = at.classes().await.into_iter().map(|(_, class)| class).collect();
    assert_eq!(classes, ["", "COLD", "COLD", "COLD"]);
    let after = listed(at.store.versions(&request).await.expect("listed"));
    assert_eq!(after[1..], before, "below the marker, as they came");
    at.down(0, true);
    for (seed, version) in (0..3).zip(after.iter().rev()) {
        let located = at.store.version("b", "k", *version).await.expect("there");
        let whole: Vec<_> = {
            use futures::TryStreamExt as _;
            let pieces = at.store.read(located, 0..LEN as u64).await.expect("read");
            pieces.try_collect::<Vec<_>>().await.expect("read").concat()
        };
        assert!(whole == bytes(LEN, seed), "{version}");
    }
    at.down(0, false);
    assert!(at.object("k", before[2]).await.attributes.lock == lock);
    let refused = at.store.delete_version("b", "k", before[2], Condition::None, true).await;
    refused.expect_err("it is locked there too");
    at.is_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_meanwhile_wins_and_where_the_class_is_down_all_stays() {
    let rules = "<Prefix/>".to_owned() + &transition("WARM", 1);
    let at = Classes::with_rules(Versioning::Never, &rules).await;
    put(&at.store, "k", &bytes(LEN, 1)).await;
    let read = at.store.object("b", "k").await.expect("there");
    put(&at.store, "k", &bytes(LEN, 2)).await;
    let place = ("b", "k", ObjectVersion::Null);
    at.store.relocate(place, &read, "WARM").await.expect_err("it is another");
    at.store.delete("b", "k", Condition::None).await.expect("deleted");
    at.store.relocate(place, &read, "WARM").await.expect_err("it is gone");
    get(&at.store, "k").await.expect_err("it stays so");
    put(&at.store, "k", &bytes(LEN, 3)).await;
    at.down(1, true);
    let aged = at.after_days(2).await;
    assert_eq!((aged.moved, aged.failed), (0, 1), "{aged:?}");
    assert!(get(&at.store, "k").await.expect("read") == bytes(LEN, 3));
    at.down(1, false);
    // A node that was down is asked again in a while.
    for _ in 0..200 {
        if at.after_days(2).await.moved == 1 {
            at.is_whole().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never moved");
}

#[tokio::test(flavor = "multi_thread")]
async fn small_objects_are_written_to_their_class_and_moved_where_their_rule_asks_for_sizes() {
    let at = Classes::new(4096);
    at.store.create_bucket("b").await.expect("made");
    at.configure(
        &("<Filter><ObjectSizeLessThan>4096</ObjectSizeLessThan></Filter>".to_owned()
            + &transition("COLD", 0)),
    )
    .await;
    let lens: Vec<usize> = (0..40).map(|at| at * 50).collect();
    let contents = put_pack(&at.store, &lens).await;
    assert_eq!(at.after_days(1).await, moved(40, lens.iter().sum()));
    let clean = || async {
        let rule = ripstop_batching::CleaningRule {
            dead_share_max: 0.0,
            short_below: 4096,
            merged_len: 1,
            short_max: 2,
            ..Default::default()
        };
        at.keeper.clean(&rule).await
    };
    // What was moved lies alone, and is written together there.
    clean().await.expect("cleaned");
    at.is_whole().await;
    let object = at.object("p7", ObjectVersion::Null).await;
    let held = at.store.keeping().catalog().held(&[object.told_by]).await.expect("read");
    let held = held.into_iter().flatten().next().expect("in force");
    assert!(held.stripe.is_pack() && held.stripe.pool() == PoolId(2), "{held:?}");
    at.down(0, true);
    for (key, content) in contents.iter().enumerate() {
        let found = get(&at.store, &format!("p{key}")).await.expect("read");
        assert!(found == *content, "p{key}");
    }
    at.down(0, false);
}
