use ripstop_model::Operation;
use std::borrow::Cow;

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    /// A request that moved an object's bytes.
    Request(Request<'a>),
    /// A request that was refused or broke off.
    Failed,
    /// Anything else that belongs into such a log.
    Ignored,
}

/// A request as the log has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request<'a> {
    /// Since 1970, or since whatever the log counts from.
    pub(crate) time_ns: u64,
    pub(crate) operation: Operation,
    pub(crate) bytes: u64,
    pub(crate) key: Option<u64>,
    pub(crate) tenant: Option<Cow<'a, str>>,
}
