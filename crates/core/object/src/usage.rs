//! What a bucket holds, and the numbers that limit it.

use core::fmt;

/// What a bucket holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Lengths of its objects, and of the parts of its unfinished uploads, in bytes.
    pub bytes: u64,
    /// How many keys stand for an object.
    pub objects: u64,
}

/// The number that a quota sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Of bytes.
    Bytes(u64),
    /// Of objects.
    Objects(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(most) => write!(f, "{most} bytes"),
            Self::Objects(most) => write!(f, "{most} objects"),
        }
    }
}
