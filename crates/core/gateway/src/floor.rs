//! The nodes, their lanes, and the tasks that wait for them or run on them.
//!
//! What a node's lane does next is decided here: a needed task before a dispensable one, that
//! before what is left of answered writes, and nothing at a node that is down.

mod claims;
mod invariant;
mod preemption;
mod report;
mod stop;
mod task;

pub(crate) use claims::Need;
pub(crate) use task::NewTask;

use crate::book::Book;
use crate::face::{Exit, MachineSettings, NodeGauge, NodeState};
use claims::Claims;
use ripstop_model::{NodeId, Timestamp};
use ripstop_scheduling::{
    Lanes, NodeIndex, NodeSpec, Nodes, Paces, Preemptible, Table, TaskQueues, TaskRecord, TaskSlot,
    Totals,
};

/// Numbers one look at a queue: while it lasts, requests behind one that waits keep off its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look(u64);

impl Look {
    /// A look that no node was ever reserved for.
    pub(crate) const NONE: Self = Self(u64::MAX);
}

/// All nodes and all tasks that have not ended.
#[derive(Debug)]
pub(crate) struct Floor {
    nodes: Nodes,
    /// How fast nodes are beside one another, to do without slow ones.
    paces: Paces,
    tasks: Table<TaskSlot, TaskRecord>,
    queues: TaskQueues,
    /// Those on lanes that must give way.
    preemptible: Preemptible,
    /// Tasks on lanes, cancelled ones counted: what the nodes count must be the same.
    running: usize,
    /// Those of them that are redundant: what policies see.
    redundant: usize,
    /// Bytes of the tasks that wait although their requests are answered: memory that nobody waits
    /// for.
    left_bytes: u64,
    claims: Claims,
    looks: u64,
    tasks_waiting_max: usize,
    left_bytes_max: u64,
    failures_to_down: u32,
}

impl Floor {
    /// All nodes are up and idle.
    ///
    /// # Panics
    /// If two nodes have the same id.
    pub(crate) fn new(settings: &MachineSettings, nodes: &[NodeSpec]) -> Self {
        Self {
            nodes: Nodes::new(nodes),
            paces: Paces::new(nodes.len()),
            tasks: Table::default(),
            queues: TaskQueues::new(nodes.len()),
            preemptible: Preemptible::new(nodes.len()),
            running: 0,
            redundant: 0,
            left_bytes: 0,
            claims: Claims::default(),
            looks: 0,
            tasks_waiting_max: settings.tasks_waiting_max,
            left_bytes_max: settings.left_bytes_max,
            failures_to_down: settings.failures_to_down,
        }
    }

    pub(crate) fn find(&self, id: NodeId) -> Option<NodeIndex> {
        self.nodes.find(id)
    }

    #[inline]
    pub(crate) fn node(&self, node: NodeIndex) -> &Lanes {
        &self.nodes[node]
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeIndex, &Lanes)> {
        self.nodes.iter()
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        self.nodes.indices()
    }

    /// Lanes of all nodes.
    pub(crate) fn lanes(&self) -> u64 {
        self.nodes.iter().map(|(_, node)| u64::from(node.lanes())).sum()
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn totals(&self) -> Totals {
        self.nodes.totals()
    }

    pub(crate) fn paces(&self) -> &Paces {
        &self.paces
    }

    /// Tasks that wait for a lane and are needed.
    pub(crate) fn needed(&self) -> usize {
        self.queues.needed()
    }

    /// Lanes on which a redundant task runs.
    pub(crate) fn redundant(&self) -> usize {
        self.redundant
    }

    #[inline]
    pub(crate) fn next_look(&mut self) -> Look {
        self.looks += 1;
        Look(self.looks)
    }

    /// Keeps later requests of this look off a node; true if that withdrew a ready node.
    #[inline]
    pub(crate) fn reserve(&mut self, node: NodeIndex, look: Look) -> bool {
        self.nodes.reserve(node, look.0)
    }

    #[inline]
    pub(crate) fn is_reserved(&self, node: NodeIndex, look: Look) -> bool {
        self.nodes[node].is_reserved(look.0)
    }

    /// Whether a node that serves can be given one more task, to run or to wait.
    #[inline]
    pub(crate) fn has_room(&self, node: NodeIndex) -> bool {
        self.nodes[node].has_room(self.tasks_waiting_max)
    }

    /// Whether a request can begin on a node: it serves, has room, and nobody before it waits for
    /// it.
    #[inline]
    pub(crate) fn is_open(&self, node: NodeIndex, look: Look) -> bool {
        self.nodes[node].is_up() && !self.is_reserved(node, look) && self.has_room(node)
    }

    /// Whether a task can be given to a node, no matter who waits for it.
    #[inline]
    pub(crate) fn takes(&self, node: NodeIndex) -> bool {
        self.nodes[node].is_up() && self.has_room(node)
    }

    /// Takes a node into service or out of it; false if it was so already.
    pub(crate) fn set_up(&mut self, node: NodeIndex, up: bool) -> bool {
        self.nodes.set_up(node, up)
    }

    /// From now on a node serves this many tasks at once: what waits there and is needed starts.
    pub(crate) fn set_lanes(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        node: NodeIndex,
        lanes: u16,
    ) {
        self.nodes.set_lanes(node, lanes);
        self.start_needed(book, exit, node);
    }

    /// A node answered: its failures are counted from none.
    pub(crate) fn answered(&mut self, node: NodeIndex) {
        self.nodes.answered(node);
    }

    /// A node refused a write: others are better until then.
    pub(crate) fn refused(&mut self, node: NodeIndex, until: Timestamp) {
        self.nodes.refused(node, until);
    }

    /// A node failed; whether it did so often enough in a row to be taken out of service.
    pub(crate) fn failed(&mut self, node: NodeIndex) -> bool {
        self.nodes.failed(node) >= self.failures_to_down
    }

    /// How the nodes stand, in the order they were given.
    pub(crate) fn gauges(&self) -> impl Iterator<Item = NodeGauge> {
        self.nodes.iter().map(|(_, node)| NodeGauge {
            id: node.id(),
            state: if node.is_up() { NodeState::Up } else { NodeState::Down },
            lanes: node.lanes(),
            lanes_busy: node.busy(),
            tasks_waiting: node.waiting(),
        })
    }
}
