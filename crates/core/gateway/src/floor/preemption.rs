//! Redundant tasks give way: a lane is never held by a task that its request can do without while
//! a needed one waits.
//!
//! Each node is asked for as many lanes as needed work wants there: tasks that wait, and the first
//! tasks of the requests at the head of the queue. What is idle, or about to be since its task was
//! told to stop, counts; what lacks is taken from the redundant tasks that have run for the
//! shortest time.

use super::{Floor, NewTask};
use crate::{
    book::{Book, Entry, FragmentState, Work},
    face::Exit,
};
use alloc::vec::Vec;
use ripstop_scheduling::{NodeIndex, Nodes, Priority, RequestSlot};

/// Lanes that needed work claims, by node. Counted afresh each time; kept to allocate once.
#[derive(Default, Debug)]
pub(super) struct Claims(Vec<u32>);

/// What the waiting requests claim lanes for.
pub(crate) struct Need {
    /// Durable fragments beyond K that a write aims at.
    pub answer_extra: usize,
    /// The node whose turn it is among equals: writes are taken to begin there.
    pub turn: usize,
}

impl Floor {
    /// Whether any task would give way.
    pub(crate) fn may_preempt(&self) -> bool {
        !self.preemptible.is_empty()
    }

    /// Takes lanes from redundant tasks for needed work: for tasks that wait at nodes, and for the
    /// requests at the head of the queue.
    pub(crate) fn preempt(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        waiting: impl Iterator<Item = RequestSlot>,
        need: &Need,
    ) {
        let mut waiting = waiting.peekable();
        if waiting.peek().is_none() && self.queues.needed() == 0 {
            return;
        }
        self.claims.count_waiting(&self.nodes);
        for slot in waiting {
            self.claims.add(&self.nodes, &book[slot], need);
        }
        for node in self.nodes.indices() {
            while self.claims.exceed(&self.nodes, node)
                && let Some(task) = self.preemptible.youngest(node)
            {
                let record = self.tasks[task];
                let (request, fragment) = (record.request, record.fragment);
                book[request].close(fragment);
                self.stop(book, exit, task);
                // It may begin again when a lane is left over once more, and that it gave way says
                // nothing of the fragment: it was no try, and it stays beyond what is needed.
                book[request].forget_try(fragment);
                let (priority, rank) = (Priority::Redundant, record.rank);
                let again = NewTask { request, fragment, node, priority, rank, extra: true };
                self.submit(book, exit, again);
            }
        }
    }
}

impl Claims {
    /// The tasks that wait at nodes claim a lane each.
    fn count_waiting(&mut self, nodes: &Nodes) {
        self.0.clear();
        self.0.extend(nodes.iter().map(|(_, node)| node.needed_waiting() as u32));
    }

    /// Whether needed work claims more lanes of a node than are idle or about to be.
    fn exceed(&self, nodes: &Nodes, node: NodeIndex) -> bool {
        let lanes = &nodes[node];
        // A lane whose task was told to stop comes free without another's being stopped.
        let coming = lanes.lanes() - lanes.busy() + lanes.ending();
        lanes.is_up() && self.0[node.get()] > u32::from(coming)
    }

    /// Claims the lanes that a waiting request begins on.
    fn add(&mut self, nodes: &Nodes, entry: &Entry, need: &Need) {
        if entry.is_together() {
            // All of its tasks are for one node's lanes, even if they are more than the node has.
            let node = match entry.work() {
                Work::Read(_) => entry.fragments()[0].node(),
                Work::Write(_) | Work::Mend(_) => self.least(nodes),
            };
            self.0[node.get()] += entry.redundancy().lanes_at_once(entry.k()) as u32;
            return;
        }
        let mut wanted = entry.k() + usize::from(entry.is_write()) * need.answer_extra;
        // Two rounds, nodes that lack no lane first: a running task is stopped only for a request
        // that cannot begin on lanes which are idle, or about to be.
        for lacking in [false, true] {
            for (at, fragment) in entry.fragments().iter().enumerate() {
                let node = match entry.work() {
                    Work::Read(_) if !fragment.is(FragmentState::Untried) => continue,
                    Work::Read(_) => fragment.node(),
                    Work::Write(_) | Work::Mend(_) => {
                        NodeIndex::new((need.turn + at) % nodes.len())
                    }
                };
                // Beyond its lanes nothing can begin at a node, whatever gives way.
                let full = self.0[node.get()] >= u32::from(nodes[node].lanes());
                if wanted == 0 || !nodes[node].is_up() || full {
                    continue;
                }
                // The claim counts before it is judged: it may be what the node lacks a lane for.
                self.0[node.get()] += 1;
                if self.exceed(nodes, node) == lacking {
                    wanted -= 1;
                } else {
                    self.0[node.get()] -= 1;
                }
            }
        }
    }

    /// The node with fewest claims, which a write to one node is taken to begin at.
    fn least(&self, nodes: &Nodes) -> NodeIndex {
        let up = nodes.iter().filter(|(_, lanes)| lanes.is_up()).map(|(node, _)| node);
        up.min_by_key(|node| self.0[node.get()]).unwrap_or(NodeIndex::new(0))
    }
}
