//! The smooth part of the objective, as a function of what the nodes carry: loads and bytes.

use crate::curve::{Curve, Term, best_z};
use alloc::{vec, vec::Vec};
use libm::{asinh, sqrt};

/// What is to be made small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The latency of (13), with penalties for bytes beyond the nodes' capacities.
    Latency,
    /// The squares of the loads beyond what the nodes can serve, to see whether they can.
    Overload,
    /// The squares of the bytes beyond capacity, to see whether they fit.
    Overflow,
}

/// The nodes' state in a descent.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) goal: Goal,
    pub(crate) curves: Vec<Curve>,
    /// Chunks per second of each node.
    pub(crate) loads: Vec<f64>,
    /// Bytes of each node.
    pub(crate) bytes: Vec<f64>,
    /// What is linear: money and moves, in seconds.
    pub(crate) linear: f64,
    pub(crate) z: f64,
    /// Derivative by each load.
    pub(crate) slopes: Vec<f64>,
    /// Derivative by each node's bytes, never negative.
    pub(crate) byte_prices: Vec<f64>,
    pub(crate) capacity: Vec<f64>,
    /// Lagrange multiplier of each capacity, seconds per byte.
    multipliers: Vec<f64>,
    /// Stiffness of each capacity, seconds per byte².
    stiffness: Vec<f64>,
    /// What the softness of one penalty costs, seconds.
    softness: f64,
}

/// How much of something a step brings to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    pub(crate) node: u16,
    pub(crate) load: f64,
    pub(crate) bytes: f64,
}

impl Field {
    pub(crate) fn new(goal: Goal, curves: Vec<Curve>, capacity: Vec<f64>) -> Self {
        let m = curves.len();
        let mut field = Self {
            goal,
            curves,
            loads: vec![0.0; m],
            bytes: vec![0.0; m],
            linear: 0.0,
            z: 0.0,
            slopes: vec![0.0; m],
            byte_prices: vec![0.0; m],
            capacity,
            multipliers: vec![0.0; m],
            stiffness: vec![0.0; m],
            softness: 0.0,
        };
        field.refresh();
        field
    }

    /// The load's term at a node.
    #[inline]
    fn load_term(&self, node: usize, load: f64) -> Term {
        match self.goal {
            Goal::Latency => self.curves[node].at(load, self.z),
            Goal::Overload => {
                let max = self.curves[node].load_max();
                let beyond = (load - max).max(0.0) / max;
                let curvature = if beyond > 0.0 { 1.0 / max } else { 0.0 };
                Term { value: 0.5 * beyond * beyond * max, slope: beyond, curvature }
            }
            Goal::Overflow => Term::default(),
        }
    }

    /// The penalty for bytes beyond capacity at a node: its slope is s = multiplier + stiffness ·
    /// (bytes − capacity) where that is clearly positive, near 0 where it is clearly negative, and
    /// ½(s + √(s² + 4δ²)) in all, because steps would end at a kink.
    #[inline]
    fn byte_term(&self, node: usize, bytes: f64) -> Term {
        let (stiffness, multiplier) = (self.stiffness[node], self.multipliers[node]);
        if stiffness == 0.0 {
            return Term::default();
        }
        let s = multiplier + stiffness * (bytes - self.capacity[node]);
        let delta = sqrt(self.softness * stiffness);
        let root = sqrt(s * s + 4.0 * delta * delta);
        let bow = if delta > 0.0 { delta * delta * asinh(0.5 * s / delta) } else { 0.0 };
        Term {
            value: (0.25 * s * (s + root) + bow) / stiffness,
            slope: if s >= 0.0 { 0.5 * (s + root) } else { 2.0 * delta * delta / (root - s) },
            curvature: if root > 0.0 { 0.5 * stiffness * (1.0 + s / root) } else { 0.0 },
        }
    }

    /// Sets what the softness of all penalties together costs, seconds.
    pub(crate) fn soften(&mut self, seconds: f64) {
        self.softness = seconds / self.capacity.len() as f64;
        self.refresh();
    }

    /// Sets how strongly capacities that may bind push back, given the objective's size in seconds.
    pub(crate) fn stiffen(&mut self, scale: f64, most: &[f64]) {
        let m = self.capacity.len() as f64;
        for (at, stiffness) in self.stiffness.iter_mut().enumerate() {
            let capacity = self.capacity[at];
            let binding = most[at] > capacity;
            *stiffness =
                if binding { 100.0 * scale / (m * capacity * capacity).max(1.0) } else { 0.0 };
        }
        self.refresh();
    }

    /// Drops the penalties, once every chunk has its place.
    pub(crate) fn forget_capacities(&mut self) {
        self.stiffness.fill(0.0);
        self.refresh();
    }

    /// Takes the present prices as multipliers.
    pub(crate) fn update_multipliers(&mut self) {
        for node in 0..self.bytes.len() {
            self.multipliers[node] = self.byte_term(node, self.bytes[node]).slope;
        }
        self.refresh();
    }

    /// Whether any capacity may bind.
    pub(crate) fn limited(&self) -> bool {
        self.stiffness.iter().any(|&stiffness| stiffness > 0.0)
    }

    /// The largest part of a node's capacity by which it is exceeded.
    pub(crate) fn overflow(&self) -> f64 {
        let limits = self.bytes.iter().zip(&self.capacity).zip(&self.stiffness);
        limits
            .filter(|&(_, &stiffness)| stiffness > 0.0)
            .fold(0.0, |most, ((bytes, capacity), _)| {
                f64::max(most, (bytes - capacity) / capacity.max(1.0))
            })
    }

    /// Σ multiplier · (bytes − capacity) at the present prices, as the penalty's linear part.
    pub(crate) fn dual_slack(&self) -> f64 {
        self.byte_prices
            .iter()
            .zip(&self.capacity)
            .map(|(q, capacity)| if *q > 0.0 { q * capacity } else { 0.0 })
            .sum()
    }

    /// Finds the best z and all derivatives again.
    pub(crate) fn refresh(&mut self) {
        if self.goal == Goal::Latency {
            self.z = best_z(&self.curves, &self.loads);
        }
        for node in 0..self.loads.len() {
            self.slopes[node] = self.load_term(node, self.loads[node]).slope;
            self.byte_prices[node] = self.byte_term(node, self.bytes[node]).slope;
        }
    }

    /// What is being made small, with penalties.
    pub(crate) fn value(&self) -> f64 {
        let smooth: f64 = (0..self.loads.len())
            .map(|node| {
                self.load_term(node, self.loads[node]).value
                    + self.byte_term(node, self.bytes[node]).value
            })
            .sum();
        let z = if self.goal == Goal::Latency && self.z.is_finite() { self.z } else { 0.0 };
        z + smooth + self.linear
    }

    /// Goes along a step, whose linear part is `linear`, to the least value within `most` of it,
    /// and says how far that was.
    pub(crate) fn descend(&mut self, step: &[Delta], linear: f64, most: f64) -> f64 {
        let mut far = most;
        let (mut low, mut high) = (0.0, most);
        for attempt in 0..60 {
            let (slope, curvature) = self.along(step, linear, far);
            if slope <= 0.0 && far >= most {
                break;
            }
            if slope > 0.0 {
                high = far;
            } else {
                low = far;
            }
            let newton = if curvature > 0.0 { far - slope / curvature } else { f64::NAN };
            let inside = newton > low && newton < high;
            // Newton's step from the far end falls short where the curve steepens: halve at times.
            let next = if inside && attempt % 4 != 3 { newton } else { 0.5 * (low + high) };
            if (next - far).abs() <= 1e-10 * far || high - low <= 1e-13 * most {
                far = next;
                break;
            }
            far = next;
        }
        self.go(step, linear, far);
        far
    }

    /// Among nodes with these shares of some requests, by slope and position: the dearest that has
    /// a share, and the cheapest that could have more.
    pub(crate) fn dearest_and_cheapest(
        &self,
        nodes: &[u16],
        shares: &[f64],
    ) -> ((f64, usize), (f64, usize)) {
        let (mut from, mut to) = ((f64::NEG_INFINITY, 0), (f64::INFINITY, 0));
        for (index, (&node, &share)) in nodes.iter().zip(shares).enumerate() {
            let slope = self.slopes[usize::from(node)];
            if share > 0.0 && slope > from.0 {
                from = (slope, index);
            }
            if share < 1.0 && slope < to.0 {
                to = (slope, index);
            }
        }
        (from, to)
    }

    /// Second derivatives by a node's load and by its bytes.
    pub(crate) fn curvatures(&self, node: usize) -> (f64, f64) {
        let load = self.load_term(node, self.loads[node]);
        (load.curvature, self.byte_term(node, self.bytes[node]).curvature)
    }

    /// The loads, to come back to.
    pub(crate) fn mark(&self) -> (Vec<f64>, Vec<f64>) {
        (self.loads.clone(), self.slopes.clone())
    }

    /// Comes back to loads marked before, at the same z.
    pub(crate) fn back_to(&mut self, (loads, slopes): (Vec<f64>, Vec<f64>)) {
        (self.loads, self.slopes) = (loads, slopes);
    }

    fn along(&self, step: &[Delta], linear: f64, far: f64) -> (f64, f64) {
        step.iter().fold((linear, 0.0), |(slope, curvature), delta| {
            let node = usize::from(delta.node);
            let load = self.load_term(node, self.loads[node] + far * delta.load);
            let bytes = self.byte_term(node, self.bytes[node] + far * delta.bytes);
            (
                slope + load.slope * delta.load + bytes.slope * delta.bytes,
                curvature
                    + load.curvature * delta.load * delta.load
                    + bytes.curvature * delta.bytes * delta.bytes,
            )
        })
    }

    /// By how much the whole of a step would change the objective at this z.
    pub(crate) fn trial(&self, step: &[Delta], linear: f64) -> f64 {
        step.iter().fold(linear, |change, delta| {
            let node = usize::from(delta.node);
            let (load, bytes) = (self.loads[node], self.bytes[node]);
            change + self.load_term(node, load + delta.load).value
                - self.load_term(node, load).value
                + self.byte_term(node, bytes + delta.bytes).value
                - self.byte_term(node, bytes).value
        })
    }

    /// Goes `far` along a step.
    pub(crate) fn go(&mut self, step: &[Delta], linear: f64, far: f64) {
        for delta in step {
            let node = usize::from(delta.node);
            self.loads[node] = (self.loads[node] + far * delta.load).max(0.0);
            self.bytes[node] = (self.bytes[node] + far * delta.bytes).max(0.0);
            self.slopes[node] = self.load_term(node, self.loads[node]).slope;
            self.byte_prices[node] = self.byte_term(node, self.bytes[node]).slope;
        }
        self.linear += far * linear;
    }
}
