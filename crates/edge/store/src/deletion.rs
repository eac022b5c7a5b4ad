use ripstop_catalog::Stamp;

/// A name that was deleted, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deletion {
    /// The bucket's name.
    pub bucket: String,
    /// The key; empty where the bucket itself is gone.
    pub key: String,
    /// When it was deleted.
    pub stamp: Stamp,
}
