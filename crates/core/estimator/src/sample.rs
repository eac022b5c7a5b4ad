use core::time::Duration;
use ripstop_model::{NodeId, Operation};

/// What a task's end tells about delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// What it did.
    pub operation: Operation,
    /// Where.
    pub node: NodeId,
    /// Size of its chunk.
    pub bytes: u64,
    /// From when it had a lane until it ended.
    pub served: Duration,
    /// Whether it did all of it. If not, it was cancelled, and would have taken longer than
    /// `served`. Tasks that failed are no samples.
    pub finished: bool,
}
