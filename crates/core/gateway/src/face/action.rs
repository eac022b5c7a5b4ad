use super::{report::Report, task::Task};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_model::{Code, NodeId, RequestId, StripSet, TaskId};
use serde::{Deserialize, Serialize};

/// What is to be done. The machine's one exit; the driver carries actions out in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Compute the parity of a write; answered by `EncodeEnded`.
    Encode {
        /// The write.
        request: RequestId,
        /// The code its stripe is stored with.
        code: Code,
    },
    /// Move a chunk; answered by `TaskEnded`.
    StartTask(Task),
    /// Stop a task soon; its lane is busy until `TaskEnded` says otherwise. One that has ended
    /// meanwhile is no error.
    CancelTask(TaskId),
    /// Compute the wanted strips of a read from those that arrived; answered by `DecodeEnded`.
    Decode {
        /// The read.
        request: RequestId,
        /// The K strips to compute from, chunk by chunk.
        from: StripSet,
    },
    /// Answer: the wanted strips are there, or enough fragments are durable.
    Complete(RequestId),
    /// Answer: it could not be done. Fragments that a failed write stored are garbage.
    Fail(RequestId, Cause),
    /// Answer: it was not begun, because the queue is full or its tenant beyond what it was
    /// promised.
    Reject {
        /// The request.
        request: RequestId,
        /// When to try again.
        retry_after: Duration,
    },
    /// The last task of a request has ended: nothing more will be said of it. For a write or a
    /// mend: where fragments are now, by index. An encode or decode that is under way is not waited
    /// for.
    Settle {
        /// The request.
        request: RequestId,
        /// Where each fragment of a write was stored; for a mend of fragment i, i + 1 entries of
        /// which only the last can be set; empty for a read. `None` also where that is not known.
        stored: Vec<Option<NodeId>>,
    },
    /// Probe a node that is down; answered by `NodeChanged`, up or down.
    Probe(NodeId),
    /// For metrics, the task log and the dashboard.
    Report(Report),
}

/// Why a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// Fewer than K fragments can be had: too many are missing or damaged; or the strips could not
    /// be computed, or the request's numbers are no code.
    Lost,
    /// Too few nodes serve now: trying again later may help.
    Unavailable,
    /// It took longer than a request may take.
    TimedOut,
    /// The client has gone.
    Abandoned,
}
