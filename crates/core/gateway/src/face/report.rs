use super::{event::TaskOutcome, task::TaskEnd};
use core::time::Duration;
use ripstop_model::{Code, NodeId, RequestId, TenantId};
use serde::{Deserialize, Serialize};

/// What happened, for those who watch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Report {
    /// A request left the queue with this code after this wait.
    Started {
        /// The request.
        request: RequestId,
        /// Whether it stores.
        write: bool,
        /// The (n,k) the policy chose.
        code: Code,
        /// Time in the request queue.
        waited: Duration,
    },
    /// A task ended.
    Task(TaskEnd),
    /// A request was taken in by a tier of its tenant, or by none that has a promise.
    Admitted {
        /// The request.
        request: RequestId,
        /// Whose.
        tenant: TenantId,
        /// 0 is the tightest.
        tier: Option<u8>,
    },
    /// A request was not begun: its tenant asks for more than it was promised, or too many wait.
    Refused {
        /// The request.
        request: RequestId,
        /// Whose.
        tenant: TenantId,
    },
    /// A request was answered.
    Answered {
        /// The request.
        request: RequestId,
        /// Whose.
        tenant: TenantId,
        /// The tier that took it in, if any.
        tier: Option<u8>,
        /// Whether it was a write.
        write: bool,
        /// From arrival to answer.
        took: Duration,
        /// Whether it was done as asked.
        done: bool,
    },
    /// A read met a fragment that is missing or damaged.
    FragmentLost {
        /// The read.
        request: RequestId,
        /// Which fragment of its stripe.
        fragment: u8,
        /// Missing or Damaged.
        outcome: TaskOutcome,
    },
    /// A node was taken out of service, or back.
    Node {
        /// Which.
        node: NodeId,
        /// Whether it is in service now.
        up: bool,
    },
}
