//! Discrete steps after rounding: chunks that fit, and files that are better off elsewhere.

use crate::{
    Problem,
    block::Atom,
    choice::Chooser,
    domain::{Domains, Shape},
    draft::Draft,
};
use alloc::vec::Vec;

/// How many placements of single files are tried at most: a bound on time, the same everywhere.
const TRIALS_MAX: usize = 20_000;

/// What pairs of files may cost: a bound on time, too.
const PAIR_TRIALS_MAX: usize = 4000;

/// How closely the probabilities of a trial are settled, as a part of the objective.
const SETTLE_TRIAL: f64 = 3e-5;

/// Pairs are looked at in problems of so few lots only.
pub(crate) const PAIR_LOTS_MAX: usize = 12;

/// Improvements by pairs at most.
const PAIR_ROUNDS_MAX: usize = 50;

/// Each repair empties a node of a lot's chunks or makes it fit.
const REPAIRS_MAX: usize = 10_000;

/// Moves files until every node's chunks fit; false if that cannot be found.
pub(crate) fn fit(
    draft: &mut Draft,
    problem: &Problem,
    domains: &Domains,
    shapes: &[Vec<Shape>],
) -> bool {
    let mut chooser = Chooser::new(problem.nodes.len());
    for _ in 0..REPAIRS_MAX {
        let room: Vec<i128> = room(draft, problem);
        let Some(full) = (0..room.len()).filter(|&at| room[at] < 0).min_by_key(|&at| room[at])
        else {
            return true;
        };
        let mut best: Option<(f64, usize, u64, Atom)> = None;
        for at in 0..draft.lots.len() {
            let lot = &draft.lots[at];
            if !lot.nodes.contains(&(full as u16)) {
                continue;
            }
            let Some((files, atom)) =
                elsewhere(draft, problem, domains, shapes, &mut chooser, at, full, &room)
            else {
                continue;
            };
            let bytes = files as f64
                * problem.classes[draft.blocks[draft.lots[at].block].class].chunk_bytes as f64;
            let price = draft.change(at, files, &atom) / bytes;
            if best.as_ref().is_none_or(|best| price < best.0) {
                best = Some((price, at, files, atom));
            }
        }
        let Some((_, at, files, atom)) = best else { return false };
        draft.replace(at, files, &atom);
    }
    false
}

/// Bytes free at each node.
pub(crate) fn room(draft: &Draft, problem: &Problem) -> Vec<i128> {
    let mut room: Vec<i128> =
        problem.nodes.iter().map(|node| i128::from(node.capacity_bytes)).collect();
    for lot in &draft.lots {
        let class = &problem.classes[draft.blocks[lot.block].class];
        for &node in &lot.nodes {
            room[usize::from(node)] -= i128::from(lot.files) * i128::from(class.chunk_bytes);
        }
    }
    room
}

/// A placement for files of a lot that leaves a full node and fills no other, and for how many.
#[expect(clippy::too_many_arguments, reason = "all of a draft's surroundings")]
fn elsewhere(
    draft: &Draft,
    problem: &Problem,
    domains: &Domains,
    shapes: &[Vec<Shape>],
    chooser: &mut Chooser,
    at: usize,
    full: usize,
    room: &[i128],
) -> Option<(u64, Atom)> {
    let lot = &draft.lots[at];
    let block = &draft.blocks[lot.block];
    let chunk = i128::from(problem.classes[block.class].chunk_bytes);
    if chunk == 0 || block.forced.contains(&(full as u16)) {
        return None;
    }
    let free = |node: u16| room[usize::from(node)] >= chunk;
    let held = |node: u16| lot.nodes.contains(&node) && usize::from(node) != full;
    let nodes: Vec<u16> =
        block.nodes.iter().copied().filter(|&node| free(node) || held(node)).collect();
    let mut keep = 1.0;
    for &node in &nodes {
        let (store, serve) = block.prices_at(usize::from(node), &draft.field);
        keep += store + serve.abs();
        (chooser.store[usize::from(node)], chooser.serve[usize::from(node)]) = (store, serve);
    }
    for &node in &block.forced {
        chooser.store[usize::from(node)] -= keep;
    }
    if !chooser.choose(domains, &shapes[block.shapes], block.k, &nodes).is_finite() {
        return None;
    }
    let roles =
        nodes.iter().filter(|&&node| chooser.roles[usize::from(node)] != crate::choice::Role::Idle);
    let taken = roles.filter(|&&node| !held(node)).map(|&node| room[usize::from(node)] / chunk);
    let fit = taken.min().unwrap_or(i128::MAX);
    let over = (-room[full] + chunk - 1) / chunk;
    let mut picked = draft.blocks[lot.block].chosen_among(chooser, &nodes);
    picked.weight = 1.0;
    Some((over.min(fit).min(i128::from(lot.files)) as u64, picked))
}

/// Gives single files other placements as long as that lowers the objective by more than
/// `tolerance` of it: another node for one they have, one more, or one less.
pub(crate) fn improve(draft: &mut Draft, problem: &Problem, domains: &Domains, tolerance: f64) {
    let mut trials = 0;
    loop {
        let value = draft.field.value();
        let mut at = 0;
        while at < draft.lots.len() {
            trials += best_alone(draft, problem, domains, at);
            at += 1;
            if trials > TRIALS_MAX {
                break;
            }
        }
        draft.settle(1e-9);
        if trials > TRIALS_MAX || draft.field.value() > value - tolerance * value.abs() {
            return;
        }
    }
}

/// Gives a file another placement although that is dearer, if with the others' best answers to it
/// all is cheaper. For problems of few files, where one cannot gain alone.
pub(crate) fn improve_pairs(
    draft: &mut Draft,
    problem: &Problem,
    domains: &Domains,
    tolerance: f64,
) {
    let (mut rounds, mut trials) = (0, 0);
    'again: while rounds < PAIR_ROUNDS_MAX {
        rounds += 1;
        let value = draft.field.value();
        if draft.lots.len() > PAIR_LOTS_MAX {
            return;
        }
        for at in 0..draft.lots.len() {
            for nodes in neighbours(draft, problem, domains, at) {
                trials += draft.lots.len() * draft.field.loads.len();
                if trials > PAIR_TRIALS_MAX {
                    return;
                }
                let Some((_, atom)) = try_nodes(draft, problem, at, nodes) else { continue };
                let mut other = draft.clone();
                other.replace(at, 1, &atom);
                other.settle(SETTLE_TRIAL);
                if other.field.value() >= value - tolerance * value.abs() {
                    for lot in 0..other.lots.len() {
                        best_alone(&mut other, problem, domains, lot);
                    }
                    other.settle(SETTLE_TRIAL);
                }
                if other.field.value() < value - tolerance * value.abs() {
                    *draft = other;
                    draft.settle(1e-8);
                    continue 'again;
                }
            }
        }
        return;
    }
}

/// Gives one file of a lot the best placement that differs by one node; says how many were tried.
fn best_alone(draft: &mut Draft, problem: &Problem, domains: &Domains, at: usize) -> usize {
    if at >= draft.lots.len() {
        return 0;
    }
    let placements = neighbours(draft, problem, domains, at);
    let trials = placements.len();
    let best = placements
        .into_iter()
        .filter_map(|nodes| try_nodes(draft, problem, at, nodes))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((change, atom)) = best
        && change < -1e-9 * draft.field.value().abs()
    {
        draft.replace(at, 1, &atom);
    }
    trials
}

/// The placements that differ from a lot's by one node, and keep the class's promises.
fn neighbours(draft: &Draft, problem: &Problem, domains: &Domains, at: usize) -> Vec<Vec<u16>> {
    let lot = &draft.lots[at];
    let block = &draft.blocks[lot.block];
    let class = &problem.classes[block.class];
    let others: Vec<u16> =
        block.nodes.iter().copied().filter(|node| !lot.nodes.contains(node)).collect();
    let mut placements = Vec::new();
    for gone in 0..=lot.nodes.len() {
        let mut kept = lot.nodes.clone();
        if gone < lot.nodes.len() {
            if block.forced.contains(&kept.remove(gone)) {
                continue;
            }
            placements.push(kept.clone());
        }
        for &other in &others {
            let mut nodes = kept.clone();
            nodes.insert(nodes.partition_point(|&node| node < other), other);
            placements.push(nodes);
        }
    }
    placements.retain(|nodes| domains.admits(class, nodes));
    placements
}

/// What the objective changes by if one file of a lot has its chunks at `nodes` and sends its
/// requests to the best of them; none where the chunk does not fit.
fn try_nodes(
    draft: &mut Draft,
    problem: &Problem,
    at: usize,
    nodes: Vec<u16>,
) -> Option<(f64, Atom)> {
    let lot = &draft.lots[at];
    let block = &draft.blocks[lot.block];
    let chunk = problem.classes[block.class].chunk_bytes as f64;
    let fits = |&node: &u16| {
        let node_bytes = draft.field.bytes[usize::from(node)] + chunk;
        lot.nodes.contains(&node)
            || node_bytes <= problem.nodes[usize::from(node)].capacity_bytes as f64
    };
    if !nodes.iter().all(fits) {
        return None;
    }
    let (files, k, old) = (block.files as f64, block.k, lot.clone());
    let linear = nodes.iter().map(|&node| block.prices[usize::from(node)]).sum();
    let rate = block.rate / files;
    // At first to the k nodes that would be least dear with this file on them.
    let own = |node: u16| {
        let position = old.nodes.iter().position(|&other| other == node);
        position.map_or(0.0, |position| old.shares[position])
    };
    let mut shares: Vec<f64> = nodes.iter().map(|&node| own(node)).collect();
    let mut lack = k as f64 - shares.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    let slope = |index: usize| draft.field.slopes[usize::from(nodes[index])];
    order.sort_by(|&a, &b| slope(a).total_cmp(&slope(b)));
    for index in order {
        let more = lack.min(1.0 - shares[index]).max(0.0);
        shares[index] += more;
        lack -= more;
    }
    let mut atom = Atom { nodes, shares, weight: 1.0, linear };
    settle_alone(draft, &old, rate, &mut atom);
    Some((draft.change(at, 1, &atom), atom))
}

/// Moves one file's probabilities to where the objective is least, all others staying.
fn settle_alone(draft: &mut Draft, old: &crate::draft::Lot, rate: f64, atom: &mut Atom) {
    let kept = draft.field.mark();
    draft.stepper.clear();
    for (&node, share) in atom.nodes.iter().zip(&atom.shares) {
        draft.stepper.add(node, share * rate, 0.0);
    }
    for (&node, share) in old.nodes.iter().zip(&old.shares) {
        draft.stepper.add(node, -share * rate, 0.0);
    }
    draft.field.go(&draft.stepper.step, 0.0, 1.0);
    for _ in 0..2 * atom.nodes.len() {
        let (from, to) = draft.field.dearest_and_cheapest(&atom.nodes, &atom.shares);
        let room = atom.shares[from.1].min(1.0 - atom.shares[to.1]);
        if from.0 - to.0 <= 1e-9 * from.0.abs() || room <= 0.0 {
            break;
        }
        draft.stepper.clear();
        draft.stepper.add(atom.nodes[to.1], rate, 0.0);
        draft.stepper.add(atom.nodes[from.1], -rate, 0.0);
        let far = draft.field.descend(&draft.stepper.step, 0.0, room);
        atom.shares[to.1] = (atom.shares[to.1] + far).min(1.0);
        atom.shares[from.1] = (atom.shares[from.1] - far).max(0.0);
    }
    draft.field.back_to(kept);
}
