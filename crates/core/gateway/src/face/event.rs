use super::{placement::Placement, shaping::Shaping};
use alloc::vec::Vec;
use ripstop_model::{NodeId, RequestId, StripSet, TaskId, TenantId};
use ripstop_scheduling::NodeSpec;
use serde::{Deserialize, Serialize};

/// What happened. The machine's one entrance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Event {
    /// Somebody wants a stripe read or written.
    RequestArrived(Request),
    /// The client has gone; what is under way for it is cancelled, what is answered stays.
    RequestAbandoned(RequestId),
    /// The parity strips of a write are computed: its tasks may start.
    EncodeEnded(RequestId),
    /// A task has ended and its lane is free again.
    TaskEnded(TaskId, TaskOutcome),
    /// The wanted strips of a read were computed from others (false: they could not be).
    DecodeEnded(RequestId, bool),
    /// A node was found able, or unable, to serve.
    NodeChanged(NodeId, NodeState),
    /// From now on these nodes serve this many tasks at once: others have a part of them too. Nodes
    /// that are not named stay as they are.
    LanesChanged(Vec<NodeSpec>),
    /// From now on this is what tenants are promised; what waits keeps its place.
    ShapingChanged(Shaping),
    /// From now on new stripes go where this says, and reads choose as it says.
    PlacementChanged(Placement),
    /// The time given by `deadline` has come.
    TimerFired,
}

/// One read or write of one stripe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Unique within the machine's life; chosen by the driver.
    pub id: RequestId,
    /// Who wants it.
    pub tenant: TenantId,
    /// What is wanted.
    pub operation: RequestSpec,
    /// Bytes that a task moves for one strip: its whole length, or a range of it.
    pub strip_bytes: u32,
}

/// What a request wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RequestSpec {
    /// The same byte range of each of some data strips.
    Read {
        /// The storage code's K: this many strips, whichever, suffice to compute any other.
        k: u8,
        /// The data strips wanted; never empty.
        wanted: StripSet,
        /// Where each fragment of the stripe is, by index; `None` where it is missing.
        places: Vec<Option<NodeId>>,
    },
    /// A payload whose K strips lie side by side in one fragment, parity strips behind them (layout
    /// shared key): chunks are runs of strips, and the policy chooses how long they are.
    ReadShared {
        /// The storage code's N.
        n: u8,
        /// The storage code's K.
        k: u8,
        /// Where the fragment is; `None` if it is missing.
        node: Option<NodeId>,
    },
    /// A new stripe whose chunks all go to one node, each as a fragment of its own (layout unique
    /// key): the policy chooses how many there are, within (N,K).
    WriteUnique {
        /// The most strips to store, N.
        n: u8,
        /// The strips of the payload, K.
        k: u8,
    },
    /// All fragments of a new stripe, to nodes that the machine chooses.
    Write {
        /// The storage code's N: how many fragments there are.
        n: u8,
        /// The storage code's K: the least that must be durable to be read again.
        k: u8,
    },
    /// One fragment that was computed again, to `node` or, if that is `None`, to a node that holds
    /// none of `taken`. Runs behind everything else.
    Mend {
        /// Which fragment.
        fragment: u8,
        /// Where it belongs.
        node: Option<NodeId>,
        /// Nodes that hold other fragments of the stripe.
        taken: Vec<NodeId>,
    },
}

/// How a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TaskOutcome {
    /// The chunk arrived and its checksums hold, or was stored durably.
    Done,
    /// The node answered that it has no such fragment, or what it has is cut short.
    Missing,
    /// Bytes arrived that are not those that were stored.
    Damaged,
    /// The node could not be reached or is busy: another try may help.
    Unavailable,
    /// The node will not do it: another try will not help.
    Refused,
    /// It was cancelled before it could end.
    Cancelled,
}

/// Whether a node can be given tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NodeState {
    /// It serves.
    Up,
    /// It does not; nothing is started on it until it is up again.
    Down,
}
