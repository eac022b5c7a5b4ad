use crate::{Links, List, NodeIndex, Slot as _, TaskSlot};
use alloc::{vec, vec::Vec};

/// Tasks on lanes that must give way to needed ones, by slot: at each node, youngest last.
#[derive(Clone, Debug)]
pub struct Preemptible {
    links: Links,
    nodes: Vec<List>,
    count: usize,
}

impl Preemptible {
    /// None, at this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { links: Links::default(), nodes: vec![List::default(); nodes], count: 0 }
    }

    /// Adds a task that has just started at a node.
    pub fn push(&mut self, node: NodeIndex, slot: TaskSlot) {
        self.nodes[node.get()].push(&mut self.links, slot.number());
        self.count += 1;
    }

    /// Takes a task of this node out, if it is among them.
    pub fn remove(&mut self, node: NodeIndex, slot: TaskSlot) {
        if self.links.contains(slot.number()) {
            self.nodes[node.get()].remove(&mut self.links, slot.number());
            self.count -= 1;
        }
    }

    /// The task that has run for the shortest time at a node: it loses least.
    pub fn youngest(&self, node: NodeIndex) -> Option<TaskSlot> {
        self.nodes[node.get()].back().map(TaskSlot::of)
    }

    /// How many there are at a node.
    pub fn len(&self, node: NodeIndex) -> usize {
        self.nodes[node.get()].len()
    }

    /// Whether there is none at any node.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
