//! What a plan is worth to a pool: a rehearsal in the simulator.

use crate::rehearsal::{Rehearsal, arrivals, places};
use ripstop_delay::{DelayModel, Recorded, Replay, StorageOperation};
use ripstop_figure::mean;
use ripstop_gateway::{MachineSettings, Placement, ReadSelection};
use ripstop_model::NodeId;
use ripstop_placement::{Plan, planning::Measurement};
use ripstop_policy::Policy;
use std::time::Duration;

/// Reads of which a rehearsal consists; the first tenth finds empty queues and is left out.
const READS: usize = 10_000;
/// All luck of rehearsals: the same for all candidates.
const SEED: u64 = 1;

/// The pool for which plans are rehearsed.
pub struct Stage<'a> {
    /// Its machine's.
    pub settings: MachineSettings,
    /// Its policy, fresh.
    pub policy: &'a dyn Fn() -> Box<dyn Policy>,
    /// The lanes of each node.
    pub lanes: &'a [u16],
    /// How its reads choose nodes.
    pub selection: ReadSelection,
}

impl Stage<'_> {
    /// Mean latency in a rehearsal of a plan, with delays as they were measured, and θ times money,
    /// seconds.
    pub fn value(&self, measured: &Measurement, plan: &Plan) -> f64 {
        let groups = &plan.classes[0];
        let class = &measured.problem.classes[0];
        let places = places(groups, READS, SEED);
        if places.is_empty() {
            return f64::INFINITY;
        }
        let bytes = u32::try_from(class.chunk_bytes).unwrap_or(u32::MAX);
        let delay = |node: u16| delay(measured, node, bytes);
        let rehearsal = Rehearsal {
            settings: self.settings,
            policy: self.policy,
            lanes: self.lanes,
            delay: &delay,
            k: class.k as u8,
            strip_bytes: bytes,
            seed: SEED,
        };
        let placement = Placement::of(groups, self.selection, NodeId);
        let times: Vec<Duration> = arrivals(class.rate, SEED).take(READS).collect();
        let took = rehearsal.play(&placement, &places, &times);
        let latency = mean(&took[took.len().min(READS / 10)..]).unwrap_or(f64::INFINITY);
        latency + measured.problem.seconds_per_money * plan.money
    }
}

fn delay(measured: &Measurement, node: u16, bytes: u32) -> Box<dyn DelayModel> {
    let delays = measured.delays[usize::from(node)].iter().map(|&seconds| {
        (StorageOperation::Get, u64::from(bytes), Duration::from_secs_f64(seconds))
    });
    let recorded = Recorded::new(delays, Replay::Sampled);
    Box::new(recorded.expect("every node has delays"))
}
