//! Other places to begin from, for problems of few files, where the relaxation says little.

use crate::{
    Problem, Published,
    domain::Domains,
    draft::{Draft, Lot},
    improvement::{PAIR_LOTS_MAX, improve, improve_pairs, room},
};
use alloc::vec::Vec;

/// What counts as few files: at most this many.
pub(crate) const FEW_FILES_MAX: u64 = 400;

/// The best of a draft, of one that begins with a chunk of every file at every node, and of one
/// that begins with the published algorithm's placements; each improved as far as single files and
/// pairs of them can.
pub(crate) fn best_start(draft: Draft, problem: &Problem, domains: &Domains) -> Draft {
    let few = draft.lots.len();
    let above = if few <= PAIR_LOTS_MAX { everywhere(&draft, problem, domains) } else { None };
    let published = published(&draft, problem, domains);
    let mut best = draft;
    improve_pairs(&mut best, problem, domains, 1e-6);
    for mut other in [above, published].into_iter().flatten() {
        other.settle(1e-7);
        improve(&mut other, problem, domains, 1e-6);
        improve_pairs(&mut other, problem, domains, 1e-6);
        if other.field.value() < best.field.value() {
            best = other;
        }
    }
    best
}

/// A chunk of every file at every node; none if they do not fit.
fn everywhere(draft: &Draft, problem: &Problem, domains: &Domains) -> Option<Draft> {
    let mut other = draft.clone();
    for lot in &mut other.lots {
        let block = &other.blocks[lot.block];
        let share = |node: &u16| {
            lot.nodes.iter().position(|other| other == node).map_or(0.0, |at| lot.shares[at])
        };
        if domains.admits(&problem.classes[block.class], &block.nodes) {
            lot.shares = block.nodes.iter().map(share).collect();
            lot.nodes.clone_from(&block.nodes);
        }
    }
    checked(other, problem)
}

/// The published algorithm's placements; none if they break a promise.
fn published(draft: &Draft, problem: &Problem, domains: &Domains) -> Option<Draft> {
    let (plan, _) = Published::default().solve(problem).ok()?;
    let mut other = draft.clone();
    other.lots = Vec::new();
    for (at, block) in other.blocks.iter().enumerate() {
        for group in &plan.classes[block.class] {
            if !domains.admits(&problem.classes[block.class], &group.nodes) {
                return None;
            }
            let (nodes, shares) = (group.nodes.clone(), group.probabilities.clone());
            other.lots.push(Lot { block: at, files: block.files, nodes, shares });
        }
    }
    checked(other, problem)
}

/// The draft, summed up, if its chunks fit and its nodes can serve it.
fn checked(mut draft: Draft, problem: &Problem) -> Option<Draft> {
    draft.merge();
    draft.recount();
    let fits = room(&draft, problem).iter().all(|&room| room >= 0);
    let stable = draft.field.loads.iter().zip(&draft.field.curves);
    let served = stable.into_iter().all(|(load, curve)| *load <= curve.load_max());
    (fits && served).then_some(draft)
}
