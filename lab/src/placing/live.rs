//! Reads in real time, from pools over the same twelve nodes in memory.

use super::{case::Case, site};
use anyhow::{Context as _, Result, anyhow, ensure};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_client::noise;
use ripstop_experiment::patient;
use ripstop_figure::Progress;
use ripstop_gateway::{MachineSettings, Placement, Report};
use ripstop_model::{NodeId, PoolId, StripeId, StripeShape, Timestamp};
use ripstop_node::{Delay, MemoryNode, Node};
use ripstop_runtime::{
    Aftermath, Observer, Origin, Pins, Pool, PoolNode, Purpose, Spent, StripeDraft, StripePlace,
};
use ripstop_world::World;
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// What is still open this long after everything should be over has failed.
const GRACE: Duration = Duration::from_secs(30);

/// Stripes at nodes in memory, where the plan wants them.
pub(super) struct Stock {
    nodes: Vec<Arc<MemoryNode>>,
    stripes: Vec<StripePlace>,
    places: Vec<Vec<Option<NodeId>>>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn report(&self, _: Timestamp, _: &Report) {}
}

fn pool(nodes: Vec<Arc<dyn Node>>) -> Result<(Pool, mpsc::Receiver<Aftermath>)> {
    let (to, aftermath) = ripstop_runtime::aftermaths();
    let origin = Origin { store: 1, pool: PoolId(0) };
    let nodes = nodes.into_iter().zip(0..);
    let nodes = nodes.map(|(node, id)| PoolNode { id: NodeId(id), lanes: 1, node }).collect();
    let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default())?;
    let (spent, blocks, pins) = (Arc::<Spent>::default(), Blocks::default(), Pins::default());
    // A write is answered with all its fragments durable.
    let parity = site::code().parity() as u8;
    let settings = MachineSettings { answer_extra: parity, answer_extra_min: parity, ..patient() };
    let observer = Arc::new(Nobody);
    Ok((
        Pool::new(origin, site::code(), settings, policy, nodes, observer, spent, blocks, pins, to),
        aftermath,
    ))
}

impl Stock {
    /// Stores the stripes as `placement` says.
    pub(super) async fn new(placement: &Placement) -> Result<Self> {
        let nodes: Vec<_> = (0..site::NODES).map(|_| Arc::new(MemoryNode::new(u64::MAX))).collect();
        let plain = nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
        let (pool, _aftermath) = pool(plain)?;
        pool.place(placement.clone());
        let shape = StripeShape::new(site::code(), site::STRIPE_BYTES).context("a stripe")?;
        let memory = ripstop_runtime::Memory::new(8 * StripeDraft::memory(shape));
        let bytes = Bytes::from(noise(site::STRIPE_BYTES as usize));
        let (mut stripes, mut places) = (Vec::new(), Vec::new());
        for number in 0..site::STRIPES {
            let id = StripeId::new(0, number as u128 + 1);
            let share = memory.acquire(Purpose::Write, StripeDraft::memory(shape)).await;
            let mut draft = StripeDraft::new(id, shape, share);
            draft.fill(&mut bytes.clone());
            let mut settled = pool.write(draft.seal(pool.origin(), Bytes::new())).await;
            let written = settled.as_mut().map_err(|failed| anyhow!("not stored: {failed:?}"))?;
            let (cut, header_len, sealing) = (written.cut, written.header_len, written.sealing);
            let nodes = written.nodes.clone();
            let mut held: Vec<NodeId> = nodes.iter().copied().flatten().collect();
            held.sort_unstable();
            let planned = placement.groups.iter().any(|group| group.nodes == held);
            ensure!(planned, "a stripe is not where the plan wants it");
            settled.expect("it was looked at").claim();
            places.push(nodes.clone());
            stripes.push(StripePlace { id, shape, cut, header_len, sealing, nodes });
        }
        Ok(Self { nodes, stripes, places, bytes })
    }

    /// The nodes of each stripe's fragments.
    pub(super) fn places(&self) -> &[Vec<Option<NodeId>>] {
        &self.places
    }

    /// Reads the stripes by turns at these times; what the reads took, seconds, and how many
    /// failed.
    pub(super) async fn play(
        &self,
        case: &Case,
        times: &[Duration],
        seed: u64,
        progress: Arc<Progress>,
    ) -> Result<(Vec<f64>, usize)> {
        let slow = self.nodes.iter().zip(0..).map(|(node, id)| {
            let seed = World::node_seed(seed, NodeId(id));
            let delay =
                Delay::new(node.clone(), Box::new(site::delay(site::factor(id))), seed, 1.0);
            Arc::new(delay.precise()) as Arc<dyn Node>
        });
        let (pool, _aftermath) = pool(slow.collect())?;
        pool.place(case.placement.clone());
        let (answer, mut answers) = mpsc::unbounded_channel();
        let (stripes, bytes) = (self.stripes.clone(), self.bytes.clone());
        let (runtime, owned) = (tokio::runtime::Handle::current(), times.to_vec());
        // A thread of its own: the runtime's timer would let requests arrive in clumps.
        let arriving = thread::spawn(move || {
            let begun = Instant::now();
            for (number, at) in owned.into_iter().enumerate() {
                thread::sleep((begun + at).saturating_duration_since(Instant::now()));
                let (pool, answer, bytes) = (pool.clone(), answer.clone(), bytes.clone());
                let place = stripes[number % stripes.len()].clone();
                runtime.spawn(async move {
                    let read = pool.read(&place, 0..place.shape.payload_len()).await;
                    let took = begun.elapsed().saturating_sub(at);
                    let good = read.is_ok_and(|pieces| pieces.concat() == bytes);
                    // Nobody listens any longer if it all took too long.
                    let _ = answer.send(good.then_some(took));
                });
            }
        });
        let mut took = Vec::with_capacity(times.len());
        let listening = async {
            while let Some(answer) = answers.recv().await {
                progress.advance(1);
                took.extend(answer.map(|took| took.as_secs_f64()));
            }
        };
        let last = times.last().copied().unwrap_or_default();
        // Running out of time shows as reads that failed.
        let _ = tokio::time::timeout(last * 2 + GRACE, listening).await;
        ensure!(arriving.join().is_ok(), "the thread that lets requests arrive has panicked");
        let failed = times.len() - took.len();
        Ok((took, failed))
    }
}
