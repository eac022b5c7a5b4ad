use crate::S3Operation;
use std::{fmt, time::Duration};

/// One request that was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// What it asked for.
    pub operation: S3Operation,
    /// The HTTP status.
    pub status: u16,
    /// Bytes of body that came, framing included.
    pub received: u64,
    /// Bytes of body that were handed to the connection.
    pub sent: u64,
    /// Whether the answer's body broke off.
    pub broken: bool,
    /// From the end of the request's head to the beginning of the answer.
    pub first_byte: Duration,
    /// From the end of the request's head to the end of the answer.
    pub duration: Duration,
    /// Time spent hashing the request's body.
    pub hashing: Duration,
}

/// Is told of every request, once its answer has ended. Called on the connection's task: must be
/// quick.
pub trait RequestObserver: Send + Sync + fmt::Debug {
    /// A request was answered.
    fn answered(&self, answered: &Answered);
}

/// Does not look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unobserved;

impl RequestObserver for Unobserved {
    fn answered(&self, _: &Answered) {}
}
