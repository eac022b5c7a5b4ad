//! Which K of a stripe's chunks a read fetches, where nodes differ.

use crate::{
    Machine,
    reads::{BUSY, parts},
    request::{Entry, FragmentState},
};
use alloc::vec::Vec;
use ripstop_delay::Dice;

/// What a chunk counts for that the request does not want but computes from: one part of so many of a
/// task's time.
const UNWANTED: f64 = 1.0 / 64.0;

/// Of a node's time for a task, how much slower it counts as if the plan does not want it at all.
const PLAN_WEIGHT: f64 = 0.5;

/// How much the plan wants the fragments of the read at hand: kept to allocate once.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// Node and index of each fragment, by node.
    places: Vec<(u16, usize)>,
    nodes: Vec<u16>,
    of_nodes: Vec<f64>,
    of_fragments: Vec<f64>,
}

/// Bits of a candidate's score.
const SCORE_MAX: u64 = (1 << 45) - 1;

impl Machine {
    /// Whether a fragment's node can be given a task for it.
    fn is_open_to(&self, entry: &Entry, index: usize, look: u64) -> bool {
        let fragment = entry.fragments[index];
        fragment.is(FragmentState::Untried) && {
            let node = &self.nodes[fragment.place];
            let has_room = node.has_room(self.settings.tasks_waiting_max);
            node.is_up() && !node.is_reserved(look) && has_room
        }
    }

    /// How much the plan wants each fragment of a read asked, 0 to 1; false if there is a plan and the stripe
    /// is not where it wants it.
    fn weigh(&mut self, slot: u32) -> bool {
        let entry = &self.requests.table[slot];
        let Weights { places, nodes, of_nodes, of_fragments } = &mut self.weights;
        places.clear();
        places.extend(entry.fragments.iter().enumerate().map(|(index, f)| (f.place, index)));
        places.sort_unstable();
        nodes.clear();
        nodes.extend(places.iter().map(|&(node, _)| node));
        let is_planned = self.placed.dispatch(nodes, entry.k, of_nodes);
        of_fragments.clear();
        of_fragments.resize(places.len(), 0.0);
        for (&(_, index), &weight) in places.iter().zip(&*of_nodes) {
            of_fragments[index] = weight;
        }
        is_planned
    }

    /// Those first that are expected to be done first.
    pub(crate) fn gather_by_work(&mut self, slot: u32, look: u64, planned: bool) {
        if planned {
            self.weigh(slot);
        }
        let entry = &self.requests.table[slot];
        let wanted = parts(entry).wanted;
        let usual = self.paces.usual_s();
        self.candidates.clear();
        for (index, fragment) in entry.fragments.iter().enumerate() {
            if !self.is_open_to(entry, index, look) {
                continue;
            }
            let node = &self.nodes[fragment.place];
            let task_s = self.paces.task_s(fragment.place).unwrap_or(usual);
            let tasks = 1.0 + f64::from(node.load()) / 256.0;
            let unwanted = !wanted.contains(index);
            let beside = if unwanted { UNWANTED } else { 0.0 };
            let aside =
                if planned { PLAN_WEIGHT * (1.0 - self.weights.of_fragments[index]) } else { 0.0 };
            let expected_s = task_s * (tasks + beside + aside);
            let score = ((expected_s * 1e9) as u64).min(SCORE_MAX);
            let busy = u64::from(!node.is_ready());
            self.candidates.push(score << 16 | busy << 15 | index as u64);
        }
        self.candidates.sort_unstable();
        self.mark_busy();
    }

    /// Those first that Madow's systematic sampling picks by the plan's probabilities, the others by turns. Of
    /// stripes that are not yet where the plan wants them, those that are expected to be done first: asked by
    /// turns, a node that the plan avoids would drown in them.
    pub(crate) fn gather_by_luck(&mut self, slot: u32, look: u64) {
        if !self.weigh(slot) {
            return self.gather_by_work(slot, look, false);
        }
        let entry = &self.requests.table[slot];
        let luck = scramble(entry.id.0);
        let picked = ripstop_placement::selection::systematic(&self.weights.of_fragments, luck);
        self.candidates.clear();
        for index in 0..entry.fragments.len() {
            if !self.is_open_to(entry, index, look) {
                continue;
            }
            let behind = u64::from(!picked.positions().contains(&(index as u8)));
            let turn = scramble(luck ^ index as u64) & 0xffff;
            let busy = u64::from(!self.nodes[entry.fragments[index].place].is_ready());
            self.candidates.push(behind << 40 | turn << 16 | busy << 15 | index as u64);
        }
        self.candidates.sort_unstable();
        self.mark_busy();
    }

    /// Candidates say whether their node is ready by a mark that others read.
    fn mark_busy(&mut self) {
        for candidate in &mut self.candidates {
            let busy = if *candidate & 1 << 15 == 0 { 0 } else { BUSY };
            *candidate = busy | *candidate & 0xff;
        }
    }
}

/// Bits without a pattern, always the same for a number.
const fn scramble(number: u64) -> u64 {
    Dice::new(number).next_u64()
}
