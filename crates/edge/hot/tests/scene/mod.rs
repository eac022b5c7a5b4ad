//! A pool over nodes in memory, each counted and as slow as it is told, and a hot tier over real
//! memcached servers.
#![allow(dead_code, reason = "each program uses its part")]

use crate::support::{Server, key, settings};
use bytes::Bytes;
use ripstop_delay::{DelayModel, Preset};
use ripstop_gateway::{MachineSettings, Report};
use ripstop_hot::{HotPool, HotTier, HotTierSettings};
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
use ripstop_model::{
    BlockLen, Code, Layout, NodeId, PoolId, Price, StripeId, StripeShape, Timestamp,
};
use ripstop_node::{Delay, MemoryNode, Meter, Node, Operation};
use ripstop_policy::PolicySettings;
use ripstop_runtime::{
    Memory, Observer, Origin, Pool, PoolNode, Purpose, Seals, StripePlace, Written,
};
use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

#[derive(Debug)]
struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Timestamp, _: &Report) {}
}

/// How a pool stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) layout: Layout,
    pub(crate) code: (usize, usize),
    pub(crate) keyed: bool,
    pub(crate) encrypt: bool,
    /// How slow its nodes are: this law, times this.
    pub(crate) delay: Option<(Preset, f64)>,
}

impl Form {
    pub(crate) const SPREAD: Self =
        Self { layout: Layout::Spread, code: (6, 4), keyed: true, encrypt: false, delay: None };
    pub(crate) const SHARED: Self = Self { layout: Layout::Shared, code: (24, 12), ..Self::SPREAD };
    pub(crate) const UNIQUE: Self = Self { layout: Layout::Unique, ..Self::SHARED };
}

/// A pool and its nodes.
pub(crate) struct Scene {
    pub(crate) pool: Pool,
    code: Code,
    meters: Vec<Arc<Meter>>,
    memory: Memory,
}

impl Scene {
    pub(crate) fn new(form: Form) -> Self {
        let meters: Vec<_> = (0..6)
            .map(|seed| {
                let inner: Arc<dyn Node> = Arc::new(MemoryNode::new(1 << 30));
                let slow = |(preset, scale): (Preset, f64)| -> Arc<dyn Node> {
                    let model: Box<dyn DelayModel> = preset.model();
                    Arc::new(Delay::new(inner.clone(), model, seed, scale))
                };
                Arc::new(Meter::new(form.delay.map_or_else(|| inner.clone(), slow)))
            })
            .collect();
        let nodes = (0..).zip(&meters).map(|(id, node)| PoolNode {
            id: NodeId(id),
            lanes: 16,
            node: node.clone(),
        });
        let (to, mut aftermath) = ripstop_runtime::aftermaths();
        tokio::spawn(async move { while aftermath.recv().await.is_some() {} });
        let memory = Memory::new(256 << 20);
        let code = Code::new(form.code.0, form.code.1).expect("a code");
        // Without redundancy, so that requests to nodes can be counted.
        let policy = ripstop_policy::by_name("fixed", &PolicySettings::default());
        let machine = MachineSettings { answer_extra: 0, ..MachineSettings::default() };
        let pool = Pool::new(
            Origin { store: 1, pool: PoolId(0) },
            code,
            machine,
            policy.expect("it is registered"),
            nodes.collect(),
            Arc::new(Unwatched),
            Arc::default(),
            memory.blocks().clone(),
            ripstop_runtime::Pins::default(),
            to,
        );
        let seals = if form.keyed { Seals::new(&key()) } else { Seals::default() };
        let pool = pool.with_layout(form.layout).with_seals(seals, form.encrypt);
        Self { pool, code, meters, memory }
    }

    /// Stores a stripe of these bytes.
    pub(crate) async fn write(&self, number: u64, bytes: &Bytes) -> StripePlace {
        let shape = StripeShape::new(self.code, bytes.len() as u32).expect("within limits");
        let shape = shape.in_blocks(BlockLen::SHORTEST);
        let share = self.memory.acquire(Purpose::Write, self.pool.draft_memory(shape)).await;
        let mut draft = self.pool.draft(StripeId::new(1, number.into()), shape, share);
        draft.fill(&mut bytes.clone());
        let sealed = draft.seal(self.pool.origin(), "".into());
        let written = self.pool.write(sealed).await.expect("nodes are well");
        let Written { id, shape, cut, header_len, sealing, ref nodes, .. } = written;
        StripePlace { id, shape, cut, header_len, sealing, nodes: nodes.clone() }
    }

    /// Stores a stripe of this many bytes of its own.
    pub(crate) async fn store(&self, number: u64, len: usize) -> StripePlace {
        self.write(number, &payload(number, len)).await
    }

    /// Fetches that nodes were asked for, whatever became of them.
    pub(crate) fn gets(&self) -> u64 {
        self.meters.iter().map(|meter| meter.readings()[Operation::Get as usize].started).sum()
    }
}

/// Bytes of a stripe that tell it from others.
pub(crate) fn payload(number: u64, len: usize) -> Bytes {
    (0..len).map(|at| (number as usize * 31 + at * 7 + at / 251) as u8).collect()
}

/// Reads a range, and whether it is right.
pub(crate) async fn read(pool: &Pool, place: &StripePlace, range: Range<u32>) -> Bytes {
    let pieces = pool.read(place, range).await;
    pieces.unwrap_or_else(|failed| panic!("{failed:?}")).concat().into()
}

/// A hot tier over servers.
pub(crate) fn tier(code: (usize, usize), servers: &[Server], wait: Duration) -> HotTier {
    tier_with(settings(code, servers), wait, 256 << 20)
}

/// The same as it is by default, with so much memory.
pub(crate) fn tier_of(code: (usize, usize), servers: &[Server], stored_max: u64) -> HotTier {
    let settings = CodedMemorySettings { link: LinkSettings::default(), ..settings(code, servers) };
    tier_with(settings, Duration::from_millis(10), stored_max)
}

pub(crate) fn tier_with(settings: CodedMemorySettings, wait: Duration, stored_max: u64) -> HotTier {
    let memory = CodedMemory::new(settings, &key()).expect("these are settings");
    let (name, offers_max) = ("hot".to_owned(), 16 << 20);
    HotTier::new(memory, HotTierSettings { name, wait, offers_max, stored_max })
}

/// What a pool sees of it.
pub(crate) fn hot(tier: &HotTier) -> HotPool {
    let price = Price { per_1000_gets: Some(0.4), per_gb_out: Some(0.09), ..Price::default() };
    tier.of_pool("p", (0..6).map(|id| (NodeId(id), price)).collect())
}

/// Until what was begun is over.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not after 20 s: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
