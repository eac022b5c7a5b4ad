//! A store whose stripes are to be brought elsewhere, a catalog that can be made to fail, and gates
//! that hold what is put to it or to the nodes.
#![allow(dead_code, reason = "each test file uses its part")]

mod gate;
mod world;

pub(crate) use gate::*;
pub(crate) use world::*;

use crate::common::*;
use async_trait::async_trait;
use ripstop_catalog::{
    Applied, Audited, Catalog, CatalogError, Change, Condition, Embedded, Outcome, Query, Reply,
};
use ripstop_gateway::{Placement, PlacementGroup, ReadSelection};
use ripstop_keeper::{CheckOptions, Keeper, KeeperSettings, MoveProgress};
use ripstop_model::{NodeId, PoolId, StripeId};
use ripstop_node::{Fault, FaultHandle, FaultSettings, MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::{Store, StoreSettings};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(crate) const POOL: PoolId = PoolId(0);

/// What becomes of the next moves that are put to the catalog.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tamper {
    #[default]
    Nothing,
    /// They fail.
    Fail,
    /// They take effect, and the answer is lost.
    LoseAnswer,
    /// This key is removed just before.
    Remove,
    /// Of the next one only: another fragment is found to be nowhere just before.
    Place,
}

/// A catalog that fails as told.
#[derive(Debug)]
pub(crate) struct Tampered {
    pub(crate) inner: Arc<Embedded>,
    pub(crate) tamper: Mutex<Tamper>,
    /// Holds moves before they take effect.
    pub(crate) moves: Gate,
    /// Holds what is to be forgotten of leftovers.
    pub(crate) forgets: Gate,
    /// Holds answers that name leftovers.
    pub(crate) leftovers: Gate,
    /// What who asks has left of its life.
    life: Arc<Lifetime>,
}

impl Tampered {
    pub(crate) fn new(inner: Arc<Embedded>, life: Arc<Lifetime>) -> Self {
        Self {
            inner,
            tamper: Mutex::default(),
            moves: Gate::default(),
            forgets: Gate::default(),
            leftovers: Gate::default(),
            life,
        }
    }

    pub(crate) fn set(&self, tamper: Tamper) {
        *self.tamper.lock().expect("not poisoned") = tamper;
    }

    async fn commit_move(&self, now_ms: u64, change: Change) -> Result<Applied, CatalogError> {
        let tamper = *self.tamper.lock().expect("not poisoned");
        if matches!(change, Change::ForgetLeftovers { .. }) {
            self.forgets.pass().await;
        }
        let Change::MoveFragment { stripe, nodes, index, .. } = &change else {
            return self.inner.commit_one(now_ms, change).await;
        };
        self.moves.pass().await;
        let lost = || Err(CatalogError::Unavailable("as told".into()));
        match tamper {
            Tamper::Nothing => {}
            Tamper::Fail => return lost(),
            Tamper::LoseAnswer => {
                self.inner.commit_one(now_ms, change).await?;
                return lost();
            }
            Tamper::Remove => {
                let (bucket, key, condition) = ("b".into(), "k".into(), Condition::None);
                let change = Change::DeleteObject {
                    release: ripstop_catalog::Release::default(),
                    bucket,
                    key,
                    condition,
                    tombstone: None,
                    stripes: vec![],
                };
                self.inner.commit_one(now_ms, change).await?;
            }
            Tamper::Place => {
                self.set(Tamper::Nothing);
                let index = (index + 1) % nodes.len() as u8;
                let change = Change::PlaceFragment { stripe: *stripe, index, node: None };
                self.inner.commit_one(now_ms, change).await?;
            }
        }
        self.inner.commit_one(now_ms, change).await
    }
}

#[async_trait]
impl Catalog for Tampered {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        self.life.step().await;
        let is_held = |change: &Change| {
            matches!(change, Change::MoveFragment { .. } | Change::ForgetLeftovers { .. })
        };
        if !changes.iter().any(is_held) {
            let outcomes = self.inner.commit(now_ms, changes).await;
            self.life.step().await;
            return outcomes;
        }
        let mut outcomes = Vec::new();
        for change in changes {
            outcomes.push(match self.commit_move(now_ms, change).await {
                Ok(applied) => Ok(applied),
                Err(CatalogError::Refused(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            });
        }
        Ok(outcomes)
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        let answer = self.inner.read(query).await?;
        if matches!(query, Query::Leftovers { .. }) {
            self.leftovers.pass().await;
        }
        Ok(answer)
    }
}

/// A store over eight nodes, four fragments to a stripe, and what it stands on.
pub(crate) struct Scene {
    pub(crate) store: Store,
    pub(crate) keeper: Keeper,
    pub(crate) catalog: Arc<Tampered>,
    pub(crate) nodes: Vec<Arc<MemoryNode>>,
    pub(crate) gates: Arc<NodeGates>,
    wrapped: Vec<Arc<dyn Node>>,
    faults: Vec<FaultHandle>,
    folder: tempfile::TempDir,
}

fn form() -> Form {
    Form { nodes: 8, ..Form::spread(4, 2) }
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(settings()).await
    }

    pub(crate) async fn with(settings: KeeperSettings) -> Self {
        Self::by((store_settings(), settings)).await
    }

    pub(crate) async fn by(settings: (StoreSettings, KeeperSettings)) -> Self {
        let nodes: Vec<_> = (0..8).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
        let (mut wrapped, mut faults) = (Vec::<Arc<dyn Node>>::new(), Vec::new());
        let gates = Arc::<NodeGates>::default();
        for (node, seed) in nodes.iter().zip(0..) {
            let gated = Gated { inner: node.clone(), gates: gates.clone() };
            let fault = Fault::new(Arc::new(gated), FaultSettings::default(), seed);
            faults.push(fault.handle());
            wrapped.push(Arc::new(fault));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("catalog");
        let catalog =
            Embedded::open(&path, ripstop_catalog::CatalogSettings::default()).expect("opens");
        let catalog = Arc::new(Tampered::new(Arc::new(catalog), Arc::default()));
        let Kept { store, keeper } = open(catalog.clone(), wrapped.clone(), settings);
        store.create_bucket("b").await.expect("done");
        Self { store, keeper, catalog, nodes, gates, wrapped, faults, folder }
    }

    /// Another store over the same nodes and catalog, in the runtime that this is called in.
    pub(crate) fn reopen(&self, settings: KeeperSettings) -> Kept {
        open(self.catalog.clone(), self.wrapped.clone(), (store_settings(), settings))
    }

    /// From now on requests are this store's.
    pub(crate) fn take(&mut self, kept: Kept) {
        (self.store, self.keeper) = (kept.store, kept.keeper);
    }

    pub(crate) fn down(&self, nodes: &[usize], down: bool) {
        for &node in nodes {
            self.faults[node].down(down);
        }
    }

    /// Stores objects and waits until nothing of them is under way.
    pub(crate) async fn fill(&self, count: usize, len: usize) -> BTreeMap<String, Vec<u8>> {
        let mut objects = BTreeMap::new();
        for at in 0..count {
            let (key, content) = (format!("o{at}"), bytes(len + at * 37, at as u64));
            put(&self.store, &key, &content).await;
            objects.insert(key, content);
        }
        // Answered writes go on until all their fragments are stored.
        tokio::time::sleep(Duration::from_millis(100)).await;
        objects
    }

    /// The node sets of all stripes, and how many stripes have each.
    pub(crate) async fn spots(&self) -> BTreeMap<Vec<u16>, u64> {
        let all = self.catalog.stripes_after(StripeId(0), 100_000).await.expect("read");
        let mut spots = BTreeMap::new();
        for (_, stripe) in all {
            let mut nodes: Vec<u16> = stripe.nodes.iter().flatten().copied().collect();
            nodes.sort_unstable();
            *spots.entry(nodes).or_default() += 1;
        }
        spots
    }

    /// Waits until no stripe lacks a fragment, and what was moved for that is due.
    pub(crate) async fn is_mended(&self) {
        for _ in 0..300 {
            self.keeper.mend_waiting().await;
            let all = self.catalog.stripes_after(StripeId(0), 100_000).await.expect("read");
            if all.iter().all(|(_, stripe)| !stripe.nodes.contains(&None)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("some stripe still lacks a fragment");
    }

    pub(crate) async fn all_are(&self, objects: &BTreeMap<String, Vec<u8>>) {
        for (key, content) in objects {
            assert!(get(&self.store, key).await.expect("read") == *content, "{key}");
        }
    }

    /// Sweeps; then every fragment is where the catalog says and nowhere else, whole, and the
    /// catalog agrees with itself.
    pub(crate) async fn is_whole(&self) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.keeper.sweep_garbage().await.expect("swept");
        self.keeper.sweep_unclaimed().await.expect("swept");
        let options = CheckOptions { repair: false };
        let report = self.keeper.check(options, |_| {}).await.expect("checked");
        assert!(report.is_clean(), "{report:?}");
        let all = self.catalog.stripes_after(StripeId(0), 100_000).await.expect("read");
        let mut should = Vec::new();
        for (id, stripe) in &all {
            let places = stripe.nodes.iter().enumerate();
            let places = places.filter_map(|(index, node)| Some((index, usize::from((*node)?))));
            should.extend(places.map(|(index, node)| {
                (node, ripstop_model::FragmentId { stripe: *id, index: index as u8 })
            }));
        }
        should.sort();
        assert_eq!(fragments(&self.nodes).await, should);
        let audit = self.catalog.inner.audit().await.expect("audited");
        assert!(audit.is_clean(), "{:?}", audit.findings);
    }
}

fn open(
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    settings: (StoreSettings, KeeperSettings),
) -> Kept {
    store_by(catalog, nodes, form(), Memory::new(16 << 20), settings)
}

/// A plan of these groups, each with its weight.
pub(crate) fn plan(groups: &[(u64, &[u16])]) -> Placement {
    let group = |&(weight, nodes): &(u64, &[u16])| PlacementGroup {
        weight,
        nodes: nodes.iter().map(|&node| NodeId(node)).collect(),
        dispatch: vec![500_000; nodes.len()],
    };
    Placement { selection: ReadSelection::default(), groups: groups.iter().map(group).collect() }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never {what}");
}

/// Waits until a walk of the mover leaves nothing to move.
pub(crate) async fn moved(keeper: &Keeper, before: MoveProgress) -> MoveProgress {
    for _ in 0..3000 {
        let moves = keeper.moves();
        if moves.walks > before.walks {
            return moves;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still moving: {:?}", keeper.moves());
}

/// Follows a plan to its end.
pub(crate) async fn follow(keeper: &Keeper, groups: &[(u64, &[u16])]) -> MoveProgress {
    let before = keeper.moves();
    keeper.follow(POOL, &plan(groups));
    moved(keeper, before).await
}
