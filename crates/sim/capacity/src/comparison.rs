use crate::{Study, shared_capacity};
use ripstop_shaping::{
    Admission, Arrivals, CapacityPlan, Cascade, Fraction, Promise, responses, undecomposed_capacity,
};
use std::time::Duration;

/// How long requests took, from arrival to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distribution {
    /// Ascending, in nanoseconds.
    responses_ns: Vec<u64>,
    /// Requests that were never served.
    refused: u64,
}

impl Distribution {
    fn new(responses: impl Iterator<Item = Duration>, requests: u64) -> Self {
        let mut responses_ns: Vec<u64> = Vec::with_capacity(requests as usize);
        responses_ns.extend(responses.map(|response| response.as_nanos() as u64));
        responses_ns.sort_unstable();
        let refused = requests - responses_ns.len() as u64;
        Self { responses_ns, refused }
    }

    /// That of first come, first served, at this capacity in requests a second.
    pub fn undecomposed(arrivals: Arrivals<'_>, capacity: u64) -> Self {
        Self::new(responses(arrivals, capacity), arrivals.count())
    }

    /// That of a plan whose tiers serve what they take, each with its own capacity only.
    pub fn decomposed(arrivals: Arrivals<'_>, promise: &Promise, plan: &CapacityPlan) -> Self {
        let capacities: Vec<u64> = plan.tiers.iter().map(|tier| tier.capacity).collect();
        let mut cascade = Cascade::of(plan.rule, promise, &capacities)
            .expect("a plan has a capacity for each tier of its promise");
        let times = arrivals.times().iter();
        let responses = times.filter_map(|now| match cascade.admit(*now, 1) {
            Admission::Admitted(admitted) => Some(admitted.end.since(*now)),
            Admission::Refused { .. } => None,
        });
        Self::new(responses, arrivals.count())
    }

    fn requests(&self) -> u64 {
        self.responses_ns.len() as u64 + self.refused
    }

    /// How many ended within a bound.
    pub fn within(&self, bound: Duration) -> u64 {
        self.responses_ns.partition_point(|ns| u128::from(*ns) <= bound.as_nanos()) as u64
    }

    /// The share of all requests that ended within a bound, 0 to 1.
    pub fn share_within(&self, bound: Duration) -> f64 {
        self.within(bound) as f64 / self.requests() as f64
    }

    /// The time within which at least this fraction of all requests ended; none if that many never
    /// did.
    pub fn quantile(&self, fraction: Fraction) -> Option<Duration> {
        let need = fraction.of(self.requests());
        let at = usize::try_from(need).ok()?.checked_sub(1)?;
        self.responses_ns.get(at).map(|ns| Duration::from_nanos(*ns))
    }
}

/// What the same capacity does with decomposition and without, and what else keeps a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The capacity of all tiers together.
    pub capacity: u64,
    /// Its tiers, each with its own share.
    pub decomposed: Distribution,
    /// First come, first served with all of it.
    pub undecomposed: Distribution,
    /// For each tier, what the min–max load heuristic takes.
    pub min_max: Vec<u64>,
    /// The capacity with which first come, first served keeps the whole promise.
    pub undecomposed_capacity: u64,
    /// The capacity with which one server that all tiers share keeps it.
    pub shared_capacity: u64,
}

impl Comparison {
    /// Compares a plan for the study's promise; none if the study has no promise.
    pub fn new(study: &Study<'_>, plan: &CapacityPlan) -> Option<Self> {
        let (promise, arrivals, capacity) = (study.promise.as_ref()?, study.arrivals, plan.total());
        let tiers = promise.tiers().iter();
        let min_max = tiers.map(|tier| study.min_max(tier.fraction(), &[tier.bound()]).1[0]);
        Some(Self {
            capacity,
            decomposed: Distribution::decomposed(arrivals, promise, plan),
            undecomposed: Distribution::undecomposed(arrivals, capacity),
            min_max: min_max.collect(),
            undecomposed_capacity: undecomposed_capacity(arrivals, promise.tiers()),
            shared_capacity: shared_capacity(arrivals, promise),
        })
    }

    /// What keeps the whole promise, and the capacity that it takes, in requests a second.
    pub(crate) fn keeping(&self) -> [(&'static str, u64); 3] {
        [
            ("tiers that share one server", self.shared_capacity),
            ("tiers with a server each", self.capacity),
            ("fcfs", self.undecomposed_capacity),
        ]
    }
}
