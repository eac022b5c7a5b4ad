use crate::{Links, List, Priority};
use alloc::{vec, vec::Vec};

/// Tasks that wait for a lane, by slot: at each node one first-in, first-out list per priority.
#[derive(Clone, Debug)]
pub struct TaskQueues {
    links: Links,
    nodes: Vec<[List; 3]>,
    low: usize,
}

impl TaskQueues {
    /// Empty queues for this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { links: Links::default(), nodes: vec![[List::default(); 3]; nodes], low: 0 }
    }

    /// Adds a task at the end of its node's list.
    pub fn push(&mut self, node: u16, priority: Priority, slot: u32) {
        self.nodes[usize::from(node)][priority as usize].push(&mut self.links, slot);
        self.low += usize::from(priority != Priority::Needed);
    }

    /// Takes out a task, which waits at this node with this priority.
    pub fn remove(&mut self, node: u16, priority: Priority, slot: u32) {
        self.nodes[usize::from(node)][priority as usize].remove(&mut self.links, slot);
        self.low -= usize::from(priority != Priority::Needed);
    }

    /// The task of this priority that waits longest at a node.
    pub fn front(&self, node: u16, priority: Priority) -> Option<u32> {
        self.nodes[usize::from(node)][priority as usize].front()
    }

    /// The most urgent task at a node.
    pub fn first(&self, node: u16) -> Option<u32> {
        self.nodes[usize::from(node)].iter().find_map(List::front)
    }

    /// Tasks that wait at a node.
    pub fn len(&self, node: u16) -> usize {
        self.nodes[usize::from(node)].iter().map(List::len).sum()
    }

    /// Tasks at all nodes that are not needed.
    pub fn low(&self) -> usize {
        self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_come_first_and_equals_in_order() {
        let mut queues = TaskQueues::new(2);
        for (slot, priority) in [
            (5, Priority::Background),
            (1, Priority::Needed),
            (4, Priority::Redundant),
            (0, Priority::Needed),
        ] {
            queues.push(1, priority, slot);
        }
        assert_eq!((queues.len(0), queues.len(1), queues.low()), (0, 4, 2));
        queues.remove(1, Priority::Needed, 1);
        assert_eq!(queues.first(1), Some(0));
        queues.remove(1, Priority::Needed, 0);
        assert_eq!(queues.first(1), Some(4));
        assert_eq!(queues.front(1, Priority::Needed), None);
        queues.remove(1, Priority::Redundant, 4);
        assert_eq!((queues.first(1), queues.first(0)), (Some(5), None));
    }
}
