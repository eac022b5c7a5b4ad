use crate::{
    Account, Bucket, GatewayId, GatewayRecord, Held, Lease, Object, Place, Session, Tombstone,
    Upload, UploadedPart, Watermark,
};
use alloc::string::String;
use alloc::vec::Vec;
use core::{error, fmt};
use ripstop_model::{NodeId, StripeId};

/// How sure it must be that there is no row of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    /// As a search says: for keys that are mostly new.
    Believed,
    /// The absence is an answer: a search that damage may have led astray is not enough.
    Certain,
}

/// The rows that [`decide`](crate::decide) looks at. Nothing is read that the changes do not
/// [name](crate::Named).
///
/// Each row is as it was before the changes: what they write is not to be seen here.
pub trait Rows {
    /// Why a row cannot be read.
    type Error: From<Inconsistent>;

    /// A bucket, by name.
    fn bucket(&self, name: &str) -> Result<Option<Bucket>, Self::Error>;
    /// The object that a key stands for.
    fn object(&self, at: &Place<'_>, absence: Absence) -> Result<Option<Object>, Self::Error>;
    /// That a key's object was deleted.
    fn tombstone(&self, at: &Place<'_>) -> Result<Option<Tombstone>, Self::Error>;
    /// A stripe in force.
    fn stripe(&self, id: StripeId, absence: Absence) -> Result<Option<Held>, Self::Error>;
    /// Whether a stripe is garbage.
    fn is_garbage(&self, id: StripeId) -> Result<bool, Self::Error>;
    /// Whether a stripe tells of a key what is no longer so.
    fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Result<bool, Self::Error>;
    /// An upload, by id.
    fn upload(&self, id: &str, absence: Absence) -> Result<Option<Upload>, Self::Error>;
    /// A part of an upload.
    fn part(&self, upload: &str, number: u16) -> Result<Option<UploadedPart>, Self::Error>;
    /// What a bucket holds; nothing where there is no row.
    fn account(&self, bucket: &str) -> Result<Account, Self::Error>;
    /// A node's number, by its name.
    fn node(&self, name: &str) -> Result<Option<NodeId>, Self::Error>;
    /// Until when a session may name stripes.
    fn session(&self, session: Session) -> Result<Option<u64>, Self::Error>;
    /// What a session may still be writing.
    fn watermark(&self, session: Session) -> Result<Option<Watermark>, Self::Error>;
    /// Who has a lease.
    fn lease(&self, name: &str) -> Result<Option<Lease>, Self::Error>;
    /// Before when all names of stripes are known.
    fn vouched_before(&self) -> Result<u64, Self::Error>;

    /// The names of the latest versions with ids of a key, in the space of versions of its bucket,
    /// at most `max`.
    fn versions(&self, bucket: &str, key: &str, max: usize) -> Result<Vec<String>, Self::Error>;
    /// The first keys of a bucket that stand for objects, at most `max`; the first names in a space
    /// of versions.
    fn keys(&self, bucket: &str, max: usize) -> Result<Vec<String>, Self::Error>;
    /// Key and id of the first uploads of a bucket, at most `max`.
    fn uploads(&self, bucket: &str, max: usize) -> Result<Vec<(String, String)>, Self::Error>;
    /// The parts of an upload, by number.
    fn parts(&self, upload: &str) -> Result<Vec<UploadedPart>, Self::Error>;
    /// Of which keys a stripe tells what is no longer so.
    fn outlived_by(&self, stripe: StripeId) -> Result<Vec<Place<'static>>, Self::Error>;
    /// Which stripes tell of a key what is no longer so, at most `max`.
    fn outlived_at(&self, at: &Place<'_>, max: usize) -> Result<Vec<StripeId>, Self::Error>;
    /// How many nodes have a number.
    fn node_count(&self) -> Result<u64, Self::Error>;
    /// What each session may still be writing.
    fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, Self::Error>;
    /// What each gateway told of itself.
    fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, Self::Error>;
    /// All sessions, and until when each may name stripes.
    fn sessions(&self) -> Result<Vec<(Session, u64)>, Self::Error>;
}

/// Rows contradict one another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inconsistent {
    /// What does not hold.
    pub reason: String,
}

impl fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl error::Error for Inconsistent {}
