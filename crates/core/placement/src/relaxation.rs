//! The convex relaxation, by pairwise Frank–Wolfe steps block after block.
//!
//! Each block is a convex combination of placements (atoms). A visit finds its cheapest placement
//! at present prices and moves weight to it from its dearest one, as far as the objective falls.

use crate::{
    Problem,
    block::{Blocks, Stepper},
    choice::Chooser,
    corrective::correct,
    curve::Curve,
    domain::Domains,
    field::{Field, Goal},
};
use alloc::vec::Vec;

/// Sweeps over all blocks at most.
const SWEEPS_MAX: usize = 1500;

/// What the softness of capacities costs at first, as a part of the objective; it falls with the
/// gap.
const SOFTNESS_START: f64 = 1e-2;

/// Updates of the prices of capacities at most, once all else has settled.
const UPDATES_MAX: usize = 100;

/// A sweep that takes less than this part of its gap off the objective is slow: where nodes are
/// nearly full the objective bends so steeply that blocks hardly move one by one, …
const SLOW: f64 = 0.02;

/// … so that steps of all blocks together must do it. Each slow sweep divides by this what those
/// must be able to gain before they are worth their time, down to [`EAGER_MIN`] of it.
const EAGER: f64 = 10.0;

/// See [`EAGER`].
const EAGER_MIN: f64 = 1e-6;

/// Steps between the placements a block has, for each new one.
const CORRECTIONS: usize = 3;

/// A descent over all blocks.
pub(crate) struct Relaxation<'a> {
    pub(crate) domains: &'a Domains,
    pub(crate) blocks: Blocks,
    pub(crate) field: Field,
    pub(crate) chooser: Chooser,
    stepper: Stepper,
    /// Total of the blocks' gaps in this sweep.
    gap: f64,
    /// Visits since z was best.
    stale: usize,
}

/// The field of a problem with nothing placed.
pub(crate) fn field(problem: &Problem, goal: Goal) -> Field {
    let rate = problem.rate();
    let curves = problem.nodes.iter().map(|node| Curve::new(&node.service, rate)).collect();
    let capacity = problem.nodes.iter().map(|node| node.capacity_bytes as f64).collect();
    Field::new(goal, curves, capacity)
}

impl<'a> Relaxation<'a> {
    pub(crate) fn new(problem: &Problem, domains: &'a Domains, blocks: Blocks, goal: Goal) -> Self {
        let nodes = problem.nodes.len();
        let mut relaxation = Self {
            domains,
            blocks,
            field: field(problem, goal),
            chooser: Chooser::new(nodes),
            stepper: Stepper::new(nodes),
            gap: 0.0,
            stale: 0,
        };
        if goal != Goal::Latency {
            for block in &mut relaxation.blocks.blocks {
                block.prices.fill(0.0);
                block.atoms.iter_mut().for_each(|atom| atom.linear = 0.0);
            }
        }
        relaxation.start();
        let most = relaxation.most_bytes(nodes);
        let scale = match goal {
            Goal::Latency => relaxation.field.value().abs(),
            Goal::Overload => 0.0,
            Goal::Overflow => 1.0,
        };
        relaxation.field.stiffen(scale, &most);
        relaxation
    }

    /// The most bytes each node could come to hold.
    fn most_bytes(&self, nodes: usize) -> Vec<f64> {
        let mut most = alloc::vec![0.0; nodes];
        for block in &self.blocks.blocks {
            for &node in &block.nodes {
                most[usize::from(node)] += block.bytes;
            }
        }
        most
    }

    /// Places every block, the busiest first, each at the prices the ones before leave.
    fn start(&mut self) {
        let blocks = &self.blocks.blocks;
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by(|&a, &b| blocks[b].rate.total_cmp(&blocks[a].rate));
        for at in order {
            if self.blocks.blocks[at].atoms.is_empty() {
                self.blocks.cheapest(at, self.domains, &self.field, &mut self.chooser);
                let block = &mut self.blocks.blocks[at];
                let mut atom = block.chosen(&self.chooser);
                atom.weight = 1.0;
                block.atoms.push(atom);
            }
            self.stepper.clear();
            let block = &self.blocks.blocks[at];
            for atom in &block.atoms {
                self.stepper.place(block, atom, atom.weight);
            }
            let linear: f64 = block.atoms.iter().map(|atom| atom.weight * atom.linear).sum();
            self.field.go(&self.stepper.step, linear, 1.0);
        }
        self.field.refresh();
    }

    /// Sums up loads, bytes and money again, lest rounding errors gather.
    fn recount(&mut self) {
        self.field.loads.fill(0.0);
        self.field.bytes.fill(0.0);
        self.field.linear = 0.0;
        for block in &self.blocks.blocks {
            self.stepper.clear();
            for atom in &block.atoms {
                self.stepper.place(block, atom, atom.weight);
            }
            let linear: f64 = block.atoms.iter().map(|atom| atom.weight * atom.linear).sum();
            self.field.go(&self.stepper.step, linear, 1.0);
        }
        self.field.refresh();
    }

    /// Descends until the gap of the relaxation at its z is below `tolerance` times the objective
    /// and capacities are exceeded by no more than that; says whether it came so far.
    pub(crate) fn run(&mut self, tolerance: f64) -> bool {
        let capped = self.field.limited() && self.field.goal == Goal::Latency;
        let mut softness = if capped { SOFTNESS_START } else { 0.0 };
        let (mut updates, mut eager, mut before) = (0, 1.0, f64::INFINITY);
        for _ in 0..SWEEPS_MAX {
            if capped {
                self.field.soften(softness * self.field.value().abs());
            }
            self.sweep();
            let value = self.field.value().abs();
            let gain = (0.6 * self.gap.min(tolerance * value)).max(0.05 * self.gap);
            let slow = before - value < SLOW * self.gap;
            eager =
                if slow { f64::max(eager / EAGER, EAGER_MIN) } else { f64::min(3.0 * eager, 1.0) };
            before = value;
            correct(&mut self.blocks.blocks, &mut self.field, &mut self.stepper, eager * gain);
            self.recount();
            let done = self.gap <= tolerance.max(softness) * value.max(1e-300);
            if !capped && (done || (self.field.goal != Goal::Latency && value < 1e-18)) {
                return true;
            }
            if capped && done {
                if softness <= 0.5 * tolerance {
                    if self.field.overflow() <= tolerance {
                        return true;
                    }
                    updates += 1;
                    if updates > UPDATES_MAX {
                        return false;
                    }
                }
                self.field.update_multipliers();
                softness = (0.25 * softness).max(0.5 * tolerance);
            }
        }
        false
    }

    /// Visits all blocks once.
    fn sweep(&mut self) {
        let visits_per_z = (self.blocks.blocks.len() / 16).max(1);
        self.gap = 0.0;
        for at in 0..self.blocks.blocks.len() {
            if self.visit(at) {
                self.stale += 1;
                if self.stale >= visits_per_z {
                    self.stale = 0;
                    self.field.refresh();
                }
            }
        }
    }

    /// Moves a block's weight towards its cheapest placement; false if it was there.
    fn visit(&mut self, at: usize) -> bool {
        let least = self.blocks.cheapest(at, self.domains, &self.field, &mut self.chooser);
        let block = &mut self.blocks.blocks[at];
        let mut now = 0.0;
        let (mut dearest, mut cheapest) = ((f64::NEG_INFINITY, 0), (f64::INFINITY, 0));
        for (index, atom) in block.atoms.iter().enumerate() {
            let price = block.price(atom, &self.field);
            now += atom.weight * price;
            if price > dearest.0 {
                dearest = (price, index);
            }
            if price < cheapest.0 {
                cheapest = (price, index);
            }
        }
        let gap = now - least;
        self.gap += gap.max(0.0);
        if gap <= 1e-13 * now.abs() {
            return false;
        }
        let target = if cheapest.0 - least > 1e-9 * gap {
            block.atoms.push(block.chosen(&self.chooser));
            block.atoms.len() - 1
        } else {
            cheapest.1
        };
        self.shift(at, dearest.1, target);
        for _ in 0..CORRECTIONS {
            let block = &self.blocks.blocks[at];
            if block.atoms.len() < 3 {
                break;
            }
            let prices = block.atoms.iter().map(|atom| block.price(atom, &self.field));
            let (mut high, mut low) = ((f64::NEG_INFINITY, 0), (f64::INFINITY, 0));
            for (index, price) in prices.enumerate() {
                if price > high.0 && block.atoms[index].weight > 0.0 {
                    high = (price, index);
                }
                if price < low.0 {
                    low = (price, index);
                }
            }
            if high.0 - low.0 <= 1e-3 * gap {
                break;
            }
            self.shift(at, high.1, low.1);
        }
        self.blocks.blocks[at].atoms.retain(|atom| atom.weight > 0.0);
        true
    }

    /// Moves weight from one placement of a block to another, as far as the objective falls.
    fn shift(&mut self, at: usize, from: usize, to: usize) {
        let block = &mut self.blocks.blocks[at];
        if from == to {
            return;
        }
        self.stepper.clear();
        self.stepper.place(block, &block.atoms[to], 1.0);
        self.stepper.place(block, &block.atoms[from], -1.0);
        let linear = block.atoms[to].linear - block.atoms[from].linear;
        let most = block.atoms[from].weight;
        let far = self.field.descend(&self.stepper.step, linear, most);
        block.atoms[from].weight = if far >= most { 0.0 } else { most - far };
        block.atoms[to].weight += far;
    }

    /// Total price of the cheapest placements of all blocks at the field's prices.
    pub(crate) fn cheapest_price(&mut self) -> f64 {
        (0..self.blocks.blocks.len())
            .map(|at| self.blocks.cheapest(at, self.domains, &self.field, &mut self.chooser))
            .sum()
    }
}
