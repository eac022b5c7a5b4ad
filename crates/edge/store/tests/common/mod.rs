//! A store over memory nodes that can be broken, and bodies to put into it.
#![allow(dead_code, reason = "each test file uses its part")]

use bytes::Bytes;
use futures::TryStreamExt;
use ripstop_catalog::{Attributes, Catalog, Condition, Embedded};
use ripstop_gateway::{Report, Settings as MachineSettings};
use ripstop_model::{Code, NodeId, PoolId, Timestamp};
use ripstop_node::{Fault, FaultSettings, Memory as MemoryNode, Node};
use ripstop_runtime::{Memory, Observer, Origin, Pins, Pool, PoolNode};
use ripstop_store::{Body, PartSeal, Settings, Store, StoreError, Target};
use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

#[derive(Debug)]
pub(crate) struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Timestamp, _: &Report) {}
}

/// A store, its nodes, and the folder of its catalog.
pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) nodes: Vec<Arc<MemoryNode>>,
    pub(crate) memory: Memory,
    pub(crate) folder: tempfile::TempDir,
    faults: Vec<ripstop_node::FaultHandle>,
}

impl Bench {
    /// Takes nodes down, or up again.
    pub(crate) fn down(&self, nodes: &[usize], down: bool) {
        for &node in nodes {
            self.faults[node].down(down);
        }
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        stripe_max: 256 << 10,
        grace: Duration::ZERO,
        sweep_every: Duration::from_hours(1),
        ..Settings::default()
    }
}

pub(crate) fn bench(n: usize, k: usize) -> Bench {
    let nodes: Vec<_> = (0..n).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
    let (mut wrapped, mut faults) = (Vec::<Arc<dyn Node>>::new(), Vec::new());
    for (node, seed) in nodes.iter().zip(0..) {
        let fault = Fault::new(node.clone(), FaultSettings::default(), seed);
        faults.push(fault.handle());
        wrapped.push(Arc::new(fault));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalog");
    let catalog =
        Arc::new(Embedded::open(&path, ripstop_catalog::Settings::default()).expect("opens"));
    let memory = Memory::new(16 << 20);
    let store = store(catalog.clone(), wrapped, n, k, memory.clone());
    Bench { store, catalog, nodes, memory, folder, faults }
}

pub(crate) fn store(
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    n: usize,
    k: usize,
    memory: Memory,
) -> Store {
    let (to, aftermath) = tokio::sync::mpsc::unbounded_channel();
    let pins = Pins::default();
    let nodes = (0..).zip(nodes);
    let nodes = nodes.map(|(id, node)| PoolNode { id: NodeId(id), lanes: 4, node }).collect();
    let policy = ripstop_policy::by_name("fixed", &ripstop_policy::Settings::default());
    let pool = Pool::new(
        Origin { store: 1, pool: PoolId(0) },
        Code::new(n, k).expect("a code"),
        MachineSettings {
            answer_extra: u8::from(n > k),
            degraded_after: Duration::from_millis(50),
            probe_every: Duration::from_millis(20),
            ..MachineSettings::default()
        },
        policy.expect("known"),
        nodes,
        Arc::new(Unwatched),
        Arc::default(),
        pins.clone(),
        to,
    );
    Store::new(catalog, vec![pool], BTreeMap::new(), memory, pins, aftermath, settings())
}

/// A body of given bytes, in pieces.
pub(crate) struct Pieces {
    bytes: Bytes,
    piece: usize,
    fail_at_end: bool,
}

impl Pieces {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), piece: 10_000, fail_at_end: false }
    }

    pub(crate) fn failing(bytes: impl Into<Bytes>) -> Self {
        Self { fail_at_end: true, ..Self::new(bytes) }
    }
}

impl Body for Pieces {
    type Seal = Attributes;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<Bytes, &'static str>> {
        let piece = self.bytes.split_to(self.piece.min(self.bytes.len()));
        (!piece.is_empty()).then_some(Ok(piece))
    }

    fn seal(&mut self) -> Result<Attributes, &'static str> {
        if self.fail_at_end {
            return Err("bad digest");
        }
        Ok(Attributes { etag: "etag".into(), ..Attributes::default() })
    }
}

/// The same as a part.
pub(crate) struct PartPieces(pub(crate) Pieces);

impl Body for PartPieces {
    type Seal = PartSeal;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<Bytes, &'static str>> {
        self.0.next().await
    }

    fn seal(&mut self) -> Result<PartSeal, &'static str> {
        self.0.seal().map(|seal| PartSeal { etag: seal.etag, checksum: None })
    }
}

/// Bytes that tell their place.
pub(crate) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

pub(crate) fn target(key: &str) -> Target {
    Target { bucket: "b".into(), key: key.into(), condition: Condition::None }
}

pub(crate) async fn put(store: &Store, key: &str, bytes: &[u8]) {
    let body = Pieces::new(bytes.to_vec());
    store.put(target(key), bytes.len() as u64, body).await.expect("put");
}

pub(crate) async fn get(store: &Store, key: &str) -> Result<Vec<u8>, StoreError> {
    let located = store.object("b", key).await?;
    let len = located.object.len;
    range(store, key, 0..len).await
}

pub(crate) async fn range(
    store: &Store,
    key: &str,
    range: Range<u64>,
) -> Result<Vec<u8>, StoreError> {
    let located = store.object("b", key).await?;
    let pieces: Vec<Bytes> = store.read(located, range).await?.try_collect().await?;
    Ok(pieces.concat())
}

/// Every fragment of every node, as (node, name).
pub(crate) async fn fragments(
    nodes: &[Arc<MemoryNode>],
) -> Vec<(usize, ripstop_model::FragmentId)> {
    let mut all = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let listed: Vec<_> = node.list().try_collect().await.expect("listed");
        all.extend(listed.into_iter().map(|listed| (at, listed.name)));
    }
    all.sort();
    all
}
