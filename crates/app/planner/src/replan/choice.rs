//! Which plan a pool is to follow: candidates from the planner, each rehearsed in the simulator.

use super::measurement::Measurement;
use crate::{
    exact::{exactly, is_exact},
    groups,
    rehearsal::{self, Rehearsal},
};
use anyhow::Result;
use ripstop_assembly::config::PoolConfig;
use ripstop_delay::{DelayModel, Recorded, Replay, StorageOperation};
use ripstop_figure::mean;
use ripstop_gateway::Selection;
use ripstop_model::NodeId;
use ripstop_placement::{Group, Plan, Problem};
use std::time::Duration;

/// Reads of which a rehearsal consists; the first tenth finds empty queues and is left out.
const READS: usize = 10_000;
/// Part of the gain for which reads are led otherwise, if nothing is moved for it.
const LED_ANEW: f64 = 0.1;
/// A plan that is better by less is the same.
const NOTHING: f64 = 0.002;
/// Price of moving all stripes, in objectives, at which none is.
const DEAR: f64 = 1e6;
/// All luck of rehearsals: the same for all candidates.
const SEED: u64 = 1;

/// What becomes of the plan that is followed.
pub(super) enum Choice {
    /// Another is.
    Follow(Box<Plan>),
    /// It stays; the best other would save this part.
    Keep { saved: f64 },
}

/// A plan, and what it is worth.
struct Candidate {
    plan: Plan,
    /// Mean latency in the rehearsal and θ times money, seconds.
    value: f64,
}

impl Measurement {
    /// Whether another plan is better than these groups. Stripes are moved if that is better by `gain`, as a part
    /// of the objective, than leading reads elsewhere; moving all of them counts as much as the gain, some of
    /// them as a part of it. Reads are led elsewhere for a tenth of it. A plan some of whose nodes are
    /// down is worse than any other.
    ///
    /// The planner's bound says which plans there are, and the simulator how good each is: by the bound two plans
    /// can be equal of which one takes a third longer.
    pub(super) fn choose(
        &self,
        config: &PoolConfig,
        selection: Selection,
        former: &[Vec<Group>],
        gain: f64,
    ) -> Result<Choice> {
        let problem = &self.problem;
        let now = Plan::new(problem, former.to_vec(), 0.0);
        let usual = exactly(problem, None)?.certificate.value;
        let all_bytes: f64 = now.bytes.iter().sum();
        let with_moves_at = |objectives: f64| {
            let seconds_per_moved_byte = objectives * usual / all_bytes.max(1.0);
            exactly(&Problem { seconds_per_moved_byte, ..problem.clone() }, Some(&now))
        };
        let rehearsed = |plan: Plan| {
            let value = self.value(config, selection, &plan);
            Candidate { plan, value }
        };
        let staying = with_moves_at(DEAR)?;
        let stays = staying.moves.is_empty() && is_exact(problem, &staying);
        let mut movers = Vec::new();
        for price in [gain, gain / 10.0, 0.0] {
            let plan = with_moves_at(price)?;
            let is_new = |other: &Candidate| other.plan.classes != plan.classes;
            if !plan.moves.is_empty() && is_exact(problem, &plan) && movers.iter().all(is_new) {
                movers.push(rehearsed(plan));
            }
        }
        let dear =
            |candidate: &Candidate| candidate.value * (1.0 + gain * moved_part(&candidate.plan));
        let best = movers.into_iter().min_by(|a, b| dear(a).total_cmp(&dear(b)));
        let saved = |candidate: &Candidate, than: f64| 1.0 - candidate.value / than;
        if !stays {
            // No plan at all can be followed as it is: what there is, or the planner's word on it.
            return Ok(Choice::Follow(Box::new(best.map_or(staying, |best| best.plan))));
        }
        let (now, staying) = (self.value(config, selection, &now), rehearsed(staying));
        let moving = best.filter(|best| dear(best) <= (1.0 - gain.max(NOTHING)) * staying.value);
        let chosen = moving.unwrap_or(staying);
        let moves = !chosen.plan.moves.is_empty();
        let saved = saved(&chosen, now);
        if moves || saved >= (gain * LED_ANEW).max(NOTHING) {
            return Ok(Choice::Follow(Box::new(chosen.plan)));
        }
        Ok(Choice::Keep { saved })
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

/// Which part of all fragments is to be moved.
pub(super) fn moved_part(plan: &Plan) -> f64 {
    plan.moved_bytes() as f64 / plan.bytes.iter().sum::<f64>().max(1.0)
}
