//! Which plan each pool follows, and how far it is.

use ripstop_model::PoolId;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
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
#[derive(Default, Debug)]
pub(crate) struct Movers(Mutex<BTreeMap<PoolId, Plan>>);

/// What a pool follows.
#[derive(Debug, Default)]
struct Plan {
    /// Which of its plans is the present one.
    number: u64,
    /// How far its mover is, and earlier ones of the pool were.
    progress: MoveProgress,
}

impl Movers {
    fn plans(&self) -> MutexGuard<'_, BTreeMap<PoolId, Plan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the pool's mover; answers the number of the one that follows.
    pub(super) fn replace(&self, pool: PoolId) -> u64 {
        let mut plans = self.plans();
        let plan = plans.entry(pool).or_default();
        let progress = MoveProgress { fragments_left: 0, ..plan.progress };
        *plan = Plan { number: plan.number + 1, progress };
        plan.number
    }

    pub(super) fn is_present(&self, pool: PoolId, number: u64) -> bool {
        self.plans().get(&pool).is_some_and(|plan| plan.number == number)
    }

    pub(super) fn note(
        &self,
        pool: PoolId,
        number: u64,
        change: impl FnOnce(&mut MoveProgress, &mut u64),
    ) {
        let mut plans = self.plans();
        let Some(plan) = plans.get_mut(&pool) else { return };
        // What a mover does after its end counts too, but says nothing of what is left.
        let was_left = plan.progress.fragments_left;
        let mut left = was_left;
        change(&mut plan.progress, &mut left);
        plan.progress.fragments_left = if plan.number == number { left } else { was_left };
    }

    pub(crate) fn progress(&self) -> MoveProgress {
        let plans = self.plans();
        plans.values().fold(MoveProgress::default(), |sum, plan| sum.with(&plan.progress))
    }

    pub(crate) fn progress_of(&self, pool: PoolId) -> MoveProgress {
        self.plans().get(&pool).map(|plan| plan.progress).unwrap_or_default()
    }
}
