use ripstop_shaping::{
    Arrivals, CapacityPlan, Fraction, MinMaxLoad, Promise, Question, Rule, Search, Tier,
};
use std::time::Duration;

/// The fractions of the paper's tables.
pub const FRACTIONS: [&str; 6] = ["0.9", "0.95", "0.99", "0.995", "0.999", "1"];

/// The bounds of the paper's tables.
pub const BOUNDS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(20), Duration::from_millis(50)];

/// What is asked about a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Study<'trace> {
    /// When its requests arrived.
    pub arrivals: Arrivals<'trace>,
    /// What is promised, if anything is.
    pub promise: Option<Promise>,
    /// The rules by which tiers take requests. The first is that of comparisons, the sweep and
    /// figures.
    pub rules: Vec<Rule>,
    /// The fractions of the sweep.
    pub fractions: Vec<Fraction>,
    /// The bounds of the sweep.
    pub bounds: Vec<Duration>,
    /// The windows of the min–max load heuristic.
    pub window: Duration,
    /// The seed of what it drops.
    pub seed: u64,
}

/// A cell of the sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepCell {
    /// Of all requests, this fraction …
    pub fraction: Fraction,
    /// … within this bound …
    pub bound: Duration,
    /// … takes this capacity, in requests a second.
    pub capacity: u64,
}

impl<'trace> Study<'trace> {
    /// The questions of the paper's tables, by all rules, without a promise; windows of 100 ms.
    pub fn new(arrivals: Arrivals<'trace>) -> Self {
        let fractions = FRACTIONS.map(|share| share.parse().expect("a share of the paper's"));
        Self {
            arrivals,
            promise: None,
            rules: Rule::ALL.to_vec(),
            fractions: fractions.to_vec(),
            bounds: BOUNDS.to_vec(),
            window: Duration::from_millis(100),
            seed: 1,
        }
    }

    /// The same about a promise, with its bounds.
    pub fn of_promise(arrivals: Arrivals<'trace>, promise: Promise) -> Self {
        let bounds = promise.tiers().iter().map(Tier::bound).collect();
        Self { promise: Some(promise), bounds, ..Self::new(arrivals) }
    }

    /// The rule of comparisons and the sweep.
    pub fn rule(&self) -> Rule {
        self.rules.first().copied().unwrap_or_default()
    }

    /// The smallest capacities that keep the promise, by each rule; nothing if nothing is promised.
    pub fn plans(&self) -> Vec<CapacityPlan> {
        let Some(promise) = &self.promise else { return Vec::new() };
        self.rules.iter().map(|rule| CapacityPlan::new(self.arrivals, promise, *rule)).collect()
    }

    /// The smallest capacity for each fraction within each bound, bound by bound.
    ///
    /// Calls `seen` with how much is left to find out, first before anything is.
    pub fn sweep(&self, seen: impl FnMut(u32)) -> Vec<SweepCell> {
        self.sweep_of(&self.fractions, &self.bounds, seen)
    }

    /// The same for other fractions and bounds.
    pub(crate) fn sweep_of(
        &self,
        fractions: &[Fraction],
        bounds: &[Duration],
        mut seen: impl FnMut(u32),
    ) -> Vec<SweepCell> {
        let pairs = bounds.iter().flat_map(|bound| fractions.iter().map(move |one| (*bound, *one)));
        let pairs: Vec<_> = pairs.collect();
        let (rule, requests) = (self.rule(), self.arrivals.count());
        let ask = |(bound, share): &(Duration, Fraction)| Question {
            rule,
            bound: *bound,
            need: share.of(requests),
        };
        let questions: Vec<_> = pairs.iter().map(ask).collect();
        let mut search = Search::new(self.arrivals, &questions);
        seen(search.bits_left());
        while search.step() {
            seen(search.bits_left());
        }
        let cells = pairs.into_iter().zip(search.capacities());
        cells.map(|((bound, fraction), capacity)| SweepCell { fraction, bound, capacity }).collect()
    }

    /// The capacity that the min–max load heuristic takes for this fraction within each bound.
    pub fn min_max(&self, fraction: Fraction, bounds: &[Duration]) -> (MinMaxLoad, Vec<u64>) {
        let load = MinMaxLoad::new(self.arrivals, fraction, self.window, self.seed);
        let capacities = bounds.iter().map(|bound| load.capacity(*bound)).collect();
        (load, capacities)
    }
}
