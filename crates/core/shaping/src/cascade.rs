#[cfg(test)]
mod tests;

use crate::{
    Promise, Rule,
    backlog::{Backlog, nanos_for},
};
use alloc::vec::Vec;
use core::{fmt, time::Duration};
use ripstop_model::Timestamp;

/// A tier's share of the capacity, and the bound that its requests meet with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierShare {
    /// Units of work a second. Nothing: the tier takes no requests.
    pub capacity: u64,
    /// How long a request may take from its arrival to its end.
    pub bound: Duration,
}

/// What became of a request at its arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// A tier took it.
    Admitted(Admitted),
    /// No tier could.
    Refused {
        /// After how long the last tier would take a request of this cost if none came between;
        /// none if it never would, with the capacity that it has.
        retry_after: Option<Duration>,
    },
}

/// A request that a tier took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// Which: 0 is the tightest.
    pub tier: usize,
    /// When it must have ended: its arrival and the tier's bound.
    pub deadline: Timestamp,
    /// When it ends if the tier's capacity serves it in order of arrival. Under [`Rule::Count`]
    /// this can be later than the deadline.
    pub end: Timestamp,
}

/// Admission by deadline, tier by tier: what one cannot serve within its bound is the next one's.
///
/// Each tier is a server with its own capacity, in units of work a second, of which a request costs
/// some; it works on what it has taken in order of arrival and all the time while there is any.
/// That is the account by which a [`Rule`] judges; what is really done where is for recombination
/// to decide, and work that takes longer than it was said to cost is not in it.
///
/// A request costs time in proportion to the number of tiers, and no memory; no clock is read.
///
/// ```
/// use core::time::Duration;
/// use ripstop_model::Timestamp;
/// use ripstop_shaping::{Admission, Cascade, Rule, TierShare};
///
/// let tight = TierShare { capacity: 100, bound: Duration::from_millis(20) };
/// let loose = TierShare { capacity: 50, bound: Duration::from_millis(40) };
/// let mut cascade = Cascade::new(Rule::Exact, &[tight, loose])?;
/// let tiers = [(); 5].map(|()| match cascade.admit(Timestamp::ZERO, 1) {
///     Admission::Admitted(admitted) => admitted.tier,
///     Admission::Refused { retry_after } => {
///         assert_eq!(retry_after, Some(Duration::from_millis(20)));
///         9
///     }
/// });
/// assert_eq!(tiers, [0, 0, 1, 1, 9]);
/// # Ok::<(), ripstop_shaping::CascadeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cascade {
    rule: Rule,
    tiers: Vec<Stage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stage {
    share: TierShare,
    backlog: Backlog,
}

impl Cascade {
    /// A cascade without backlog. There must be a share, and bounds must rise.
    pub fn new(rule: Rule, shares: &[TierShare]) -> Result<Self, CascadeError> {
        if shares.is_empty() {
            return Err(CascadeError::Empty);
        }
        let rises = |pair: &[TierShare]| pair[0].bound < pair[1].bound;
        if shares[0].bound.is_zero() || !shares.windows(2).all(rises) {
            return Err(CascadeError::Bounds);
        }
        let tiers = shares.iter().map(|share| Stage { share: *share, backlog: Backlog::default() });
        Ok(Self { rule, tiers: tiers.collect() })
    }

    /// The cascade of a promise whose tiers have these capacities, in units of work a second.
    pub fn of(rule: Rule, promise: &Promise, capacities: &[u64]) -> Result<Self, CascadeError> {
        let tiers = promise.tiers();
        if tiers.len() != capacities.len() {
            let (tiers, capacities) = (tiers.len(), capacities.len());
            return Err(CascadeError::Capacities { tiers, capacities });
        }
        let pairs = tiers.iter().zip(capacities);
        let shares =
            pairs.map(|(tier, capacity)| TierShare { capacity: *capacity, bound: tier.bound() });
        Self::new(rule, &shares.collect::<Vec<_>>())
    }

    /// The rule by which it judges.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// The tiers' shares, the tightest first.
    pub fn shares(&self) -> impl ExactSizeIterator<Item = TierShare> {
        self.tiers.iter().map(|stage| stage.share)
    }

    /// Finds the first tier that can take a request of `cost` units of work, and gives it the
    /// request.
    ///
    /// A `now` before that of an earlier call counts as that.
    pub fn admit(&mut self, now: Timestamp, cost: u64) -> Admission {
        let mut retry_after = None;
        for (tier, Stage { share, backlog }) in self.tiers.iter_mut().enumerate() {
            backlog.drain(now, share.capacity);
            let limit = self.rule.limit_within(share.capacity, share.bound, cost);
            let excess = limit.map(|limit| backlog.work.saturating_sub(limit));
            if excess == Some(0) {
                backlog.add(cost);
                let end = now + Duration::from_nanos(backlog.nanos(share.capacity));
                let deadline = now + share.bound;
                return Admission::Admitted(Admitted { tier, deadline, end });
            }
            let wait = |excess| Duration::from_nanos(nanos_for(excess, share.capacity));
            retry_after = excess.map(wait);
        }
        Admission::Refused { retry_after }
    }

    /// From now on the tiers have these capacities, in units of work a second; what they have taken
    /// stays taken. There must be one for each tier.
    pub fn set_capacities(
        &mut self,
        now: Timestamp,
        capacities: &[u64],
    ) -> Result<(), CascadeError> {
        if capacities.len() != self.tiers.len() {
            let (tiers, capacities) = (self.tiers.len(), capacities.len());
            return Err(CascadeError::Capacities { tiers, capacities });
        }
        for (stage, capacity) in self.tiers.iter_mut().zip(capacities) {
            stage.backlog.drain(now, stage.share.capacity);
            stage.share.capacity = *capacity;
        }
        Ok(())
    }

    /// From now on requests may take this long in the tiers, given in order; what was admitted
    /// stays.
    pub fn set_bounds(&mut self, bounds: impl IntoIterator<Item = Duration>) {
        for (stage, bound) in self.tiers.iter_mut().zip(bounds) {
            stage.share.bound = bound;
        }
    }

    /// How long a tier would take at `now` for what it has taken; none if there is no such tier.
    pub fn backlog(&self, now: Timestamp, tier: usize) -> Option<Duration> {
        let stage = self.tiers.get(tier)?;
        let mut backlog = stage.backlog;
        backlog.drain(now, stage.share.capacity);
        Some(Duration::from_nanos(backlog.nanos(stage.share.capacity)))
    }
}

/// Why a cascade cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CascadeError {
    /// It has no tiers.
    Empty,
    /// A bound is nothing, or not longer than the one before it.
    Bounds,
    /// There is not one capacity for each tier.
    Capacities {
        /// How many tiers there are.
        tiers: usize,
        /// How many capacities.
        capacities: usize,
    },
}

impl fmt::Display for CascadeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a cascade needs a tier"),
            Self::Bounds => f.write_str("the bounds of a cascade's tiers must rise from above 0"),
            Self::Capacities { tiers, capacities } => {
                write!(f, "{capacities} capacities for {tiers} tiers")
            }
        }
    }
}

impl core::error::Error for CascadeError {}
