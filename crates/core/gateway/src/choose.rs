//! Which fragments a request fetches and which nodes it stores at: the best candidates first.

mod candidate;
mod fragment;
mod node;
mod placed;
mod weight;

pub(crate) use candidate::Candidate;

use crate::face::{Placement, ReadSelection};
use alloc::vec::Vec;
use placed::Placed;
use ripstop_model::NodeId;
use ripstop_scheduling::NodeIndex;
use weight::Weights;

/// Chooses among nodes, as the plan says that it follows.
#[derive(Default, Debug)]
pub(crate) struct Chooser {
    plan: Placed,
    /// Those of the choice at hand, which hands them out: kept to allocate once.
    candidates: Vec<Candidate>,
    /// What the plan says of the read at hand: kept to allocate once.
    weights: Weights,
    /// Turns with each write, so that equal nodes take turns.
    turn: usize,
}

impl Chooser {
    /// From now on stripes go, and reads choose, as this says.
    pub(crate) fn follow(
        &mut self,
        placement: &Placement,
        find: impl Fn(NodeId) -> Option<NodeIndex>,
    ) {
        self.plan = Placed::new(placement, find, &self.plan);
    }

    /// How reads choose.
    pub(crate) fn selection(&self) -> ReadSelection {
        self.plan.selection()
    }

    /// The group that the next stripe goes to, if there is a plan.
    pub(crate) fn next_group(&mut self) -> Option<u16> {
        self.plan.next_group()
    }

    /// The nodes of a group, ascending.
    pub(crate) fn group(&self, group: u16) -> &[NodeIndex] {
        self.plan.nodes(group)
    }

    pub(crate) fn turn(&self) -> usize {
        self.turn
    }

    /// Another of the equal nodes is first from now on.
    pub(crate) fn take_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }
}
