//! Which plan each pool follows, and how far it is.

use ripstop_catalog::Stripe;
use ripstop_model::{PoolId, StripeId};
use ripstop_placement::moving::{Goal, Spot, is_stray};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How far stripes have been brought to where plans want them, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct MoveProgress {
    /// Stripes that were looked at, as often as they were.
    pub stripes_seen: u64,
    /// Fragments that are elsewhere now.
    pub fragments_moved: u64,
    /// Their bytes, headers included.
    pub bytes_moved: u64,
    /// Fragments still to be moved, by the last count of where stripes are.
    pub fragments_left: u64,
    /// Moves that failed; each is tried again.
    pub failed: u64,
    /// Walks through all stripes of a pool at whose end none was left to move.
    pub walks: u64,
}

impl MoveProgress {
    fn with(self, other: &Self) -> Self {
        Self {
            stripes_seen: self.stripes_seen + other.stripes_seen,
            fragments_moved: self.fragments_moved + other.fragments_moved,
            bytes_moved: self.bytes_moved + other.bytes_moved,
            fragments_left: self.fragments_left + other.fragments_left,
            failed: self.failed + other.failed,
            walks: self.walks + other.walks,
        }
    }
}

/// The movers of all pools.
#[derive(Clone, Default, Debug)]
pub(crate) struct Movers(Arc<Mutex<Moving>>);

#[derive(Debug, Default)]
struct Moving {
    plans: BTreeMap<PoolId, Plan>,
}

/// What a pool follows.
#[derive(Debug, Default)]
struct Plan {
    /// Which of its plans is the present one.
    number: u64,
    /// Where its mover brings stripes; nowhere if it has none.
    goals: Arc<[Goal]>,
    /// How far it is, and earlier ones of the pool were.
    progress: MoveProgress,
    /// Stripes that came to be at none of the goals, as often as they did.
    strays: u64,
}

/// Whether plans are about a stripe: its fragments are at nodes of their own.
pub(super) fn is_spread(stripe: &Stripe) -> bool {
    stripe.run == 0 && stripe.n > 1
}

/// Where a stripe is.
pub(super) fn spot(stripe: &Stripe) -> Spot {
    Spot::new(stripe.n, &stripe.nodes)
}

impl Movers {
    fn moving(&self) -> MutexGuard<'_, Moving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the pool's mover; answers the number of the one that follows, which has these goals.
    pub(super) fn replace(&self, pool: PoolId, goals: Arc<[Goal]>) -> u64 {
        let mut moving = self.moving();
        let plan = moving.plans.entry(pool).or_default();
        let progress = MoveProgress { fragments_left: 0, ..plan.progress };
        *plan = Plan { number: plan.number + 1, goals, progress, strays: 0 };
        plan.number
    }

    pub(super) fn is_present(&self, pool: PoolId, number: u64) -> bool {
        self.moving().plans.get(&pool).is_some_and(|plan| plan.number == number)
    }

    pub(super) fn note(
        &self,
        pool: PoolId,
        number: u64,
        change: impl FnOnce(&mut MoveProgress, &mut u64),
    ) {
        let mut moving = self.moving();
        let Some(plan) = moving.plans.get_mut(&pool) else { return };
        // What a mover does after its end counts too, but says nothing of what is left.
        let was_left = plan.progress.fragments_left;
        let mut left = was_left;
        change(&mut plan.progress, &mut left);
        plan.progress.fragments_left = if plan.number == number { left } else { was_left };
    }

    pub(super) fn progress(&self) -> MoveProgress {
        let moving = self.moving();
        moving.plans.values().fold(MoveProgress::default(), |sum, plan| sum.with(&plan.progress))
    }

    pub(super) fn progress_of(&self, pool: PoolId) -> MoveProgress {
        self.moving().plans.get(&pool).map(|plan| plan.progress).unwrap_or_default()
    }

    /// The pools of those stripes that are at none of their pool's goals, each as often as it has
    /// one: what is to be put to [`Movers::strayed`] once the catalog has them.
    pub(crate) fn strays(&self, stripes: &[(StripeId, Stripe)]) -> Vec<PoolId> {
        let moving = self.moving();
        let is_stray = |stripe: &Stripe| {
            let plan = moving.plans.get(&stripe.pool());
            let goals = plan.map_or(&[][..], |plan| &plan.goals);
            is_spread(stripe) && is_stray(goals, &spot(stripe))
        };
        let strays = stripes.iter().map(|(_, stripe)| stripe).filter(|stripe| is_stray(stripe));
        strays.map(Stripe::pool).collect()
    }

    /// Notes pools of which stripes came to be elsewhere than their plan wants them.
    pub(crate) fn strayed(&self, pools: &[PoolId]) {
        if pools.is_empty() {
            return;
        }
        let mut moving = self.moving();
        for pool in pools {
            if let Some(plan) = moving.plans.get_mut(pool) {
                plan.strays += 1;
            }
        }
    }

    /// How many stripes of a pool strayed since its present plan came.
    pub(super) fn strays_of(&self, pool: PoolId) -> u64 {
        self.moving().plans.get(&pool).map_or(0, |plan| plan.strays)
    }
}
