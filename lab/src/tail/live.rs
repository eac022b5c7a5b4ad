//! Requests in real time: a pool over a node in memory that is as slow as S3.

use super::case::{Case, LANES, PRESET, storage_code};
use anyhow::{Context as _, Result, anyhow, ensure};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_client::noise;
use ripstop_codec::Codec;
use ripstop_delay::ShiftedExponential;
use ripstop_experiment::{Outcome, Overhead, patient};
use ripstop_figure::Progress;
use ripstop_gateway::{Machine, Report};
use ripstop_model::{Code, FragmentId, NodeId, PoolId, StripSet, StripeId, StripeShape, Timestamp};
use ripstop_node::{Delay, MemoryNode, Node};
use ripstop_policy::Policy;
use ripstop_runtime::{
    Aftermath, Layout, Observer, Origin, Pins, Pool, PoolNode, Purpose, Spent, StripeDraft,
    StripePlace,
};
use ripstop_world::World;
use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

const NODE: NodeId = NodeId(0);
/// Objects of one size: enough that they are not all in a core's cache.
const OBJECTS: usize = 8;
/// Parts in which objects are fetched to tell what a task costs from what a byte costs.
const PARTS: usize = 4;
/// One in this many answers is compared with what was stored; of the others, the length is.
const COMPARED: usize = 16;
/// What is still open this long after everything should be over has failed.
const GRACE: Duration = Duration::from_secs(30);

/// Objects of one size at a node in memory.
pub(super) struct Stock {
    node: Arc<MemoryNode>,
    objects: Vec<Object>,
    coding_s_per_byte: f64,
    overhead: Overhead,
}

#[derive(Clone)]
struct Object {
    place: StripePlace,
    bytes: Bytes,
}

impl Stock {
    /// Stores objects of `size` bytes, each a stripe.
    pub(super) async fn new(size: u32) -> Result<Self> {
        let code = storage_code();
        let shape = StripeShape::new(code, size).with_context(|| format!("{size} bytes"))?;
        let node = Arc::new(MemoryNode::new(u64::MAX));
        let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default())?;
        let (pool, _aftermath) = pool(node.clone(), policy, Arc::new(Tape::default()));
        let memory = ripstop_runtime::Memory::new(4 * StripeDraft::memory(shape));
        let mut objects = Vec::with_capacity(OBJECTS);
        for number in 0..OBJECTS {
            let id = StripeId::new(0, number as u128 + 1);
            let share = memory.acquire(Purpose::Write, StripeDraft::memory(shape)).await;
            let mut draft = StripeDraft::new(id, shape, share);
            let bytes = Bytes::from(noise(size as usize + number)).slice(number..);
            draft.fill(&mut bytes.clone());
            let written = pool.write(draft.seal(pool.origin(), Bytes::new())).await;
            let written = written.map_err(|failed| anyhow!("not stored: {failed:?}"))?;
            let (cut, header_len, nodes) = (written.cut, written.header_len, written.nodes.clone());
            let sealing = written.sealing;
            written.claim();
            let place = StripePlace { id, shape, cut, header_len, sealing, nodes };
            // In one piece, so that nothing is copied as it is fetched: the delay stands for that.
            let name = FragmentId { stripe: id, index: 0 };
            let whole = node.get(name, 0..place.fragment_len()).await?;
            node.put(name, vec![whole]).await?;
            objects.push(Object { place, bytes });
        }
        let coding_s_per_byte = coding_s_per_byte(shape)?;
        let overhead = Overhead::default();
        let mut stock = Self { node, objects, coding_s_per_byte, overhead };
        let (whole, part) = (stock.beyond_s(1).await?, stock.beyond_s(PARTS).await?);
        let bytes = f64::from(stock.strip_bytes()) * code.k() as f64;
        let s_per_byte = (whole - part).max(0.0) / (bytes - bytes / PARTS as f64);
        stock.overhead = Overhead { s: (whole - s_per_byte * bytes).max(0.0), s_per_byte };
        Ok(stock)
    }

    /// How much longer than its delay a task takes that fetches one of this many parts: the median,
    /// seconds.
    async fn beyond_s(&self, parts: usize) -> Result<f64> {
        const READS: usize = 200;
        const DELAY_MS: f64 = 5.0;
        let delay = ShiftedExponential {
            shift_ms: DELAY_MS,
            shift_ms_per_mb: 0.0,
            mean_ms: 0.0,
            mean_ms_per_mb: 0.0,
        };
        let node = Arc::new(Delay::new(self.node.clone(), Box::new(delay), 0, 1.0).precise());
        let code = Some(Code::new(parts, parts)?);
        let policy = ripstop_policy::PolicySettings { code, ..Default::default() };
        let tape = Arc::new(Tape::default());
        let (pool, _aftermath) =
            pool(node, ripstop_policy::by_name("fixed", &policy)?, tape.clone());
        for Object { place, .. } in self.objects.iter().cycle().take(READS) {
            let read = pool.read(place, 0..place.shape.payload_len()).await;
            read.map_err(|failed| anyhow!("not read: {failed:?}"))?;
        }
        let mut beyond: Vec<f64> = tape
            .take()
            .iter()
            .filter_map(|(_, report)| match report {
                Report::Task(end) => Some(end.served.as_secs_f64() - DELAY_MS / 1e3),
                Report::Started { .. }
                | Report::Admitted { .. }
                | Report::Refused { .. }
                | Report::Answered { .. }
                | Report::FragmentLost { .. }
                | Report::Node { .. } => None,
            })
            .collect();
        beyond.sort_by(f64::total_cmp);
        beyond.get(beyond.len() / 2).copied().context("nothing was read")
    }

    /// What a task takes beyond its delay.
    pub(super) fn overhead(&self) -> Overhead {
        self.overhead
    }

    /// Bytes that a task moves for one strip.
    pub(super) fn strip_bytes(&self) -> u32 {
        let StripePlace { header_len, shape, .. } = self.objects[0].place;
        let strips = self.objects[0].place.fragment_len() - 2 * u64::from(header_len);
        (strips / shape.code().n() as u64) as u32
    }

    /// How long decoding takes where half of the chunks are parity, seconds per byte of payload.
    pub(super) fn coding_s_per_byte(&self) -> f64 {
        self.coding_s_per_byte
    }
}

fn coding_s_per_byte(shape: StripeShape) -> Result<f64> {
    const ROUNDS: usize = 5;
    let (code, len) = (shape.code(), shape.strip_len() as usize);
    let (codec, half) = (Codec::new(code), code.k() / 2);
    let present: StripSet = (half..half + code.k()).collect();
    let missing: Vec<usize> = (0..half).collect();
    let plan = codec.plan(present, &missing)?;
    let strips = vec![noise(len); code.k()];
    let inputs: Vec<&[u8]> = strips.iter().map(Vec::as_slice).collect();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut out = vec![vec![0; len]; half];
        let mut outputs: Vec<&mut [u8]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        plan.run(&inputs, &mut outputs)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best / f64::from(shape.payload_len()))
}

/// All that a pool's machine reported.
#[derive(Debug, Default)]
struct Tape(Mutex<Vec<(Timestamp, Report)>>);

impl Tape {
    fn take(&self) -> Vec<(Timestamp, Report)> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Tape {
    fn report(&self, at: Timestamp, report: &Report) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((at, report.clone()));
    }
}

fn pool(
    node: Arc<dyn Node>,
    policy: Box<dyn Policy>,
    observer: Arc<dyn Observer>,
) -> (Pool, mpsc::Receiver<Aftermath>) {
    let (to, aftermath) = ripstop_runtime::aftermaths();
    let origin = Origin { store: 1, pool: PoolId(0) };
    let nodes = vec![PoolNode { id: NODE, lanes: LANES, node }];
    let (spent, blocks, pins) = (Arc::<Spent>::default(), Blocks::default(), Pins::default());
    let code = storage_code();
    let pool = Pool::new(origin, code, patient(), policy, nodes, observer, spent, blocks, pins, to);
    (pool.with_layout(Layout::Shared), aftermath)
}

/// Runs a case in real time. What its requests took is counted from when they were to arrive; the
/// rest is as the machine reports it.
pub(super) async fn play(case: &Case, stock: &Stock, progress: Arc<Progress>) -> Result<Outcome> {
    let seed = World::node_seed(case.seed, NODE);
    let node = Arc::new(Delay::new(stock.node.clone(), PRESET.model(), seed, 1.0).precise());
    let tape = Arc::new(Tape::default());
    let (pool, _aftermath) = pool(node, case.policy(), tape.clone());
    let (answer, mut answers) = mpsc::unbounded_channel();
    let objects = stock.objects.clone();
    let times = case.times();
    let last = times.last().copied().unwrap_or_default();
    let (runtime, reader) = (tokio::runtime::Handle::current(), pool.clone());
    // A thread of its own: the runtime's timer would let requests arrive in clumps.
    let arriving = thread::spawn(move || {
        let begun = Instant::now();
        for (number, at) in times.into_iter().enumerate() {
            thread::sleep((begun + at).saturating_duration_since(Instant::now()));
            let (pool, answer) = (reader.clone(), answer.clone());
            let Object { place, bytes } = objects[number % objects.len()].clone();
            runtime.spawn(async move {
                let read = pool.read(&place, 0..place.shape.payload_len()).await;
                let took = begun.elapsed().saturating_sub(at);
                let compared = number % COMPARED == 0;
                let good = read.is_ok_and(|pieces| is_equal(&pieces, &bytes, compared));
                // Nobody listens any longer if it all took too long.
                let _ = answer.send((number as u64, good.then_some(took)));
            });
        }
    });
    let counted = case.count - case.warmup();
    let mut took_ns = Vec::with_capacity(counted as usize);
    let listening = async {
        while let Some((number, took)) = answers.recv().await {
            progress.advance(1);
            if number >= case.warmup()
                && let Some(took) = took
            {
                took_ns.push(took.as_nanos() as u64);
            }
        }
    };
    let predicted = Duration::from_secs_f64(case.predicted.span_s);
    // Running out of time shows as requests that failed.
    let _ = tokio::time::timeout(last.max(predicted) * 2 + GRACE, listening).await;
    ensure!(arriving.join().is_ok(), "the thread that lets requests arrive has panicked");
    let end = Instant::now() + GRACE;
    while pool.inspect(Machine::requests_open) > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let reports = tape.take();
    let reports = reports.iter().map(|(at, report)| (*at, report));
    let outcome = Outcome::of_reports(reports, case.warmup());
    let failed = counted - took_ns.len() as u64;
    Ok(Outcome { took_ns, failed, ..outcome })
}

fn is_equal(pieces: &[Bytes], stored: &Bytes, compared: bool) -> bool {
    let len: usize = pieces.iter().map(Bytes::len).sum();
    let mut at = 0;
    len == stored.len()
        && (!compared
            || pieces.iter().all(|piece| {
                let from = at;
                at += piece.len();
                piece[..] == stored[from..at]
            }))
}
