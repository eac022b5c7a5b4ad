//! Which plan a pool that plans itself is to follow: candidates from the planner, each rehearsed.

use crate::{Group, Plan, PlanError, Problem, exactly, is_exact};
use alloc::{boxed::Box, vec::Vec};

/// Part of the gain for which reads are led otherwise, if nothing is moved for it.
const LED_ELSEWHERE: f64 = 0.1;
/// A plan that is better by less is the same.
const NOTHING: f64 = 0.002;
/// Price of moving all stripes, in objectives, at which none is.
const DEAR: f64 = 1e6;

/// What becomes of the plan that is followed.
#[derive(Clone, PartialEq, Debug)]
pub enum Renewal {
    /// Another is.
    Follow(Box<Plan>),
    /// It stays.
    Keep {
        /// Which part of its value the best other would save.
        saved: f64,
    },
}

/// A plan, and what it is worth.
struct Candidate {
    plan: Plan,
    /// In a rehearsal.
    value: f64,
}

/// Whether another plan is better than these groups, by `value`: what a rehearsal says of a plan,
/// the less the better, like the objective in seconds. Stripes are moved if that is better by
/// `gain`, as a part of the objective, than leading reads elsewhere; moving all of them counts as
/// much as the gain, some of them as a part of it. Reads are led elsewhere for a tenth of it. A
/// plan some of whose nodes are down is worse than any other. Without `former` groups the planner's
/// word is followed.
///
/// The planner's bound says which plans there are, and the rehearsal how good each is: by the bound
/// two plans can be equal of which one takes a third longer.
pub fn renew(
    problem: &Problem,
    former: Option<&[Vec<Group>]>,
    gain: f64,
    mut value: impl FnMut(&Plan) -> f64,
) -> Result<Renewal, PlanError> {
    let planned = exactly(problem, None)?;
    let Some(former) = former else { return Ok(Renewal::Follow(Box::new(planned))) };
    let usual = planned.certificate.value;
    let now = Plan::new(problem, former.to_vec(), 0.0);
    let all_bytes: f64 = now.bytes.iter().sum();
    let with_moves_at = |objectives: f64| {
        let seconds_per_moved_byte = objectives * usual / all_bytes.max(1.0);
        exactly(&Problem { seconds_per_moved_byte, ..problem.clone() }, Some(&now))
    };
    let mut rehearsed = |plan: Plan| {
        let value = value(&plan);
        Candidate { plan, value }
    };
    let staying = with_moves_at(DEAR)?;
    let stays = staying.moves.is_empty() && is_exact(problem, &staying);
    let mut movers: Vec<Candidate> = Vec::new();
    for price in [gain, gain / 10.0, 0.0] {
        let plan = with_moves_at(price)?;
        let is_new = |other: &Candidate| other.plan.classes != plan.classes;
        if !plan.moves.is_empty() && is_exact(problem, &plan) && movers.iter().all(is_new) {
            movers.push(rehearsed(plan));
        }
    }
    let dear = |candidate: &Candidate| candidate.value * (1.0 + gain * candidate.plan.moved_part());
    let best = movers.into_iter().min_by(|a, b| dear(a).total_cmp(&dear(b)));
    if !stays {
        // No plan at all can be followed as it is: what there is, or the planner's word on it.
        return Ok(Renewal::Follow(Box::new(best.map_or(staying, |best| best.plan))));
    }
    let (now, staying) = (rehearsed(now), rehearsed(staying));
    let moving = best.filter(|best| dear(best) <= (1.0 - gain.max(NOTHING)) * staying.value);
    let chosen = moving.unwrap_or(staying);
    let saved = 1.0 - chosen.value / now.value;
    if !chosen.plan.moves.is_empty() || saved >= (gain * LED_ELSEWHERE).max(NOTHING) {
        return Ok(Renewal::Follow(Box::new(chosen.plan)));
    }
    Ok(Renewal::Keep { saved })
}

#[cfg(test)]
mod tests;
