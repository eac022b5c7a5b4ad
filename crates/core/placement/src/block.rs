//! Blocks of equal files, and the placements they are spread over.

use crate::{
    PlanError, Problem,
    choice::{Chooser, Role},
    domain::{Domains, Shape, usable},
    field::{Delta, Field},
    plan::Group,
};
use alloc::{vec, vec::Vec};

/// A placement, and how much of its block has it.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    /// Nodes with a chunk, ascending.
    pub(crate) nodes: Vec<u16>,
    /// Probability that a request goes to each of them.
    pub(crate) shares: Vec<f64>,
    /// Part of the block's files.
    pub(crate) weight: f64,
    /// Its price in money and moves for the whole block, seconds.
    pub(crate) linear: f64,
}

/// Files that are equal, in the previous plan too if there is one.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) class: usize,
    pub(crate) k: usize,
    /// How many files.
    pub(crate) files: u64,
    /// Requests per second to all of them.
    pub(crate) rate: f64,
    /// Bytes of one chunk of each of them.
    pub(crate) bytes: f64,
    /// Nodes that may hold chunks.
    pub(crate) nodes: Vec<u16>,
    /// Nodes that must hold a chunk.
    pub(crate) forced: Vec<u16>,
    /// Where the previous plan had chunks.
    pub(crate) previous: Option<Vec<u16>>,
    /// Which list of shapes holds for it.
    pub(crate) shapes: usize,
    /// Of a chunk of every file at each node, seconds: money, and a move if it was not there.
    pub(crate) prices: Vec<f64>,
    pub(crate) atoms: Vec<Atom>,
}

/// The blocks of a problem, with what they may do.
pub(crate) struct Blocks {
    pub(crate) blocks: Vec<Block>,
    pub(crate) shapes: Vec<Vec<Shape>>,
}

impl Blocks {
    /// One block for each class with files, or for each group of its files in the previous plan.
    pub(crate) fn new(
        problem: &Problem,
        domains: &Domains,
        previous: Option<&[Vec<Group>]>,
    ) -> Result<Self, PlanError> {
        let up = usable(problem);
        let mut all = Self { blocks: Vec::new(), shapes: Vec::new() };
        for (at, class) in problem.classes.iter().enumerate().filter(|(_, class)| class.files > 0) {
            let fresh = all.shapes.len();
            all.shapes.push(domains.shapes(problem, at, &up)?);
            let mut left = class.files;
            let groups = previous.map_or(&[][..], |previous| &previous[at]);
            let (mut seen, mut given) = (0, 0);
            let total: u64 = groups.iter().map(|group| group.files).sum();
            for group in groups {
                // Of fewer files than before, every group keeps its part.
                seen += group.files;
                let kept = total.min(class.files);
                let until = (u128::from(seen) * u128::from(kept) / u128::from(total)) as u64;
                let files = until - given;
                given = until;
                left -= files;
                if files > 0 {
                    let block = all.inherit(problem, domains, at, group, files, &up, fresh)?;
                    all.blocks.push(block);
                }
            }
            if left > 0 {
                all.blocks.push(Block::new(problem, at, left, &up, fresh));
            }
        }
        Ok(all)
    }

    #[expect(clippy::too_many_arguments, reason = "a group and all that is known about it")]
    fn inherit(
        &mut self,
        problem: &Problem,
        domains: &Domains,
        class: usize,
        group: &Group,
        files: u64,
        up: &[bool],
        fresh: usize,
    ) -> Result<Block, PlanError> {
        use crate::StorageNodeState::{Fixed, Up};
        let state = |node: u16| problem.nodes[usize::from(node)].state;
        let forced: Vec<u16> =
            group.nodes.iter().copied().filter(|&node| state(node) == Fixed).collect();
        let mut block = if forced.is_empty() {
            Block::new(problem, class, files, up, fresh)
        } else {
            let mut may = up.to_vec();
            for &node in &forced {
                may[usize::from(node)] = true;
            }
            self.shapes.push(domains.shapes(problem, class, &may)?);
            Block::new(problem, class, files, &may, self.shapes.len() - 1)
        };
        let move_price = problem.seconds_per_moved_byte * block.bytes;
        for (node, price) in block.prices.iter_mut().enumerate() {
            if !group.nodes.contains(&(node as u16)) {
                *price += move_price;
            }
        }
        let k = f64::from(problem.classes[class].k);
        let lives = group.nodes.iter().all(|&node| matches!(state(node), Up | Fixed));
        let serves = (group.probabilities.iter().sum::<f64>() - k).abs() < 1e-6;
        if lives && serves && domains.admits(&problem.classes[class], &group.nodes) {
            let linear = group.nodes.iter().map(|&node| block.prices[usize::from(node)]).sum();
            let (nodes, shares) = (group.nodes.clone(), group.probabilities.clone());
            block.atoms.push(Atom { nodes, shares, weight: 1.0, linear });
        }
        block.forced = forced;
        block.previous = Some(group.nodes.clone());
        Ok(block)
    }

    /// The block's cheapest placement at the field's prices goes to the chooser; gives its price.
    pub(crate) fn cheapest(
        &self,
        at: usize,
        domains: &Domains,
        field: &Field,
        chooser: &mut Chooser,
    ) -> f64 {
        let block = &self.blocks[at];
        let mut bonus = 1.0;
        for &node in &block.nodes {
            let node = usize::from(node);
            let (store, serve) = block.prices_at(node, field);
            bonus += store + serve.abs();
            chooser.store[node] = store;
            chooser.serve[node] = serve;
        }
        for &node in &block.forced {
            chooser.store[usize::from(node)] -= bonus;
        }
        let price = chooser.choose(domains, &self.shapes[block.shapes], block.k, &block.nodes);
        let kept =
            block.forced.iter().filter(|&&node| chooser.roles[usize::from(node)] != Role::Idle);
        price + bonus * kept.count() as f64
    }
}

impl Block {
    fn new(problem: &Problem, at: usize, files: u64, may: &[bool], shapes: usize) -> Self {
        let class = &problem.classes[at];
        let money = problem.seconds_per_money * files as f64;
        Self {
            class: at,
            k: class.k as usize,
            files,
            rate: class.rate * (files as f64 / class.files as f64),
            bytes: files as f64 * class.chunk_bytes as f64,
            nodes: (0..may.len()).filter(|&node| may[node]).map(|node| node as u16).collect(),
            forced: Vec::new(),
            previous: None,
            shapes,
            prices: (0..may.len()).map(|node| money * problem.chunk_price(at, node)).collect(),
            atoms: Vec::new(),
        }
    }

    /// What (a chunk, all the requests) cost at a node, for the whole block.
    #[inline]
    pub(crate) fn prices_at(&self, node: usize, field: &Field) -> (f64, f64) {
        (self.prices[node] + self.bytes * field.byte_prices[node], self.rate * field.slopes[node])
    }

    /// What a placement of the whole block costs at the field's prices.
    #[inline]
    pub(crate) fn price(&self, atom: &Atom, field: &Field) -> f64 {
        atom.nodes
            .iter()
            .zip(&atom.shares)
            .map(|(&node, share)| {
                let (store, serve) = self.prices_at(usize::from(node), field);
                store + share * serve
            })
            .sum()
    }

    /// The placement the chooser has chosen.
    pub(crate) fn chosen(&self, chooser: &Chooser) -> Atom {
        self.chosen_among(chooser, &self.nodes)
    }

    /// The placement the chooser has chosen among some of the block's nodes.
    pub(crate) fn chosen_among(&self, chooser: &Chooser, among: &[u16]) -> Atom {
        let role = |node: u16| chooser.roles[usize::from(node)];
        let nodes: Vec<u16> =
            among.iter().copied().filter(|&node| role(node) != Role::Idle).collect();
        let share = |&node: &u16| if role(node) == Role::Serves { 1.0 } else { 0.0 };
        let shares = nodes.iter().map(share).collect();
        let linear = nodes.iter().map(|&node| self.prices[usize::from(node)]).sum();
        Atom { nodes, shares, weight: 0.0, linear }
    }
}

/// Collects a step's parts, each node once.
#[derive(Clone)]
pub(crate) struct Stepper {
    at: Vec<usize>,
    pub(crate) step: Vec<Delta>,
}

impl Stepper {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { at: vec![usize::MAX; nodes], step: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.step.iter().for_each(|delta| self.at[usize::from(delta.node)] = usize::MAX);
        self.step.clear();
    }

    pub(crate) fn add(&mut self, node: u16, load: f64, bytes: f64) {
        let at = &mut self.at[usize::from(node)];
        if *at == usize::MAX {
            *at = self.step.len();
            self.step.push(Delta { node, load, bytes });
        } else {
            let delta = &mut self.step[*at];
            delta.load += load;
            delta.bytes += bytes;
        }
    }

    /// Adds `part` of a placement of a block.
    pub(crate) fn place(&mut self, block: &Block, atom: &Atom, part: f64) {
        for (&node, share) in atom.nodes.iter().zip(&atom.shares) {
            self.add(node, part * share * block.rate, part * block.bytes);
        }
    }
}
