//! What has to be moved to come from one plan to another.

use crate::{Group, Move, Problem};
use alloc::vec::Vec;

/// The moves from the previous groups to the next, class by class: groups that have most nodes in
/// common are paired first.
pub(crate) fn moves(problem: &Problem, previous: &[Vec<Group>], next: &[Vec<Group>]) -> Vec<Move> {
    let mut moves = Vec::new();
    for (class, (old, new)) in previous.iter().zip(next).enumerate() {
        for (files, old, new) in pairs(old, new) {
            moves_of(problem, class, files, &old.nodes, &new.nodes, &mut moves);
        }
    }
    moves.sort_by_key(|change| (change.class, change.from, change.to));
    moves.dedup_by(|next, change| {
        let same = (next.class, next.from, next.to) == (change.class, change.from, change.to);
        if same {
            change.files += next.files;
            change.bytes = change.bytes.saturating_add(next.bytes);
        }
        same
    });
    moves
}

/// How many files go from which group to which. Files that are new have no part in it.
fn pairs<'a>(old: &'a [Group], new: &'a [Group]) -> Vec<(u64, &'a Group, &'a Group)> {
    let mut order = Vec::new();
    for (from, group) in old.iter().enumerate() {
        for (to, other) in new.iter().enumerate() {
            let moved = other.nodes.iter().filter(|node| !group.nodes.contains(node)).count();
            order.push((moved, from, to));
        }
    }
    order.sort_unstable();
    let mut left: Vec<u64> = old.iter().map(|group| group.files).collect();
    let mut open: Vec<u64> = new.iter().map(|group| group.files).collect();
    let mut pairs = Vec::new();
    for (_, from, to) in order {
        let files = left[from].min(open[to]);
        if files > 0 {
            left[from] -= files;
            open[to] -= files;
            pairs.push((files, &old[from], &new[to]));
        }
    }
    pairs
}

fn moves_of(
    problem: &Problem,
    class: usize,
    files: u64,
    old: &[u16],
    new: &[u16],
    moves: &mut Vec<Move>,
) {
    let mut gone = old.iter().copied().filter(|node| !new.contains(node));
    let mut come = new.iter().copied().filter(|node| !old.contains(node));
    loop {
        let (from, to) = (gone.next(), come.next());
        if from.is_none() && to.is_none() {
            return;
        }
        let chunk = problem.classes[class].chunk_bytes;
        let bytes = if to.is_some() { files.saturating_mul(chunk) } else { 0 };
        moves.push(Move { class, files, from, to, bytes });
    }
}
