use super::{Fragment, Work};
use alloc::vec::Vec;
use ripstop_model::{Code, CodeError};
use ripstop_policy::Redundancy;

/// A request whose code is chosen, before it is taken in.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The code (n,k) of its fragments, if their numbers are one.
    pub storage: Result<Code, CodeError>,
    /// Bytes that each task moves.
    pub chunk_bytes: u32,
    /// Strips in a chunk.
    pub strips: u8,
    /// Whether all fragments belong at one node.
    pub together: bool,
    /// Fragments that suffice: the K of the storage code, the k of the chosen one in a shared
    /// fragment.
    pub k: usize,
    /// Redundant tasks beyond the needed ones.
    pub extra: usize,
    /// How those run.
    pub redundancy: Redundancy,
    pub work: Work,
    /// By index in the stripe.
    pub fragments: Vec<Fragment>,
}

impl Draft {
    /// One fragment of one strip suffices, and there is no redundancy.
    pub(crate) fn new(chunk_bytes: u32, fragments: Vec<Fragment>, work: Work) -> Self {
        Self {
            storage: Code::new(1, 1),
            chunk_bytes,
            strips: 1,
            together: false,
            k: 1,
            extra: 0,
            redundancy: Redundancy::Eager,
            work,
            fragments,
        }
    }
}
