//! A plan in the making: whole files at nodes, on a field that holds their loads.

use crate::{
    Problem,
    block::{Atom, Block, Stepper},
    field::Field,
    plan::Group,
};
use alloc::vec::Vec;

/// Files of one block with one placement.
#[derive(Clone, Debug)]
pub(crate) struct Lot {
    pub(crate) block: usize,
    pub(crate) files: u64,
    pub(crate) nodes: Vec<u16>,
    pub(crate) shares: Vec<f64>,
}

/// Sweeps over all lots to settle their probabilities, at most.
const SWEEPS_MAX: usize = 400;

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) blocks: Vec<Block>,
    pub(crate) lots: Vec<Lot>,
    pub(crate) field: Field,
    pub(crate) stepper: Stepper,
}

impl Draft {
    /// With the placements and probabilities of given groups, of all classes.
    pub(crate) fn new(blocks: Vec<Block>, lots: Vec<Lot>, field: Field) -> Self {
        let nodes = field.loads.len();
        let mut draft = Self { blocks, lots, field, stepper: Stepper::new(nodes) };
        draft.recount();
        draft
    }

    /// Sums up loads, bytes and prices again.
    pub(crate) fn recount(&mut self) {
        self.field.loads.fill(0.0);
        self.field.bytes.fill(0.0);
        self.field.linear = 0.0;
        for at in 0..self.lots.len() {
            let lot = &self.lots[at];
            let block = &self.blocks[lot.block];
            let part = lot.files as f64 / block.files as f64;
            for (&node, share) in lot.nodes.iter().zip(&lot.shares) {
                let node = usize::from(node);
                self.field.loads[node] += part * share * block.rate;
                self.field.bytes[node] += part * block.bytes;
                self.field.linear += part * block.prices[node];
            }
        }
        self.field.refresh();
    }

    /// The requests per second to a lot.
    pub(crate) fn rate(&self, lot: &Lot) -> f64 {
        let block = &self.blocks[lot.block];
        block.rate * (lot.files as f64 / block.files as f64)
    }

    /// Makes one lot of those of a block that have the same nodes.
    pub(crate) fn merge(&mut self) {
        self.lots.sort_by(|a, b| (a.block, &a.nodes).cmp(&(b.block, &b.nodes)));
        self.lots.dedup_by(|next, lot| {
            let same = next.block == lot.block && next.nodes == lot.nodes;
            if same {
                let (mine, theirs) = (lot.files as f64, next.files as f64);
                for (share, other) in lot.shares.iter_mut().zip(&next.shares) {
                    *share = (*share * mine + other * theirs) / (mine + theirs);
                }
                lot.files += next.files;
            }
            same
        });
    }

    /// Lets every lot send its requests where they wait least, until the objective is within about
    /// `tolerance` of the best that these placements allow.
    pub(crate) fn settle(&mut self, tolerance: f64) {
        for _ in 0..SWEEPS_MAX {
            let mut gap = 0.0;
            for at in 0..self.lots.len() {
                gap += self.exchange(at);
            }
            self.field.refresh();
            if gap <= tolerance * self.field.value().abs() {
                break;
            }
        }
    }

    /// Moves a lot's requests from its dearest node to its cheapest as long as that helps; gives
    /// about how much there was to gain.
    pub(crate) fn exchange(&mut self, at: usize) -> f64 {
        let rate = self.rate(&self.lots[at]);
        let mut first = None;
        for _ in 0..self.lots[at].nodes.len() {
            let lot = &self.lots[at];
            let (from, to) = self.field.dearest_and_cheapest(&lot.nodes, &lot.shares);
            let room = lot.shares[from.1].min(1.0 - lot.shares[to.1]);
            let gain = (from.0 - to.0) * rate;
            let first = *first.get_or_insert(gain.max(0.0) * lot.nodes.len() as f64);
            if !(gain > 1e-4 * first && gain > 0.0) {
                break;
            }
            self.stepper.clear();
            self.stepper.add(lot.nodes[to.1], rate, 0.0);
            self.stepper.add(lot.nodes[from.1], -rate, 0.0);
            let far = self.field.descend(&self.stepper.step, 0.0, room);
            let lot = &mut self.lots[at];
            lot.shares[to.1] =
                if far >= 1.0 - lot.shares[to.1] { 1.0 } else { lot.shares[to.1] + far };
            lot.shares[from.1] =
                if far >= lot.shares[from.1] { 0.0 } else { lot.shares[from.1] - far };
        }
        first.unwrap_or(0.0)
    }

    /// By how much the objective would change if `files` of a lot had another placement.
    pub(crate) fn change(&mut self, at: usize, files: u64, atom: &Atom) -> f64 {
        self.stepper.clear();
        let lot = &self.lots[at];
        let block = &self.blocks[lot.block];
        let part = files as f64 / block.files as f64;
        let mut linear = part * atom.linear;
        self.stepper.place(block, atom, part);
        for (&node, share) in lot.nodes.iter().zip(&lot.shares) {
            self.stepper.add(node, -part * share * block.rate, -part * block.bytes);
            linear -= part * block.prices[usize::from(node)];
        }
        self.field.trial(&self.stepper.step, linear)
    }

    /// Gives `files` of a lot another placement.
    pub(crate) fn replace(&mut self, at: usize, files: u64, atom: &Atom) {
        let block = self.lots[at].block;
        self.lots[at].files -= files;
        let (nodes, shares) = (atom.nodes.clone(), atom.shares.clone());
        self.lots.push(Lot { block, files, nodes, shares });
        self.lots.retain(|lot| lot.files > 0);
        self.merge();
        self.recount();
    }

    /// The groups of each class, in the order of their nodes. Lots at the same nodes are one group,
    /// whose requests are led as theirs are on average: no node's load changes.
    pub(crate) fn groups(&self, problem: &Problem) -> Vec<Vec<Group>> {
        let mut classes: Vec<Vec<Group>> = problem.classes.iter().map(|_| Vec::new()).collect();
        for lot in &self.lots {
            let groups = &mut classes[self.blocks[lot.block].class];
            groups.push(Group {
                files: lot.files,
                nodes: lot.nodes.clone(),
                probabilities: lot.shares.clone(),
            });
        }
        for groups in &mut classes {
            groups.sort_by(|a, b| a.nodes.cmp(&b.nodes));
            groups.dedup_by(|next, group| {
                let same = next.nodes == group.nodes;
                if same {
                    let files = group.files + next.files;
                    let part = next.files as f64 / files as f64;
                    for (p, q) in group.probabilities.iter_mut().zip(&next.probabilities) {
                        *p += part * (q - *p);
                    }
                    group.files = files;
                }
                same
            });
        }
        classes
    }
}
