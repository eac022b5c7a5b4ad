//! From parts of blocks to whole files.
//!
//! At the relaxation's optimum all placements of a block cost the same, so that what a file chooses
//! changes the objective only by the squares of the loads' errors. Files choose one after the
//! other, busy ones first, each so that what the ones before did wrong is made good.

use crate::{
    block::{Atom, Stepper},
    draft::{Draft, Lot},
    relaxation::Relaxation,
};
use alloc::vec::Vec;
use libm::floor;

/// Whole files for the relaxation's placements.
pub(crate) fn round(mut relaxation: Relaxation<'_>) -> Draft {
    let blocks = &relaxation.blocks.blocks;
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    let rate = |at: usize| blocks[at].rate / blocks[at].files as f64;
    order.sort_by(|&a, &b| rate(b).total_cmp(&rate(a)));
    let mut stepper = Stepper::new(relaxation.field.loads.len());
    let mut lots = Vec::new();
    for at in order {
        let counts = share_out(&mut relaxation, &mut stepper, at);
        let atoms = &relaxation.blocks.blocks[at].atoms;
        for (atom, files) in atoms.iter().zip(counts).filter(|&(_, files)| files > 0) {
            let Atom { nodes, shares, .. } = atom.clone();
            lots.push(Lot { block: at, files, nodes, shares });
        }
    }
    let mut draft = Draft::new(relaxation.blocks.blocks, lots, relaxation.field);
    draft.merge();
    draft
}

/// How many files of a block get each of its placements; moves the field accordingly.
fn share_out(relaxation: &mut Relaxation<'_>, stepper: &mut Stepper, at: usize) -> Vec<u64> {
    let field = &mut relaxation.field;
    let block = &relaxation.blocks.blocks[at];
    let files = block.files as f64;
    let mut counts: Vec<u64> =
        block.atoms.iter().map(|atom| floor(atom.weight * files + 1e-9) as u64).collect();
    let mut rest: Vec<f64> = block
        .atoms
        .iter()
        .zip(&counts)
        .map(|(atom, &count)| (atom.weight * files - count as f64).max(0.0))
        .collect();
    let left = block.files.saturating_sub(counts.iter().sum());
    for after in (0..left).rev() {
        let total: f64 = rest.iter().sum();
        let mut best = (f64::INFINITY, 0);
        for (index, atom) in block.atoms.iter().enumerate() {
            if rest[index] <= 1e-9 && total > 1e-9 {
                continue;
            }
            let linear = mix(stepper, block, &rest, total, atom);
            let change = field.trial(&stepper.step, linear);
            if change < best.0 {
                best = (change, index);
            }
        }
        let linear = mix(stepper, block, &rest, total, &block.atoms[best.1]);
        field.go(&stepper.step, linear, 1.0);
        counts[best.1] += 1;
        for part in &mut rest {
            *part *= after as f64 / (after + 1) as f64;
        }
    }
    counts
}

/// The step of one file from the mixture of what is left to one placement.
fn mix(
    stepper: &mut Stepper,
    block: &crate::block::Block,
    rest: &[f64],
    total: f64,
    to: &Atom,
) -> f64 {
    let file = 1.0 / block.files as f64;
    stepper.clear();
    stepper.place(block, to, file);
    let mut linear = file * to.linear;
    for (atom, part) in block.atoms.iter().zip(rest).filter(|&(_, &part)| part > 0.0) {
        let part = file * part / total;
        stepper.place(block, atom, -part);
        linear -= part * atom.linear;
    }
    linear
}
