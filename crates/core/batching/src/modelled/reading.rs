//! What latencies say of a store, if a given share of a batch's time is no work of the store.

use super::{
    cost::{Cost, Costs},
    group::Observed,
    ring::{Ring, Wait},
};
use libm::log;
use ripstop_estimator::MovingAverage;

/// Halvings of the interval in which a batch's own cost is sought.
const HALVINGS: u32 = 24;
/// Rounds in which cost and queue are brought together.
const ROUNDS: u32 = 4;
/// What a prediction's error counts for in the score, and a group's variation in the variation once
/// there are as many.
const SCORE_WEIGHT: f64 = 0.1;
const VARIATION_MEMORY: f64 = 8.0;
/// Squared coefficients of variation: before any was seen, and within which they are believed.
const VARIATION_FIRST: f64 = 0.1;
const VARIATION: (f64, f64) = (0.003, 1.0);

/// One way to read latencies.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// The share of a lone batch's time in which the store is free for others.
    pub(super) overlap: f64,
    costs: Costs,
    cost: Cost,
    lone_ms: f64,
    variation: MovingAverage,
    variations: f64,
    score: MovingAverage,
}

impl Reading {
    pub(super) fn new(overlap: f64) -> Self {
        Self {
            overlap,
            costs: Costs::default(),
            cost: Cost::default(),
            lone_ms: 0.0,
            variation: MovingAverage::new(VARIATION_FIRST),
            variations: 0.0,
            score: MovingAverage::default(),
        }
    }

    /// What a batch costs.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// What the last ones cost without their waits.
    pub(super) fn lone_ms(&self) -> f64 {
        self.lone_ms
    }

    /// Squared coefficient of variation of a service.
    pub(super) fn variation(&self) -> f64 {
        self.variation.get().clamp(VARIATION.0, VARIATION.1)
    }

    /// How far off predictions were: the average of squared logarithms.
    pub(super) fn score(&self) -> f64 {
        self.score.get()
    }

    /// The greatest size that was calibrated; none if nothing was.
    pub(super) fn members_max(&self) -> Option<f64> {
        self.costs.members_max()
    }

    /// What a calibrating batch of this size costs, without its wait.
    pub(super) fn calibrated(&self, members: f64) -> f64 {
        self.costs.calibrated(members)
    }

    /// How many times as much as that others cost.
    pub(super) fn dearer(&self) -> f64 {
        self.costs.dearer()
    }

    /// Takes in batches that nobody held back.
    pub(super) fn calibrate(&mut self, observed: &Observed, others: f64, lone: f64) {
        let ring = Ring { others, variation: self.variation() }.with_lone(lone);
        let (cost, wait) = self.own_cost(observed, ring);
        // The cost is the mean of as many services as wait, and the own one.
        let noise = self.variation() / (1.0 + (1.0 - self.overlap) * others);
        self.costs.calibrate(observed.left, queue(observed, ring, wait), cost, noise);
        self.end(observed, ring, cost, wait);
    }

    /// Takes in batches that were held back.
    pub(super) fn learn(&mut self, observed: &Observed, others: f64, lone: f64) {
        let ring = Ring { others, variation: self.variation() }.with_lone(lone);
        let (cost, wait) = self.own_cost(observed, ring);
        self.costs.add(observed.left, queue(observed, ring, wait), cost);
        self.end(observed, ring, cost, wait);
    }

    fn end(&mut self, observed: &Observed, ring: Ring, cost: f64, wait: Wait) {
        self.lone_ms = cost;
        self.cost = self.costs.law();
        // The latency's variance is that of the own cost and that of the wait, both in proportion.
        let unit = cost * cost + wait.variance / ring.variation;
        if let Some(variance) = observed.variance {
            self.variations = (self.variations + 1.0).min(VARIATION_MEMORY);
            let seen = (variance / unit).clamp(VARIATION.0, VARIATION.1);
            self.variation.add(1.0 / self.variations, seen);
        }
    }

    /// Takes note of how far off a prediction was.
    pub(super) fn judge(&mut self, observed: &Observed, predicted: f64) {
        let off = log(observed.latency_ms / predicted);
        self.score.add(SCORE_WEIGHT, off * off);
    }

    /// The latency that the law says, of batches of this size that were held for so long.
    pub(super) fn predicted(&self, observed: &Observed, others: f64, lone: f64) -> f64 {
        let ring = Ring { others, variation: self.variation() }.with_lone(lone);
        let (mut queue, mut latency) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let cost = self.cost.of(observed.left, queue);
            let service = (1.0 - self.overlap) * cost;
            let wait = ring.wait(service, observed.held_ms + self.overlap * cost).mean;
            latency = cost + wait;
            queue = wait * (ring.others + 1.0) / (latency + observed.held_ms);
        }
        latency
    }

    /// What a batch cost without its wait, and that: with a greater cost, it would have waited
    /// longer.
    fn own_cost(&self, observed: &Observed, ring: Ring) -> (f64, Wait) {
        let wait = |cost: f64| {
            let service = (1.0 - self.overlap) * cost;
            ring.wait(service, observed.held_ms + self.overlap * cost)
        };
        let (mut low, mut high) = (0.0, observed.latency_ms);
        for _ in 0..HALVINGS {
            let cost = 0.5 * (low + high);
            if cost + wait(cost).mean < observed.latency_ms {
                low = cost;
            } else {
                high = cost;
            }
        }
        let cost = 0.5 * (low + high);
        (cost, wait(cost))
    }
}

/// Batches that wait, by Little's law.
fn queue(observed: &Observed, ring: Ring, wait: Wait) -> f64 {
    wait.mean * (ring.others + 1.0) / observed.cycle_ms
}
