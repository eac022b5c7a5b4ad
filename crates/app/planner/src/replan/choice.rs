//! What a plan is worth to a pool: a rehearsal in the simulator.

use super::measurement::Measurement;
use crate::{
    groups,
    rehearsal::{self, Rehearsal},
};
use ripstop_assembly::config::PoolConfig;
use ripstop_delay::{DelayModel, Recorded, Replay, StorageOperation};
use ripstop_figure::mean;
use ripstop_gateway::Selection;
use ripstop_model::NodeId;
use ripstop_placement::{Group, Plan, PlanError, Renewal, renew};
use std::time::Duration;

/// Reads of which a rehearsal consists; the first tenth finds empty queues and is left out.
const READS: usize = 10_000;
/// All luck of rehearsals: the same for all candidates.
const SEED: u64 = 1;

impl Measurement {
    /// Whether another plan is better than these groups, by what rehearsals say ([`renew`]).
    pub(super) fn choose(
        &self,
        config: &PoolConfig,
        selection: Selection,
        former: Option<&[Vec<Group>]>,
        gain: f64,
    ) -> Result<Renewal, PlanError> {
        renew(&self.problem, former, gain, |plan| self.value(config, selection, plan))
    }

    /// Mean latency in a rehearsal, and θ times money, seconds.
    fn value(&self, config: &PoolConfig, selection: Selection, plan: &Plan) -> f64 {
        let groups = &plan.classes[0];
        let class = &self.problem.classes[0];
        let places = rehearsal::places(groups, READS, SEED);
        if places.is_empty() {
            return f64::INFINITY;
        }
        let bytes = u32::try_from(class.chunk_bytes).unwrap_or(u32::MAX);
        let delay = |node: u16| self.delay(node, bytes);
        let lanes: Vec<u16> = config.nodes.iter().map(|node| node.lanes).collect();
        let rehearsal = Rehearsal {
            settings: config.machine,
            policy: (&config.policy, config.policy_settings),
            lanes: &lanes,
            delay: &delay,
            k: class.k as u8,
            strip_bytes: bytes,
            seed: SEED,
        };
        let placement = groups::placement(groups, selection, NodeId);
        let times: Vec<Duration> = rehearsal::times(class.rate, SEED).take(READS).collect();
        let took = rehearsal.play(&placement, &places, &times);
        let latency = mean(&took[took.len().min(READS / 10)..]).unwrap_or(f64::INFINITY);
        latency + self.problem.seconds_per_money * plan.money
    }

    fn delay(&self, node: u16, bytes: u32) -> Box<dyn DelayModel> {
        let delays = self.delays[usize::from(node)].iter().map(|&seconds| {
            (StorageOperation::Get, u64::from(bytes), Duration::from_secs_f64(seconds))
        });
        let recorded = Recorded::new(delays, Replay::Sampled);
        Box::new(recorded.expect("every node has delays"))
    }
}
