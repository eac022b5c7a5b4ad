use super::event::NodeState;
use core::time::Duration;
use ripstop_model::{NodeId, TenantId};

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

/// What one tenant asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TenantGauge {
    /// Who.
    pub tenant: TenantId,
    /// Lane time that all of its requests which ever came were expected to take, refused ones too.
    pub offered: Duration,
}

/// How one tier of a tenant stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierGauge {
    /// Whose.
    pub tenant: TenantId,
    /// Which: 0 is the tightest.
    pub tier: u8,
    /// Requests that wait for their turn.
    pub waiting: usize,
    /// Lane time that what has not started is expected to take.
    pub queued: Duration,
    /// How long its requests may wait before they start.
    pub allowance: Duration,
}
