use crate::NodeError;
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use ripstop_model::FragmentId;
use std::{
    fmt,
    ops::Range,
    time::{Duration, SystemTime},
};

/// A place that stores fragments. The one seam between Ripstop and the world's storage.
///
/// Every operation may be dropped midway: a dropped `put` leaves the fragment either absent or
/// whole, never in part, and none blocks the runtime. Implementations open connections as they need
/// them; how many run at once is the lanes' business, not the node's.
#[async_trait]
pub trait Node: Send + Sync + fmt::Debug {
    /// Stores a fragment; when it returns, the fragment is as durable as the node's settings say.
    /// Storing a name again replaces it in one step.
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError>;

    /// The bytes `range` of a fragment: exactly those, or an error.
    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError>;

    /// The bytes from `start` on in pieces of these lengths: exactly those, or an error. A caller
    /// that keeps bytes in blocks asks for this, so that a node that copies them anyway copies each
    /// piece into memory of its own.
    async fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
    ) -> Result<Vec<Bytes>, NodeError> {
        let len: u64 = lens.iter().copied().map(u64::from).sum();
        Ok(cut(&self.get(name, start..start + len).await?, lens))
    }

    /// Removes a fragment; one that is not there is removed already.
    async fn delete(&self, name: FragmentId) -> Result<(), NodeError>;

    /// Every fragment held, in any order; foreign objects are passed over.
    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>>;

    /// Whether the node can serve now; cheap enough to be asked every second.
    async fn health(&self) -> Result<(), NodeError>;

    /// What the place behind it offers beyond these operations. Constant through the node's life.
    fn capabilities(&self) -> Capabilities;

    /// What writes left that never ended: as far as that is `age` old, or its writer is known to be
    /// dead. It is removed if asked. Where a fragment is stored in one step there is none.
    async fn leftovers(&self, _age: Duration, _remove: bool) -> Result<Leftovers, NodeError> {
        Ok(Leftovers::default())
    }

    /// Operations that the place has been at for 10 s and more, those included whose callers have
    /// gone meanwhile. Where leaving an operation ends it there are none.
    fn stuck(&self) -> usize {
        0
    }
}

/// What a node's place offers beyond the operations of [`Node`]: what is to depend on it asks for
/// this, not for the kind of node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Capabilities {
    /// Least bytes of a part, the last excepted, where one fragment can be stored in parts by
    /// several operations; `None` where it cannot. No operation of [`Node`] stores in parts: a
    /// fragment is one put, whatever this says.
    pub part_min: Option<u64>,
}

/// What writes left at a node that never ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Leftovers {
    /// How many there were.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of them were removed.
    pub freed: u64,
}

/// One fragment in a node's listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Which fragment.
    pub name: FragmentId,
    /// Its length in bytes, header included.
    pub len: u64,
    /// When it was stored, by the node's clock.
    pub modified: SystemTime,
}

/// `bytes` in pieces of these lengths, as far as they go.
pub(crate) fn cut(bytes: &Bytes, lens: &[u32]) -> Vec<Bytes> {
    let mut rest = bytes.clone();
    lens.iter().map(|&len| rest.split_to(rest.len().min(len as usize))).collect()
}
