//! Stripes that came to be elsewhere than a plan wants them.
//!
//! A request that makes a stripe visible only counts it here: the mover that brings stripes home
//! looks at the count, and finds the stripes themselves in the catalog. A queue of them would need
//! a bound, and would say no more.

use ripstop_catalog::Stripe;
use ripstop_model::{PoolId, StripeId};
use ripstop_placement::moving::{Goal, Spot, is_stray};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Whether plans are about a stripe: its fragments are at nodes of their own.
pub fn is_spread(stripe: &Stripe) -> bool {
    stripe.run == 0 && stripe.n > 1
}

/// Where a stripe is.
pub fn spot(stripe: &Stripe) -> Spot {
    Spot::new(stripe.n, &stripe.nodes)
}

/// Where plans want each pool's stripes, and how many came to be elsewhere.
#[derive(Debug, Default)]
pub struct Strays(Mutex<BTreeMap<PoolId, Wanted>>);

#[derive(Debug, Default)]
struct Wanted {
    goals: Arc<[Goal]>,
    /// Stripes that came to be at none of the goals, as often as they did.
    strayed: u64,
}

impl Strays {
    fn pools(&self) -> MutexGuard<'_, BTreeMap<PoolId, Wanted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a pool's stripes are to be at one of these goals, if there are any; counts from
    /// the beginning.
    pub fn want(&self, pool: PoolId, goals: Arc<[Goal]>) {
        self.pools().insert(pool, Wanted { goals, strayed: 0 });
    }

    /// The pools of those stripes that are at none of their pool's goals, each as often as it has
    /// one: what is to be put to [`Strays::note`] once the catalog has them.
    pub fn of(&self, stripes: &[(StripeId, Stripe)]) -> Vec<PoolId> {
        let pools = self.pools();
        let is_stray = |stripe: &Stripe| {
            let goals = pools.get(&stripe.pool()).map_or(&[][..], |wanted| &wanted.goals);
            is_spread(stripe) && is_stray(goals, &spot(stripe))
        };
        let strays = stripes.iter().map(|(_, stripe)| stripe).filter(|stripe| is_stray(stripe));
        strays.map(Stripe::pool).collect()
    }

    /// Notes pools of which stripes came to be elsewhere than their plan wants them.
    pub fn note(&self, pools: &[PoolId]) {
        if pools.is_empty() {
            return;
        }
        let mut known = self.pools();
        for pool in pools {
            if let Some(wanted) = known.get_mut(pool) {
                wanted.strayed += 1;
            }
        }
    }

    /// How many stripes of a pool strayed since its present plan came.
    pub fn strayed(&self, pool: PoolId) -> u64 {
        self.pools().get(&pool).map_or(0, |wanted| wanted.strayed)
    }
}
