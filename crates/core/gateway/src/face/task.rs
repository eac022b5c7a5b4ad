use super::event::TaskOutcome;
use core::time::Duration;
use ripstop_estimator::LogRecord;
use ripstop_model::{NodeId, Operation, RequestId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// One storage operation on one chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Unique within the machine's life.
    pub id: TaskId,
    /// The request it serves.
    pub request: RequestId,
    /// Where.
    pub node: NodeId,
    /// Which fragment of the stripe (in a spread layout: which strip); in a shared fragment: which
    /// run of strips.
    pub fragment: u8,
    /// Strips in the run: this task moves those from `fragment · strips` on. 1 but in a shared
    /// fragment.
    pub strips: u8,
}

/// How a task ended, and what it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskEnd {
    /// What it was.
    pub task: Task,
    /// Whether it stored (true) or fetched (false).
    pub write: bool,
    /// How it ended.
    pub outcome: TaskOutcome,
    /// Bytes it was to move.
    pub bytes: u64,
    /// Time in the task queue.
    pub waited: Duration,
    /// Time on its lane.
    pub served: Duration,
    /// Whether it was beyond the k that its request needs.
    pub extra: bool,
    /// Whether the request was answered without it.
    pub redundant: bool,
}

impl TaskEnd {
    /// Its line of the task log, if it ended at `at`; none of a task that never had a lane.
    pub fn log_record(&self, at: Timestamp) -> Option<LogRecord> {
        if self.served.is_zero() && self.outcome != TaskOutcome::Done {
            return None;
        }
        let Self { task, bytes, served, waited, redundant, .. } = *self;
        let operation = if self.write { Operation::Write } else { Operation::Read };
        let outcome = match self.outcome {
            TaskOutcome::Done => ripstop_estimator::LoggedOutcome::Done,
            TaskOutcome::Cancelled => ripstop_estimator::LoggedOutcome::Cancelled,
            TaskOutcome::Missing
            | TaskOutcome::Damaged
            | TaskOutcome::Unavailable
            | TaskOutcome::Refused => ripstop_estimator::LoggedOutcome::Other,
        };
        let node = task.node;
        Some(LogRecord { at, operation, node, bytes, served, outcome, waited, redundant })
    }
}
