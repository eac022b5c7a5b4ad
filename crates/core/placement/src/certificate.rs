//! A lower bound on the objective of every plan.
//!
//! Lagrange's: with prices p for loads and q ≥ 0 for bytes, no plan is below O(p, q) −
//! Σ q·capacity + min over z and Λ of z + Σ (F(Λ, z) − pΛ), where O is the price of the cheapest
//! placements, one by one. It needs no convexity in (z, Λ) together, which does not hold; for a
//! given z the least over Λ is found by convexity in Λ (see [`crate::curve`]), under Σ Λ = Σ
//! rate·k, which every plan obeys. Over z the minimum is found by search with the slopes z can
//! have: between 1 − k̄ and 1, where k̄ is the mean number of chunks of a request.

use crate::curve::{Curve, Term};
use alloc::{vec, vec::Vec};

/// How far a plan can be from the best possible one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Certificate {
    /// The plan's objective, seconds: latency plus θ times money.
    pub value: f64,
    /// No plan's objective is below this, seconds.
    pub lower_bound: f64,
}

impl Certificate {
    /// (value − lower bound) / value: the part of the objective that a better plan could save at
    /// most.
    pub fn gap(&self) -> f64 {
        if self.value > 0.0 { ((self.value - self.lower_bound) / self.value).max(0.0) } else { 0.0 }
    }
}

/// After this many looks at values of z the search becomes half as fine.
const STEPS_PER_TOLERANCE: usize = 1000;

/// The least over z and Λ of z + Σ (F − pΛ), for given p.
pub(crate) struct Dual<'a> {
    pub(crate) curves: &'a [Curve],
    pub(crate) prices: &'a [f64],
    /// Σ Λ of every plan, chunks per second.
    pub(crate) total: f64,
    /// The most load each node can have, chunks per second.
    pub(crate) most: &'a [f64],
    /// Chunks of a request, on average.
    pub(crate) chunks: f64,
    loads: Vec<f64>,
    /// What is added to all prices so that the loads sum to the total.
    shift: f64,
}

impl<'a> Dual<'a> {
    pub(crate) fn new(
        curves: &'a [Curve],
        prices: &'a [f64],
        total: f64,
        most: &'a [f64],
        chunks: f64,
        start: &[f64],
    ) -> Self {
        Self { curves, prices, total, most, chunks, loads: start.to_vec(), shift: 0.0 }
    }

    /// A lower bound on z + Σ (F − pΛ) at one z, near the least.
    fn at(&mut self, z: f64) -> f64 {
        let mut bound = f64::NEG_INFINITY;
        let mut range = (f64::NEG_INFINITY, f64::INFINITY);
        let mut stride = self.prices.iter().fold(1e-300, |most: f64, price| most.max(price.abs()));
        for _ in 0..100 {
            let (value, sum, give) = self.at_shift(z);
            bound = bound.max(value);
            let lack = self.total - sum;
            if lack.abs() <= 1e-7 * self.total {
                break;
            }
            *(if lack > 0.0 { &mut range.0 } else { &mut range.1 }) = self.shift;
            let newton = if give > 0.0 { self.shift + lack / give } else { f64::NAN };
            self.shift = if newton > range.0 && newton < range.1 {
                newton
            } else if range.0.is_finite() && range.1.is_finite() {
                0.5 * (range.0 + range.1)
            } else {
                stride *= 2.0;
                self.shift + if lack > 0.0 { stride } else { -stride }
            };
        }
        if z == f64::NEG_INFINITY { bound } else { z + bound }
    }

    /// Σ min (F − (p + shift)Λ) + shift·total, the sum of the loads that give it, and its
    /// derivative.
    fn at_shift(&mut self, z: f64) -> (f64, f64, f64) {
        let (mut value, mut sum, mut give) = (self.shift * self.total, 0.0, 0.0);
        for (node, curve) in self.curves.iter().enumerate() {
            let price = self.prices[node] + self.shift;
            let last = self.most[node].min(curve.load_max());
            let (load, term) = least(curve, price, last, self.loads[node], z);
            // The tangent is below the curve all over the interval.
            let residual = term.slope - price;
            let worst = (-residual * load).min(residual * (self.most[node] - load)).min(0.0);
            value += term.value - price * load + worst;
            sum += load;
            if load > 0.0 && load < last && term.curvature > 0.0 {
                give += 1.0 / term.curvature;
            }
            self.loads[node] = load;
        }
        (value, sum, give)
    }

    /// A lower bound over all z where the objective can be as low as `value`, within about
    /// `tolerance`, searched from `z` on. `rest` is what the bound at a z must be added to, `least`
    /// a bound on the part of the objective that is not latency.
    pub(crate) fn over_z(
        &mut self,
        z: f64,
        value: f64,
        rest: f64,
        least: f64,
        tolerance: f64,
    ) -> f64 {
        let middle = self.at(z) + rest;
        if z == f64::NEG_INFINITY {
            return middle;
        }
        let room = (value - least).max(0.0);
        let fall = self.chunks - 1.0;
        let mean = self.curves.iter().fold(f64::INFINITY, |least, curve| {
            least.min(curve.at(0.0, f64::NEG_INFINITY).slope * self.total / self.chunks)
        });
        let ends = [room, (self.chunks * mean - room) / fall];
        let mut bound = middle;
        let start = (self.loads.clone(), self.shift);
        for (way, end, downhill, uphill) in [(1.0, ends[0], fall, 1.0), (-1.0, ends[1], 1.0, fall)]
        {
            (self.loads, self.shift) = (start.0.clone(), start.1);
            let left = (end - z) * way;
            bound =
                bound.min(self.march((z, middle), way, left, (downhill, uphill), rest, tolerance));
        }
        bound.min(value)
    }

    /// From a look (z, height) on, `left` seconds in a direction: the function can fall by the
    /// first of `falls` per second on the way and by the second on the way back.
    fn march(
        &mut self,
        (start, middle): (f64, f64),
        way: f64,
        mut left: f64,
        (downhill, uphill): (f64, f64),
        rest: f64,
        mut tolerance: f64,
    ) -> f64 {
        let (mut bound, mut here, mut lowest) = (middle, middle, middle);
        let (mut z, mut steps) = (start, 0);
        while left > 0.0 {
            // What is between two looks at heights a and b, a width w apart, is above
            // (a·uphill + b·downhill − w·uphill·downhill)/(uphill + downhill).
            let spare = here - lowest + tolerance;
            let width = (spare * (1.0 / uphill + 1.0 / downhill)).min(left);
            z += way * width;
            let there = self.at(z) + rest;
            let between = (here * uphill + there * downhill - width * uphill * downhill)
                / (uphill + downhill);
            bound = bound.min(between.min(here).min(there));
            lowest = lowest.min(there);
            (here, left, steps) = (there, left - width, steps + 1);
            if steps % STEPS_PER_TOLERANCE == 0 {
                tolerance *= 2.0;
            }
        }
        bound
    }
}

/// The load, at most `last`, where a curve's slope is nearest to a price, and its term there.
fn least(curve: &Curve, price: f64, last: f64, start: f64, z: f64) -> (f64, Term) {
    let (mut low, mut high, mut load) = (0.0, last, start.clamp(0.0, last));
    let mut term = curve.at(load, z);
    for _ in 0..60 {
        let residual = term.slope - price;
        let end = if residual > 0.0 { load <= 0.0 } else { load >= last };
        if end || residual.abs() <= 1e-11 * price.abs() {
            break;
        }
        *(if residual > 0.0 { &mut high } else { &mut low }) = load;
        let newton = load - residual / term.curvature;
        let next = if newton > low && newton < high {
            newton
        } else if newton <= 0.0 && low <= 0.0 {
            0.0
        } else if newton >= last && high >= last {
            last
        } else {
            0.5 * (low + high)
        };
        if (next - load).abs() <= 1e-15 * last {
            break;
        }
        load = next;
        term = curve.at(load, z);
    }
    (load, term)
}

/// The most load each node can have: all requests of the classes that may use it, or all it can
/// serve.
pub(crate) fn most_loads(curves: &[Curve], rates: &[f64]) -> Vec<f64> {
    let mut most = vec![0.0; curves.len()];
    for (node, (curve, rate)) in curves.iter().zip(rates).enumerate() {
        most[node] = rate.min(curve.load_max() / crate::curve::UTILISATION_MAX);
    }
    most
}
