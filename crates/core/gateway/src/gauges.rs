use crate::{Machine, NodeState};
use ripstop_delay::ShiftedExponential;
use ripstop_model::{NodeId, Operation};

/// How one node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeGauge {
    /// Which.
    pub id: NodeId,
    /// Whether it is in service.
    pub state: NodeState,
    /// Tasks it serves at once.
    pub lanes: u16,
    /// Lanes on which a task runs, cancelled ones counted.
    pub lanes_busy: u16,
    /// Tasks in its queue.
    pub tasks_waiting: usize,
}

impl Machine {
    /// How the nodes stand, in the order they were given.
    pub fn nodes(&self) -> impl Iterator<Item = NodeGauge> {
        self.nodes.iter().map(|node| NodeGauge {
            id: node.id(),
            state: if node.is_up() { NodeState::Up } else { NodeState::Down },
            lanes: node.lanes(),
            lanes_busy: node.busy(),
            tasks_waiting: node.waiting(),
        })
    }

    /// The delay model that the policy goes by, if it has one.
    pub fn delay_model(&self, operation: Operation) -> Option<ShiftedExponential> {
        self.policy.delay_model(operation)
    }

    /// Requests that are not settled, rejected ones not counted.
    pub fn requests_open(&self) -> usize {
        self.requests.table.len()
    }

    /// Writes whose parity is being computed.
    pub fn encoding(&self) -> usize {
        self.encoding
    }

    /// Mends that wait.
    pub fn mends_waiting(&self) -> usize {
        self.mends.len()
    }
}
