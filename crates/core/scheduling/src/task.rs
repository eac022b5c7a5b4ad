use crate::{FragmentIndex, NodeIndex, RequestSlot};
use ripstop_model::Timestamp;

/// What a task waits behind; in this order at each node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Priority {
    /// A request cannot be answered without it, or was to run all its tasks alike.
    Needed,
    /// Runs on lanes that nobody else wants.
    Redundant,
    /// What is left of an answered write, and mends.
    Background,
}

/// Where a task is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// In its node's task queue since then.
    Waiting,
    /// On a lane.
    Running,
    /// On a lane, told to stop; whatever becomes of it, its request has done without it.
    Cancelled,
}

/// One storage operation on one chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRecord {
    /// The slot of its request.
    pub request: RequestSlot,
    /// The index of its node.
    pub node: NodeIndex,
    /// Which fragment of the stripe.
    pub fragment: FragmentIndex,
    /// What it waits behind.
    pub priority: Priority,
    /// Redundant tasks of its request that come before it.
    pub rank: u8,
    /// Where it is in its life.
    pub stage: Stage,
    /// Whether it is beyond the k that its request needs.
    pub extra: bool,
    /// Whether it waits although its request is answered.
    pub left: bool,
    /// When it joined its node's queue.
    pub queued: Timestamp,
    /// When it got its lane; without meaning while it waits.
    pub started: Timestamp,
    /// When it was told to stop; without meaning unless it was.
    pub stopped: Timestamp,
}
