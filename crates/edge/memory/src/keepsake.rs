use crate::name::Names;
use bytes::Bytes;

/// How it is known that a server still has what was stored there.
#[derive(Clone, Debug)]
pub(crate) struct Keepsake {
    /// An item that nobody else stores.
    pub(crate) key: Bytes,
    /// What is in it: a server that has something else, or nothing, was empty meanwhile.
    pub(crate) token: Bytes,
    /// The server has items of nobody else: all of it is emptied.
    pub(crate) is_alone: bool,
    /// By which others' items are told from ours.
    pub(crate) names: Names,
}
