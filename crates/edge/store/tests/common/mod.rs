//! A store over memory nodes that can be broken, and bodies to put into it. Nobody keeps the store,
//! unless the caller does.
#![allow(dead_code, reason = "each test file uses its part")]

use bytes::Bytes;
use futures::TryStreamExt;
use ripstop_catalog::{Attributes, Catalog, Condition, Embedded, Quota, Upload, Versioning};
use ripstop_gateway::{AfterAnswer, MachineSettings, Report};
use ripstop_model::{Code, FragmentId, NodeId, PoolId, Timestamp};
use ripstop_node::{Fault, FaultSettings, MemoryNode, Meter, Node, Operation as NodeOperation};
use ripstop_policy::{Choice, Chunking, Load, Operation, Policy, Redundancy, RequestClass};
use ripstop_runtime::{Aftermath, Layout, Memory, Observer, Origin, Pins, Pool, PoolNode, Seals};
use ripstop_store::{
    Batch, Body, Deed, Done, Member, PartSeal, Quotas, Store, StoreError, StoreSettings, Target,
    WriteError,
};
use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Timestamp, _: &Report) {}
}

/// A store, its nodes, and the folder of its catalog.
pub(crate) struct Bench {
    pub(crate) form: Form,
    pub(crate) seals: Seals,
    pub(crate) encrypt: bool,
    pub(crate) store: Store,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) nodes: Vec<Arc<MemoryNode>>,
    pub(crate) memory: Memory,
    pub(crate) folder: tempfile::TempDir,
    faults: Vec<ripstop_node::FaultHandle>,
    meters: Vec<Arc<Meter>>,
}

impl Bench {
    /// Takes nodes down, or up again.
    pub(crate) fn down(&self, nodes: &[usize], down: bool) {
        for &node in nodes {
            self.faults[node].down(down);
        }
    }

    /// Deletes that a node was asked for.
    pub(crate) fn deletes(&self, node: usize) -> u64 {
        self.meters[node].readings()[NodeOperation::Delete as usize].started
    }

    /// Gets that the nodes were asked for.
    pub(crate) fn gets(&self) -> u64 {
        let gets = |meter: &Arc<Meter>| meter.readings()[NodeOperation::Get as usize].started;
        self.meters.iter().map(gets).sum()
    }
}

impl Bench {
    /// Bytes that gets moved.
    pub(crate) fn got_bytes(&self) -> u64 {
        let bytes = |meter: &Arc<Meter>| meter.readings()[NodeOperation::Get as usize].bytes;
        self.meters.iter().map(bytes).sum()
    }
}

/// A member of a batch that puts an object.
pub(crate) fn put_member(key: &str, bytes: &[u8], condition: Condition) -> Member {
    let attributes = Attributes { etag: "etag".into(), ..Attributes::default() };
    let bytes = Bytes::copy_from_slice(bytes);
    let deed = Deed::Put { bytes, attributes, versioning: Versioning::Never };
    Member { target: Target { condition, ..target(key) }, deed }
}

/// One that deletes.
pub(crate) fn delete_member(key: &str, condition: Condition) -> Member {
    Member { target: Target { condition, ..target(key) }, deed: Deed::Delete { bypass: false } }
}

/// Writes members together; each must have a key of its own.
pub(crate) async fn write_batch(
    store: &Store,
    members: impl IntoIterator<Item = Member>,
) -> Vec<Result<Done, StoreError>> {
    let mut batch = Batch::default();
    for member in members {
        batch.add(member).expect("there is room");
    }
    store.write_batch(store.keeping().pools()[0].id(), batch).await
}

/// Writes a pack of objects of these lengths at keys "p0", "p1" ...; answers their bytes.
pub(crate) async fn put_pack(store: &Store, lens: &[usize]) -> Vec<Vec<u8>> {
    let contents: Vec<Vec<u8>> = (1..).zip(lens).map(|(seed, &len)| bytes(len, seed)).collect();
    let members = (0..)
        .zip(&contents)
        .map(|(at, bytes): (usize, _)| put_member(&format!("p{at}"), bytes, Condition::None));
    for done in write_batch(store, members).await {
        assert!(matches!(done, Ok(Done::Put(_))), "{done:?}");
    }
    contents
}

pub(crate) fn settings() -> StoreSettings {
    StoreSettings { stripe_max: 256 << 10, ..StoreSettings::default() }
}

/// A pool's layout and storage code, and the codes that its policy chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) layout: Layout,
    pub(crate) nodes: usize,
    pub(crate) code: (usize, usize),
    /// Where chunks are runs of strips.
    pub(crate) read: (usize, usize),
    /// Likewise.
    pub(crate) write: (usize, usize),
    pub(crate) after_answer: AfterAnswer,
}

impl Form {
    fn new(layout: Layout, nodes: usize, code: (usize, usize)) -> Self {
        let (read, after_answer) = ((code.1, code.1), AfterAnswer::Continue);
        Self { layout, nodes, code, read, write: code, after_answer }
    }

    /// One strip at each of n nodes.
    pub(crate) fn spread(n: usize, k: usize) -> Self {
        Self::new(Layout::Spread, n, (n, k))
    }

    /// One fragment at one of two nodes, read by this code.
    pub(crate) fn shared(code: (usize, usize), read: (usize, usize)) -> Self {
        Self { read, ..Self::new(Layout::Shared, 2, code) }
    }

    /// The fragments of this code at one of two nodes.
    pub(crate) fn unique(code: (usize, usize), write: (usize, usize)) -> Self {
        Self { write, ..Self::new(Layout::Unique, 2, code) }
    }

    /// Some of each layout, with few chunks and with many.
    pub(crate) fn all() -> Vec<Self> {
        let wide = (24, 12);
        let shared = [(1, 1), (2, 1), (6, 3), (12, 12), (13, 12), (24, 12)];
        let unique = [(1, 1), (2, 1), (5, 3), (12, 12), (24, 12)];
        let plain =
            [Self::spread(6, 4), Self::shared((12, 12), (4, 4)), Self::shared((7, 4), (3, 2))];
        plain
            .into_iter()
            .chain(shared.map(|read| Self::shared(wide, read)))
            .chain(unique.map(|write| Self::unique(wide, write)))
            .collect()
    }
}

impl Policy for Form {
    fn choose(&mut self, _: Timestamp, class: &RequestClass, _: Load) -> Choice {
        let (n, k) = match (class.chunking, class.operation) {
            (Chunking::Run, Operation::Read) => self.read,
            (Chunking::Run, Operation::Write) => self.write,
            (Chunking::Strip, Operation::Read) => (class.code.k(), class.code.k()),
            (Chunking::Strip, Operation::Write) => (class.code.n(), class.code.k()),
        };
        let code = Code::new(n, k).expect("a code");
        Choice { code, redundancy: Redundancy::Eager }
    }
}

/// A store whose stripes are spread over n nodes.
pub(crate) fn bench(n: usize, k: usize) -> Bench {
    bench_of(Form::spread(n, k))
}

pub(crate) fn bench_of(form: Form) -> Bench {
    bench_sealed(form, &Seals::default(), false)
}

/// A store that seals, or encrypts, with these keys.
pub(crate) fn bench_sealed(form: Form, seals: &Seals, encrypt: bool) -> Bench {
    bench_with(form, seals, encrypt).0
}

/// The same, and what becomes of its writes.
pub(crate) fn bench_with(
    form: Form,
    seals: &Seals,
    encrypt: bool,
) -> (Bench, mpsc::Receiver<Aftermath>) {
    bench_by(form, seals, encrypt, settings())
}

/// The same, with a store of these settings.
pub(crate) fn bench_by(
    form: Form,
    seals: &Seals,
    encrypt: bool,
    settings: StoreSettings,
) -> (Bench, mpsc::Receiver<Aftermath>) {
    let nodes: Vec<_> = (0..form.nodes).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
    let (mut wrapped, mut faults) = (Vec::<Arc<dyn Node>>::new(), Vec::new());
    let mut meters = Vec::new();
    for (node, seed) in nodes.iter().zip(0..) {
        let fault = Fault::new(node.clone(), FaultSettings::default(), seed);
        faults.push(fault.handle());
        let meter = Arc::new(Meter::new(Arc::new(fault)));
        meters.push(meter.clone());
        wrapped.push(meter);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalog");
    let catalog = Arc::new(
        Embedded::open(&path, ripstop_catalog::CatalogSettings::default()).expect("opens"),
    );
    let memory = Memory::new(16 << 20);
    let sealing = (seals, encrypt);
    let (store, aftermaths) =
        opened(PoolId(0), catalog.clone(), wrapped, form, memory.clone(), settings, sealing);
    let seals = seals.clone();
    let bench =
        Bench { form, seals, encrypt, store, catalog, nodes, memory, folder, faults, meters };
    (bench, aftermaths)
}

/// A store whose pool has this number, sealing with the first of some keys, or encrypting with it;
/// and what becomes of its writes.
pub(crate) fn opened(
    pool: PoolId,
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<dyn Node>>,
    form: Form,
    memory: Memory,
    settings: StoreSettings,
    (seals, encrypt): (&Seals, bool),
) -> (Store, mpsc::Receiver<Aftermath>) {
    let (to, aftermaths) = ripstop_runtime::aftermaths();
    let pins = Pins::default();
    let nodes = (0..).zip(nodes);
    let nodes = nodes.map(|(id, node)| PoolNode { id: NodeId(id), lanes: 4, node }).collect();
    let (n, k) = form.code;
    let pool = Pool::new(
        Origin { store: 1, pool },
        Code::new(n, k).expect("a code"),
        MachineSettings {
            // Under unique key, what the form's policy writes is what is to be durable.
            answer_extra: match form.layout {
                Layout::Unique => u8::from(form.write.0 > form.write.1),
                Layout::Spread | Layout::Shared => u8::from(n > k),
            },
            degraded_after: Duration::from_millis(50),
            probe_every: Duration::from_millis(20),
            after_answer: form.after_answer,
            ..MachineSettings::default()
        },
        Box::new(form),
        nodes,
        Arc::new(Unwatched),
        Arc::default(),
        memory.blocks().clone(),
        pins.clone(),
        to,
    );
    let pools = vec![pool.with_layout(form.layout).with_seals(seals.clone(), encrypt)];
    (Store::new(catalog, pools, BTreeMap::new(), memory, pins, settings), aftermaths)
}

/// Waits until nothing is in memory any longer: every task has ended.
pub(crate) async fn settle(bench: &Bench) {
    let all = 16 << 20;
    for _ in 0..500 {
        if bench.memory.free() == all {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // The aftermath goes through a channel and the catalog, one change for each fragment.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Deletes everything at a node.
pub(crate) async fn wipe(bench: &Bench, node: usize) {
    for (at, name) in fragments(&bench.nodes).await {
        if at == node {
            bench.nodes[node].delete(name).await.expect("deleted");
        }
    }
}

/// The whole of a fragment.
pub(crate) async fn read_whole(bench: &Bench, node: usize, name: FragmentId) -> Bytes {
    let listed: Vec<_> = bench.nodes[node].list().try_collect().await.expect("listed");
    let listed = listed.iter().find(|listed| listed.name == name).expect("it is there");
    bench.nodes[node].get(name, 0..listed.len).await.expect("there")
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

    /// The same in pieces of this many bytes.
    pub(crate) fn each_of(self, piece: usize) -> Self {
        Self { piece, ..self }
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
        self.0.seal().map(|seal| PartSeal { etag: seal.etag, checksum: None, salt: None })
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

/// An upload to a key that is not begun yet.
pub(crate) fn upload_of(bucket: &str, key: &str) -> Upload {
    Upload {
        id: String::new(),
        bucket: bucket.into(),
        key: key.into(),
        created_ms: 0,
        attributes: Attributes::default(),
        checksum: None,
        ..Upload::default()
    }
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
    let mut pieces = store.read(located, range).await?;
    let mut found = Vec::new();
    // None is kept: each holds memory that the next ones, or other readers, may wait for.
    while let Some(piece) = pieces.try_next().await? {
        found.extend_from_slice(&piece);
    }
    Ok(found)
}

/// Every fragment of every node, as (node, name).
pub(crate) async fn fragments(nodes: &[Arc<MemoryNode>]) -> Vec<(usize, FragmentId)> {
    let mut all = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let listed: Vec<_> = node.list().try_collect().await.expect("listed");
        all.extend(listed.into_iter().map(|listed| (at, listed.name)));
    }
    all.sort();
    all
}

/// Has bucket `b` hold this much at most.
pub(crate) fn set_quota(bench: &Bench, bytes: Option<u64>, objects: Option<u64>) {
    let named = BTreeMap::from([("b".to_owned(), Quota { bytes, objects })]);
    bench.store.set_quotas(Quotas { named, others: Quota::NONE });
}

/// The bytes and objects that bucket `b` holds.
pub(crate) async fn held(bench: &Bench) -> (u64, u64) {
    let usage = bench.store.usage("b").await.expect("read");
    (usage.bytes, usage.objects)
}

pub(crate) async fn try_put(
    bench: &Bench,
    key: &str,
    len: usize,
) -> Result<(), WriteError<&'static str>> {
    let body = Pieces::new(bytes(len, 1));
    bench.store.put(target(key), len as u64, body).await.map(|_| ())
}
