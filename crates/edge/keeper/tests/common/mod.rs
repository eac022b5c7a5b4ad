//! A store over memory nodes that can be broken, and its keeper.
#![allow(dead_code, reason = "each test file uses its part")]

/// Scenes and bodies of the tests of requests.
#[path = "../../../store/tests/common/mod.rs"]
mod requests;

pub(crate) use requests::*;

use ripstop_catalog::{Audited as _, Catalog, Embedded};
use ripstop_keeper::{
    Keeper, KeeperSettings, RebuildError, RebuildProgress, RebuildReport, SurveyedNode,
    SurveyedPool,
};
use ripstop_model::{Code, NodeId, PoolId};
use ripstop_node::Node;
use ripstop_runtime::{Memory, Seals};
use ripstop_store::{PackSettings, Store, StoreSettings};
use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

/// A store that is kept.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) store: Store,
    pub(crate) keeper: Keeper,
}

impl Deref for Kept {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// A kept store, its nodes, and the folder of its catalog.
pub(crate) struct Bench {
    requests: requests::Bench,
    pub(crate) keeper: Keeper,
}

impl Bench {
    /// From now on requests are this store's.
    pub(crate) fn take(&mut self, kept: Kept) {
        (self.store, self.keeper) = (kept.store, kept.keeper);
    }
}

impl Deref for Bench {
    type Target = requests::Bench;

    fn deref(&self) -> &requests::Bench {
        &self.requests
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut requests::Bench {
        &mut self.requests
    }
}

pub(crate) fn settings() -> KeeperSettings {
    KeeperSettings {
        grace: Duration::ZERO,
        sweep_every: Duration::from_hours(1),
        move_rate_max: 1 << 30,
        ..KeeperSettings::default()
    }
}

/// A kept store whose stripes are spread over n nodes.
pub(crate) fn bench(n: usize, k: usize) -> Bench {
    bench_of(Form::spread(n, k))
}

pub(crate) fn bench_of(form: Form) -> Bench {
    bench_sealed(form, &Seals::default(), false)
}

/// One that seals, or encrypts, with these keys.
pub(crate) fn bench_sealed(form: Form, seals: &Seals, encrypt: bool) -> Bench {
    let (requests, aftermaths) = bench_with(form, seals, encrypt);
    let keeper = Keeper::begin(requests.store.clone(), aftermaths, settings());
    Bench { requests, keeper }
}

/// One that gathers objects shorter than this, and has stripes of up to 8 MiB.
pub(crate) fn bench_gathering(form: Form, below: u32) -> Bench {
    let packs = PackSettings { below, ..PackSettings::default() };
    let of_store = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let (requests, aftermaths) = bench_by(form, &Seals::default(), false, of_store);
    let keeper = Keeper::begin(requests.store.clone(), aftermaths, settings());
    Bench { requests, keeper }
}

pub(crate) fn store(
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    form: Form,
    memory: Memory,
) -> Kept {
    store_with(catalog, nodes, form, memory, settings())
}

pub(crate) fn store_with(
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    form: Form,
    memory: Memory,
    settings: KeeperSettings,
) -> Kept {
    store_of(PoolId(0), catalog, nodes, form, memory, settings)
}

/// A kept store whose pool has this number.
pub(crate) fn store_of(
    pool: PoolId,
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    form: Form,
    memory: Memory,
    settings: KeeperSettings,
) -> Kept {
    let sealing = (&Seals::default(), false);
    kept(opened(pool, catalog, nodes, form, memory, requests::settings(), sealing), settings)
}

/// One whose requests go by settings of their own.
pub(crate) fn store_by(
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    form: Form,
    memory: Memory,
    (of_store, of_keeper): (StoreSettings, KeeperSettings),
) -> Kept {
    let sealing = (&Seals::default(), false);
    kept(opened(PoolId(0), catalog, nodes, form, memory, of_store, sealing), of_keeper)
}

/// How requests go unless a test says otherwise.
pub(crate) fn store_settings() -> StoreSettings {
    requests::settings()
}

fn kept(
    (store, aftermaths): (Store, tokio::sync::mpsc::Receiver<ripstop_runtime::Aftermath>),
    settings: KeeperSettings,
) -> Kept {
    let keeper = Keeper::begin(store.clone(), aftermaths, settings);
    Kept { store, keeper }
}

/// Forgets the catalog and makes one again from what the nodes hold.
pub(crate) async fn rebuild(bench: &mut Bench) -> RebuildReport {
    rebuild_from(bench, |_, node| node).await.expect("rebuilt")
}

/// A catalog in memory that is made from what nodes hold.
pub(crate) async fn rebuilt(pool: SurveyedPool) -> (Arc<Embedded>, RebuildReport) {
    let again = Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens");
    let folder = tempfile::tempdir().expect("a folder");
    let (scratch, progress) = (folder.path().join("scratch"), RebuildProgress::default());
    let report =
        ripstop_keeper::rebuild(&again, vec![pool], &scratch, &progress, &Seals::default()).await;
    (Arc::new(again), report.expect("rebuilt"))
}

/// The number that the pool has after a rebuild.
const POOL_AGAIN: PoolId = PoolId(40);

/// The same, each node seen through what `seen` makes of it. The pool has another number than
/// before.
pub(crate) async fn rebuild_from(
    bench: &mut Bench,
    seen: impl Fn(usize, Arc<dyn Node>) -> Arc<dyn Node>,
) -> Result<RebuildReport, RebuildError> {
    let nodes: Vec<Arc<dyn Node>> =
        bench.nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let surveyed = (0..).zip(nodes.iter().enumerate()).map(|(id, (at, node))| SurveyedNode {
        id: NodeId(id),
        name: format!("d{at}"),
        node: seen(at, node.clone()),
    });
    let (n, k) = bench.form.code;
    let pool = SurveyedPool {
        id: POOL_AGAIN,
        name: "p".into(),
        code: Code::new(n, k).expect("a code"),
        layout: bench.form.layout,
        nodes: surveyed.collect(),
    };
    let folder = bench.folder.path();
    let again = folder.join("again");
    if again.exists() {
        std::fs::remove_file(&again).expect("removed");
    }
    let again = Embedded::open(&again, ripstop_catalog::CatalogSettings::default()).expect("opens");
    let (again, progress) = (Arc::new(again), RebuildProgress::default());
    let scratch = folder.join("scratch");
    let report =
        ripstop_keeper::rebuild(&*again, vec![pool], &scratch, &progress, &bench.seals).await?;
    assert!(!scratch.exists(), "nothing is left aside");
    assert_eq!(
        (progress.fragments(), progress.objects()),
        (report.fragments + report.damaged, report.objects)
    );
    let audit = again.audit().await.expect("audited");
    assert!(audit.is_clean(), "{audit:?}");
    bench.catalog = again.clone();
    let memory = bench.memory.clone();
    let sealing = (&bench.seals, bench.encrypt);
    let store = opened(POOL_AGAIN, again, nodes, bench.form, memory, requests::settings(), sealing);
    bench.take(kept(store, settings()));
    Ok(report)
}
