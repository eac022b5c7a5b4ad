use crate::{
    Arrivals, Promise, Question, Rule, Tier, backlog::Backlog, capacities, kernel::Server,
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// What a promise takes on some arrivals, tier by tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapacityPlan {
    /// By which rule requests are taken.
    pub rule: Rule,
    /// What each of the promise's tiers takes.
    pub tiers: Vec<TierPlan>,
    /// Requests that no tier takes; none if the promise ends at 1.
    pub refused: u64,
}

/// What a tier takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierPlan {
    /// What is promised.
    pub tier: Tier,
    /// The smallest capacity that keeps it, in requests a second; nothing where the tiers before it
    /// take enough requests already.
    pub capacity: u64,
    /// Requests that it takes.
    pub admitted: u64,
    /// How many of them end after the bound; none but under [`Rule::Count`].
    pub late: u64,
}

impl CapacityPlan {
    /// The smallest capacity of the first tier, then the smallest of the second for what the first
    /// refuses, and so on, such that each tier and those before it take the promised fraction of
    /// all.
    ///
    /// As a tier's requests end within its bound, and bounds rise, that keeps the promise: at each
    /// bound at least the promised fraction has ended. (Except for those that are late under
    /// [`Rule::Count`].) Smallest tier by tier; the total can be smaller where an earlier tier is
    /// given more than it needs.
    ///
    /// ```
    /// use ripstop_model::Timestamp;
    /// use ripstop_shaping::{Arrivals, CapacityPlan, Promise, Rule};
    ///
    /// // Ten requests in a second, and ten more at its end.
    /// let times = (0..20u64).map(|at| Timestamp::from_nanos(at.min(10) * 100_000_000));
    /// let times = times.collect::<Vec<_>>();
    /// let promise: Promise = "0.5:100ms,1:1s".parse()?;
    /// let plan = CapacityPlan::new(Arrivals::new(&times)?, &promise, Rule::Exact);
    /// assert_eq!(plan.tiers.iter().map(|tier| tier.capacity).collect::<Vec<_>>(), [10, 9]);
    /// assert_eq!(plan.total(), 19);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(arrivals: Arrivals<'_>, promise: &Promise, rule: Rule) -> Self {
        let (mut left, mut admitted) = (None::<Vec<Timestamp>>, 0);
        let mut tiers = Vec::with_capacity(promise.tiers().len());
        for tier in promise.tiers() {
            let seen = left.as_deref().map_or(arrivals, Arrivals::ordered);
            let need = tier.fraction().of(arrivals.count()).saturating_sub(admitted);
            let bound = tier.bound();
            let capacity = capacities(seen, &[Question { rule, bound, need }])[0];
            let (plan, refused) = serve(seen, *tier, rule, capacity);
            admitted += plan.admitted;
            tiers.push(plan);
            left = Some(refused);
        }
        Self { rule, tiers, refused: arrivals.count() - admitted }
    }

    /// The capacity of all tiers together, in requests a second.
    pub fn total(&self) -> u64 {
        self.tiers.iter().fold(0, |total, tier| total.saturating_add(tier.capacity))
    }
}

/// What a tier of this capacity makes of what it sees, and what it refuses.
fn serve(seen: Arrivals<'_>, tier: Tier, rule: Rule, capacity: u64) -> (TierPlan, Vec<Timestamp>) {
    let mut plan = TierPlan { tier, capacity, admitted: 0, late: 0 };
    let bound_ns = u64::try_from(tier.bound().as_nanos()).unwrap_or(u64::MAX);
    let (mut backlog, mut refused) = (Backlog::default(), Vec::new());
    let within = u128::from(capacity) * u128::from(bound_ns);
    let takes = Server { rule, bound_ns, capacity }.takes(seen);
    for (now, takes) in seen.times().iter().zip(takes) {
        if takes {
            backlog.drain(*now, capacity);
            backlog.add(1);
            plan.admitted += 1;
            plan.late += u64::from(backlog.work > within);
        } else {
            refused.push(*now);
        }
    }
    (plan, refused)
}
