//! Lanes that needed work claims.

use crate::book::{Entry, FragmentState, Work};
use alloc::vec::Vec;
use ripstop_scheduling::{NodeIndex, Nodes};

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

impl Claims {
    /// The tasks that wait at nodes claim a lane each.
    pub(super) fn count_waiting(&mut self, nodes: &Nodes) {
        self.0.clear();
        self.0.extend(nodes.iter().map(|(_, node)| node.needed_waiting() as u32));
    }

    /// Whether needed work claims more lanes of a node than are idle or about to be.
    pub(super) fn exceed(&self, nodes: &Nodes, node: NodeIndex) -> bool {
        let lanes = &nodes[node];
        // A lane whose task was told to stop comes free without another's being stopped.
        let coming = (lanes.lanes() + lanes.ending()).saturating_sub(lanes.busy());
        lanes.is_up() && self.0[node.get()] > u32::from(coming)
    }

    /// Claims the lanes that a waiting request begins on.
    pub(super) fn add(&mut self, nodes: &Nodes, entry: &Entry, need: &Need) {
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
