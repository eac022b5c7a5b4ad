//! Which group each stripe belongs to, so that the groups get their parts and as little as possible
//! is moved.

use super::transport::transport;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};
use core::{cmp::Reverse, mem};
use ripstop_model::NodeId;

/// Sets of nodes that are told apart; stripes of any others go wherever room was kept for them.
pub const SPOTS_MAX: usize = 4096;
/// One part in this many of all stripes may be in another group than the weights say, and one for
/// each group, before any leaves its group: objects come and go, and never quite by the weights.
const TOLERANCE: u64 = 50;

/// A group of a plan, as far as a pool has its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Its part of all stripes, beside the others'.
    pub weight: u64,
    /// At least one.
    pub nodes: BTreeSet<NodeId>,
}

/// Where the fragments of a stripe are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    /// How many fragments there should be.
    pub fragments: u8,
    /// Who has one, each once.
    pub nodes: BTreeSet<NodeId>,
}

impl Spot {
    /// Of a stripe that should have this many fragments, which are at these nodes.
    pub fn new(fragments: u8, nodes: &[Option<u16>]) -> Self {
        Self { fragments, nodes: nodes.iter().flatten().map(|&node| NodeId(node)).collect() }
    }
}

/// The groups, each with its weight, that stripes can be brought to by who `has` only some nodes.
pub fn goals<'a>(
    groups: impl Iterator<Item = (u64, &'a [NodeId])>,
    has: impl Fn(NodeId) -> bool,
) -> Vec<Goal> {
    let goal = |(weight, nodes): (u64, &[NodeId])| {
        let nodes = nodes.iter().copied().filter(|&node| has(node)).collect();
        Goal { weight, nodes }
    };
    groups.map(goal).filter(|goal| goal.weight > 0 && !goal.nodes.is_empty()).collect()
}

/// Whether a stripe is at none of the groups, and there are any.
pub fn is_stray(goals: &[Goal], spot: &Spot) -> bool {
    !goals.is_empty() && !goals.iter().any(|goal| goal.has(spot))
}

impl Goal {
    /// Whether a stripe is here.
    pub fn has(&self, spot: &Spot) -> bool {
        self.lacks(spot) == 0
    }

    /// Fragments of a stripe that are to be moved to have it here.
    fn lacks(&self, spot: &Spot) -> u8 {
        let wanted = self.nodes.len().min(spot.fragments.into());
        let shared = self.nodes.intersection(&spot.nodes).count();
        wanted.saturating_sub(shared) as u8
    }

    /// Which fragments of a stripe, by index, are to be moved where to have it here: those that are
    /// nowhere first. It should have this many, which are at these nodes.
    pub fn moves(&self, fragments: u8, nodes: &[Option<u16>]) -> Vec<(u8, NodeId)> {
        let mut taken = BTreeSet::new();
        let (mut nowhere, mut outside) = (Vec::new(), Vec::new());
        for (index, node) in (0..).zip(nodes) {
            match node.map(NodeId) {
                None => nowhere.push(index),
                Some(node) if self.nodes.contains(&node) && taken.insert(node) => {}
                Some(_) => outside.push(index),
            }
        }
        let lacks = usize::from(self.lacks(&Spot::new(fragments, nodes)));
        let free = self.nodes.iter().copied().filter(|node| !taken.contains(node));
        nowhere.into_iter().chain(outside).zip(free).take(lacks).collect()
    }
}

/// How many stripes are where.
#[derive(Debug)]
pub struct Tally {
    goals: Vec<Goal>,
    spots: BTreeMap<Spot, u64>,
    /// At none of these.
    others: u64,
}

impl Tally {
    /// Of no stripes yet.
    pub fn new(goals: Vec<Goal>) -> Self {
        Self { goals, spots: BTreeMap::new(), others: 0 }
    }

    /// Counts a stripe.
    pub fn note(&mut self, spot: Spot) {
        if self.spots.len() < SPOTS_MAX || self.spots.contains_key(&spot) {
            *self.spots.entry(spot).or_default() += 1;
        } else {
            self.others += 1;
        }
    }

    /// How many stripes of each spot go to each group.
    pub fn assign(self) -> Assignment {
        let Self { goals, spots, others } = self;
        let (spots, mut supply): (Vec<Spot>, Vec<u64>) = spots.into_iter().unzip();
        let lacks = |spot: &Spot| goals.iter().map(|goal| goal.lacks(spot)).collect();
        let mut cost: Vec<Vec<u8>> = spots.iter().map(lacks).collect();
        supply.push(others);
        cost.push(vec![0; goals.len()]);
        let weights: Vec<u64> = goals.iter().map(|goal| goal.weight).collect();
        let all: u64 = supply.iter().sum();
        let room = parts(all, &weights);
        let mut share = transport(&supply, &room, &cost);
        let is_home = |cost: &[u8]| cost.contains(&0);
        let home = share[..spots.len()].iter().zip(&cost).filter(|(_, cost)| is_home(cost));
        let leaving = home.flat_map(|(share, cost)| share.iter().zip(cost));
        let leaving: u64 = leaving.filter(|(_, cost)| **cost > 0).map(|(share, _)| *share).sum();
        if leaving <= all / TOLERANCE + goals.len() as u64 {
            share = stay_home(&supply, room, &cost, spots.len());
        }
        let rows = spots.into_iter().zip(0..).collect();
        Assignment { goals, rows, cost, share }
    }
}

/// The same, but what is in a group stays there; the first `spots` rows are not of others.
fn stay_home(supply: &[u64], mut room: Vec<u64>, cost: &[Vec<u8>], spots: usize) -> Vec<Vec<u64>> {
    let mut left = supply.to_vec();
    let mut share = vec![vec![0; room.len()]; supply.len()];
    for row in (0..spots).filter(|&row| cost[row].contains(&0)) {
        let homes: Vec<usize> = (0..room.len()).filter(|&goal| cost[row][goal] == 0).collect();
        for &goal in &homes {
            let units = left[row].min(room[goal]);
            share[row][goal] += units;
            room[goal] -= units;
            left[row] -= units;
        }
        share[row][homes[0]] += mem::take(&mut left[row]);
    }
    let moved = transport(&left, &room, cost);
    for (share, moved) in share.iter_mut().flatten().zip(moved.iter().flatten()) {
        *share += moved;
    }
    share
}

/// `all` in parts by weight, whole ones, none off by one.
fn parts(all: u64, weights: &[u64]) -> Vec<u64> {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let exact = |&weight: &u64| u128::from(all) * u128::from(weight);
    let mut parts: Vec<u64> =
        weights.iter().map(|weight| (exact(weight) / total.max(1)) as u64).collect();
    let rest = all.saturating_sub(parts.iter().sum()) as usize;
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&goal| Reverse(exact(&weights[goal]) % total.max(1)));
    for &goal in order.iter().take(rest) {
        parts[goal] += 1;
    }
    parts
}

/// Where the stripes of each spot go.
#[derive(Debug)]
pub struct Assignment {
    goals: Vec<Goal>,
    rows: BTreeMap<Spot, usize>,
    /// Fragments to move, by row and goal; the last row is that of all other spots.
    cost: Vec<Vec<u8>>,
    /// Stripes still to be seen, likewise.
    share: Vec<Vec<u64>>,
}

impl Assignment {
    /// Fragments to move, those of spots that were not told apart left out.
    pub fn fragments(&self) -> u64 {
        let cells = self.share.iter().flatten().zip(self.cost.iter().flatten());
        cells.map(|(units, &cost)| units * u64::from(cost)).sum()
    }

    /// Where the next stripe of this spot goes; `None` if it stays.
    pub fn next(&mut self, spot: &Spot) -> Option<&Goal> {
        let lacks: Vec<u8> = self.goals.iter().map(|goal| goal.lacks(spot)).collect();
        let row = self.rows.get(spot).copied().unwrap_or(self.cost.len() - 1);
        let open = (0..lacks.len()).filter(|&goal| self.share[row][goal] > 0);
        let goal = open.min_by_key(|&goal| (lacks[goal], goal));
        if let Some(goal) = goal {
            self.share[row][goal] -= 1;
        }
        // One that came after the count goes where the least has to be moved.
        let goal = goal.or_else(|| (0..lacks.len()).min_by_key(|&goal| lacks[goal]))?;
        (lacks[goal] > 0).then(|| &self.goals[goal])
    }
}

#[cfg(test)]
mod tests;
