use crate::{Links, List};
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
    pub fn push(&mut self, node: u16, slot: u32) {
        self.nodes[usize::from(node)].push(&mut self.links, slot);
        self.count += 1;
    }

    /// Takes a task of this node out, if it is among them.
    pub fn remove(&mut self, node: u16, slot: u32) {
        if self.links.contains(slot) {
            self.nodes[usize::from(node)].remove(&mut self.links, slot);
            self.count -= 1;
        }
    }

    /// The task that has run for the shortest time at a node: it loses least.
    pub fn youngest(&self, node: u16) -> Option<u32> {
        self.nodes[usize::from(node)].back()
    }

    /// How many there are at a node.
    pub fn len(&self, node: u16) -> usize {
        self.nodes[usize::from(node)].len()
    }

    /// Whether there is none at any node.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
