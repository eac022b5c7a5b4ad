use crate::{Links, List, NodeIndex, Priority, Slot as _, TaskSlot};
use alloc::{vec, vec::Vec};

/// Ranks of redundant tasks that are told apart; higher ones count as the last.
const RANKS: usize = 8;

/// One node's lists: needed tasks, redundant ones by rank, background.
type Lists = [List; RANKS + 2];

/// Tasks that wait for a lane, by slot: at each node one first-in, first-out list per priority.
/// Among redundant tasks those of lower rank come first: the first of every request before
/// anybody's second.
#[derive(Clone, Debug)]
pub struct TaskQueues {
    links: Links,
    nodes: Vec<Lists>,
    needed: usize,
    low: usize,
}

fn list(priority: Priority, rank: u8) -> usize {
    match priority {
        Priority::Needed => 0,
        Priority::Redundant => 1 + usize::from(rank).min(RANKS - 1),
        Priority::Background => RANKS + 1,
    }
}

impl TaskQueues {
    /// Empty queues for this many nodes.
    pub fn new(nodes: usize) -> Self {
        let nodes = vec![Lists::default(); nodes];
        Self { links: Links::default(), nodes, needed: 0, low: 0 }
    }

    /// Adds a task at the end of its node's list.
    pub fn push(&mut self, node: NodeIndex, priority: Priority, rank: u8, slot: TaskSlot) {
        self.nodes[node.get()][list(priority, rank)].push(&mut self.links, slot.number());
        *self.count(priority) += 1;
    }

    /// Takes out a task, which waits at this node with this priority and rank.
    pub fn remove(&mut self, node: NodeIndex, priority: Priority, rank: u8, slot: TaskSlot) {
        self.nodes[node.get()][list(priority, rank)].remove(&mut self.links, slot.number());
        *self.count(priority) -= 1;
    }

    fn count(&mut self, priority: Priority) -> &mut usize {
        match priority {
            Priority::Needed => &mut self.needed,
            Priority::Redundant | Priority::Background => &mut self.low,
        }
    }

    /// The needed task that waits longest at a node.
    pub fn first_needed(&self, node: NodeIndex) -> Option<TaskSlot> {
        self.nodes[node.get()][0].front().map(TaskSlot::of)
    }

    /// The most urgent task at a node.
    pub fn first(&self, node: NodeIndex) -> Option<TaskSlot> {
        self.nodes[node.get()].iter().find_map(List::front).map(TaskSlot::of)
    }

    /// Tasks that wait at a node.
    pub fn len(&self, node: NodeIndex) -> usize {
        self.nodes[node.get()].iter().map(List::len).sum()
    }

    /// Tasks at all nodes that are needed.
    pub fn needed(&self) -> usize {
        self.needed
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
        let [zero, one] = [0, 1].map(NodeIndex::new);
        let task = TaskSlot::of;
        for (slot, priority, rank) in [
            (5, Priority::Background, 0),
            (1, Priority::Needed, 0),
            (4, Priority::Redundant, 1),
            (6, Priority::Redundant, 0),
            (0, Priority::Needed, 9),
        ] {
            queues.push(one, priority, rank, task(slot));
        }
        assert_eq!((queues.len(zero), queues.len(one), queues.low()), (0, 5, 3));
        queues.remove(one, Priority::Needed, 0, task(1));
        assert_eq!(queues.first(one), Some(task(0)));
        queues.remove(one, Priority::Needed, 9, task(0));
        assert_eq!(queues.first(one), Some(task(6)));
        assert_eq!(queues.first_needed(one), None);
        queues.remove(one, Priority::Redundant, 0, task(6));
        assert_eq!(queues.first(one), Some(task(4)));
        queues.remove(one, Priority::Redundant, 1, task(4));
        assert_eq!((queues.first(one), queues.first(zero)), (Some(task(5)), None));
    }
}
