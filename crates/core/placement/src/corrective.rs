//! Steps over all placements of all blocks together.
//!
//! A block alone cannot trade places with another at equal loads: it would have to unbalance the
//! nodes first. Here all weights move at once, by Newton's direction of the objective with a small
//! proximal term: −(εI + BᵀB)⁻¹c, where c are the prices of the free placements and column B the
//! root of the objective's curvature times what a placement brings. That matrix has the rank of the
//! nodes at most; what lies in its null space is a linear programme, along which the step goes
//! until a placement is used up.

use crate::{
    block::{Block, Stepper},
    field::Field,
};
use alloc::{vec, vec::Vec};
use libm::sqrt;

/// Steps in a row at most.
const STEPS_MAX: usize = 2000;

/// More free placements than nodes before they are used up.
const MORE: usize = 8;

/// The proximal term, as a part of the mean curvature.
const PROXIMAL: f64 = 1e-8;

/// A placement whose weight can move, against the one of its block that has most.
struct Free {
    block: usize,
    atom: usize,
    main: usize,
    price: f64,
    /// (row, value) of B.
    column: Vec<(usize, f64)>,
    direction: f64,
}

/// Moves the weights of all blocks' placements until there is less than `gain` to be had, as the
/// objective's slope tells.
///
/// At the optimum, all blocks together need no more than about one free placement for each node. So
/// the blocks come in one after the other, and whenever there are a few free placements more than
/// that, the steps of those few use them up: many cheap steps instead of as many dear ones.
pub(crate) fn correct(blocks: &mut [Block], field: &mut Field, stepper: &mut Stepper, gain: f64) {
    let nodes = field.loads.len();
    let mut window = Vec::new();
    for at in 0..blocks.len() {
        if blocks[at].atoms.len() > 1 {
            window.push(at);
        }
        let free = |window: &[usize]| -> usize {
            window.iter().map(|&at| blocks[at].atoms.len() - 1).sum()
        };
        if free(&window) > nodes + MORE {
            descend(blocks, &mut window, field, stepper, gain, nodes);
        }
    }
    descend(blocks, &mut window, field, stepper, gain, 0);
}

/// Steps of some blocks until there is less than `gain` to be had or few enough free placements.
fn descend(
    blocks: &mut [Block],
    window: &mut Vec<usize>,
    field: &mut Field,
    stepper: &mut Stepper,
    gain: f64,
    few: usize,
) {
    for _ in 0..STEPS_MAX {
        let mut free = free_placements(blocks, window, field, stepper);
        if free.len() <= few {
            return;
        }
        let slope = direct(&mut free, 2 * field.loads.len());
        if -slope <= gain {
            return;
        }
        let (most, linear) = aim(blocks, &free, stepper);
        let far = field.descend(&stepper.step, linear, most.min(1.0));
        go(blocks, &free, far, far >= most);
        field.refresh();
        if far == 0.0 {
            return;
        }
        window.retain(|&at| blocks[at].atoms.len() > 1);
    }
}

fn free_placements(
    blocks: &[Block],
    window: &[usize],
    field: &Field,
    stepper: &mut Stepper,
) -> Vec<Free> {
    let nodes = field.loads.len();
    let roots: Vec<(f64, f64)> = (0..nodes)
        .map(|node| {
            let (load, bytes) = field.curvatures(node);
            (sqrt(load.max(0.0)), sqrt(bytes))
        })
        .collect();
    let mut free = Vec::new();
    for (at, block) in window.iter().map(|&at| (at, &blocks[at])) {
        let heavier =
            |&a: &usize, &b: &usize| block.atoms[a].weight.total_cmp(&block.atoms[b].weight);
        let main = (0..block.atoms.len()).max_by(heavier).unwrap_or(0);
        let base = block.price(&block.atoms[main], field);
        for (index, atom) in block.atoms.iter().enumerate().filter(|&(index, _)| index != main) {
            stepper.clear();
            stepper.place(block, atom, 1.0);
            stepper.place(block, &block.atoms[main], -1.0);
            let mut column = Vec::with_capacity(stepper.step.len());
            for delta in &stepper.step {
                let node = usize::from(delta.node);
                if delta.load != 0.0 && roots[node].0 > 0.0 {
                    column.push((node, roots[node].0 * delta.load));
                }
                if delta.bytes != 0.0 && roots[node].1 > 0.0 {
                    column.push((nodes + node, roots[node].1 * delta.bytes));
                }
            }
            let price = block.price(atom, field) - base;
            free.push(Free { block: at, atom: index, main, price, column, direction: 0.0 });
        }
    }
    free
}

/// Finds the direction; gives the objective's slope along it.
fn direct(free: &mut [Free], rows: usize) -> f64 {
    let mut place = vec![usize::MAX; rows];
    let mut used = 0;
    let mut trace = 0.0;
    for &(row, value) in free.iter().flat_map(|free| &free.column) {
        if place[row] == usize::MAX {
            place[row] = used;
            used += 1;
        }
        trace += value * value;
    }
    let proximal = (PROXIMAL * trace / free.len().max(1) as f64).max(1e-300);
    let mut matrix = vec![0.0; used * used];
    let mut right = vec![0.0; used];
    for free in &*free {
        for &(row, value) in &free.column {
            right[place[row]] += value * free.price;
            for &(other, factor) in &free.column {
                matrix[place[row] * used + place[other]] += value * factor;
            }
        }
    }
    for at in 0..used {
        matrix[at * used + at] += proximal;
    }
    solve(&mut matrix, &mut right);
    let mut slope = 0.0;
    for free in free {
        let drawn: f64 = free.column.iter().map(|&(row, value)| value * right[place[row]]).sum();
        free.direction = (drawn - free.price) / proximal;
        slope += free.direction * free.price;
    }
    slope
}

/// Solves a positive definite system in place, by Cholesky's factors.
fn solve(matrix: &mut [f64], right: &mut [f64]) {
    let size = right.len();
    for at in 0..size {
        for row in at..size {
            let (upper, lower) = (at * size, row * size);
            let dot: f64 = (0..at).map(|k| matrix[upper + k] * matrix[lower + k]).sum();
            let value = matrix[lower + at] - dot;
            matrix[lower + at] =
                if row == at { sqrt(value.max(1e-300)) } else { value / matrix[upper + at] };
        }
    }
    for at in 0..size {
        let dot: f64 = (0..at).map(|k| matrix[at * size + k] * right[k]).sum();
        right[at] = (right[at] - dot) / matrix[at * size + at];
    }
    for at in (0..size).rev() {
        let dot: f64 = (at + 1..size).map(|k| matrix[k * size + at] * right[k]).sum();
        right[at] = (right[at] - dot) / matrix[at * size + at];
    }
}

/// Collects the step of all placements; gives how far it can go, and its linear part.
fn aim(blocks: &[Block], free: &[Free], stepper: &mut Stepper) -> (f64, f64) {
    stepper.clear();
    let (mut most, mut linear) = (f64::INFINITY, 0.0);
    let mut limit = |weight: f64, direction: f64| {
        if direction < 0.0 {
            most = f64::min(most, -weight / direction);
        }
    };
    let mut main = 0.0;
    for (at, one) in free.iter().enumerate() {
        let block = &blocks[one.block];
        let (atom, base) = (&block.atoms[one.atom], &block.atoms[one.main]);
        stepper.place(block, atom, one.direction);
        stepper.place(block, base, -one.direction);
        linear += one.direction * (atom.linear - base.linear);
        limit(atom.weight, one.direction);
        main -= one.direction;
        if free.get(at + 1).is_none_or(|next| next.block != one.block) {
            limit(base.weight, main);
            main = 0.0;
        }
    }
    (most, linear)
}

/// Moves the weights; if the step was blocked, what blocked it goes.
fn go(blocks: &mut [Block], free: &[Free], far: f64, blocked: bool) {
    let least = if blocked { 1e-12 } else { 0.0 };
    for one in free {
        let atoms = &mut blocks[one.block].atoms;
        atoms[one.main].weight -= far * one.direction;
        atoms[one.atom].weight += far * one.direction;
    }
    let mut last = usize::MAX;
    for one in free.iter().filter(|one| core::mem::replace(&mut last, one.block) != one.block) {
        let atoms = &mut blocks[one.block].atoms;
        atoms.retain(|atom| atom.weight > least);
        let total: f64 = atoms.iter().map(|atom| atom.weight).sum();
        for atom in atoms {
            atom.weight /= total;
        }
    }
}
