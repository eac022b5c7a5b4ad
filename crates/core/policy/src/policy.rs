use core::fmt::Debug;
use ripstop_model::{Code, Timestamp};

/// Chooses the code of each request when it arrives.
pub trait Policy: Send + Debug {
    /// The code for a request of `class` that arrives `now` and sees `load`.
    fn choose(&mut self, now: Timestamp, class: &Class, load: Load) -> Choice;
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// Read or write.
    pub operation: Operation,
    /// Bytes that a task moves for one strip.
    pub strip_bytes: u32,
    /// The storage code (N,K) of the stripe.
    pub code: Code,
}

/// The direction of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Fetch.
    Read,
    /// Store.
    Write,
}

/// What a request sees when it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Load {
    /// Requests in the request queue, this one not counted.
    pub backlog: usize,
    /// Lanes of the nodes that are up.
    pub lanes: usize,
    /// Those of them that are idle.
    pub lanes_idle: usize,
    /// Those of them on which a redundant task runs.
    pub lanes_redundant: usize,
    /// Requests that have left the queue and are not answered yet.
    pub serving: usize,
}

/// How a request is to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// n tasks, any k of which suffice.
    pub code: Code,
    /// How the n − k tasks beyond the needed ones run.
    pub redundancy: Redundancy,
}

/// How redundant tasks run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// All n at once, all alike.
    Eager,
    /// The needed ones first; the redundant ones on lanes that nobody else wants.
    Spare {
        /// Whether a needed task may take the lane of a running redundant one.
        preemptible: bool,
    },
}
