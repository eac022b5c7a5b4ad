use crate::{Capabilities, Listed, Node, NodeError};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use ripstop_model::FragmentId;
use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

/// Locks that the fragments are spread over, so that lanes seldom meet.
const SHARDS: usize = 16;

/// A node in this process's memory: gone with it, and as fast as a node can be.
///
/// A fragment is copied as it is stored, into one piece: what the writer filled may be memory that
/// others wait for. Ranges of it are served without copying.
pub struct MemoryNode {
    shards: [RwLock<HashMap<FragmentId, Held>>; SHARDS],
    bytes: AtomicU64,
    bytes_max: u64,
}

struct Held {
    bytes: Bytes,
    modified: SystemTime,
}

impl MemoryNode {
    /// An empty node that refuses to hold more than `bytes_max` bytes of fragments.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            bytes: AtomicU64::new(0),
            bytes_max,
        }
    }

    /// Bytes of the fragments held.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn shard(&self, name: FragmentId) -> &RwLock<HashMap<FragmentId, Held>> {
        &self.shards[(name.stripe.0 as usize ^ usize::from(name.index)) % SHARDS]
    }

    fn read(&self, name: FragmentId) -> RwLockReadGuard<'_, HashMap<FragmentId, Held>> {
        // No code that can panic runs under these locks, so a poisoned one is still consistent.
        self.shard(name).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, name: FragmentId) -> RwLockWriteGuard<'_, HashMap<FragmentId, Held>> {
        self.shard(name).write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `added` bytes of the limit and gives back `removed`, if the limit allows it.
    fn claim(&self, added: u64, removed: u64) -> Result<(), NodeError> {
        self.bytes
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
                let bytes = (bytes - removed).checked_add(added)?;
                (bytes <= self.bytes_max || added <= removed).then_some(bytes)
            })
            .map(drop)
            .map_err(|bytes| NodeError::Refused {
                reason: format!(
                    "{added} bytes more than the {bytes} held would exceed bytes_max = {}",
                    self.bytes_max
                ),
            })
    }
}

impl fmt::Debug for MemoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("bytes", &self.bytes())
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Node for MemoryNode {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let bytes = Bytes::from(fragment.concat());
        // Many segments are freed here, not under the lock.
        drop(fragment);
        let len = bytes.len() as u64;
        let held = Held { bytes, modified: ripstop_host::wall() };
        let mut shard = self.write(name);
        self.claim(len, shard.get(&name).map_or(0, Held::len))?;
        let replaced = shard.insert(name, held);
        drop(shard);
        // Freeing megabytes takes time: not under the lock.
        drop(replaced);
        Ok(())
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let shard = self.read(name);
        let held = shard.get(&name).ok_or(NodeError::Missing)?;
        let end = range.end.max(range.start);
        if end > held.len() {
            return Err(NodeError::Short { len: held.len(), asked: end });
        }
        Ok(held.bytes.slice(range.start as usize..end as usize))
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let removed = self.write(name).remove(&name);
        if let Some(removed) = removed {
            self.bytes.fetch_sub(removed.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let shards = stream::iter(&self.shards);
        shards
            .flat_map(|shard| {
                let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
                let listed = shard.iter().map(|(&name, held)| {
                    Ok(Listed { name, len: held.len(), modified: held.modified })
                });
                stream::iter(listed.collect::<Vec<_>>())
            })
            .boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { part_min: None }
    }
}

impl Held {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;
    use ripstop_model::StripeId;

    const fn name(stripe: u128) -> FragmentId {
        FragmentId { stripe: StripeId(stripe), index: 3 }
    }

    #[tokio::test]
    async fn a_fragment_is_copied_once_and_ranges_of_it_are_not() {
        let memory = MemoryNode::new(1 << 20);
        let body = Bytes::from(vec![7; 4096]);
        let put = vec![Bytes::from_static(b"head"), body.slice(..96), body.slice(96..)];
        memory.put(name(1), put).await.unwrap();
        assert!(body.is_unique(), "the writer has its memory back");
        let to_the_end = memory.get(name(1), 2..4100).await.unwrap();
        let got = memory.get(name(1), 14..204).await.unwrap();
        assert_eq!(got.as_ptr(), to_the_end[12..].as_ptr());
    }

    #[tokio::test]
    async fn the_limit_counts_what_is_replaced_and_removed() {
        let memory = MemoryNode::new(10);
        memory.put(name(1), vec![Bytes::from_static(b"123456")]).await.unwrap();
        let five = vec![Bytes::from_static(b"12345")];
        let refused = memory.put(name(2), five.clone()).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "refused: 5 bytes more than the 6 held would exceed bytes_max = 10"
        );
        assert!(matches!(memory.get(name(2), 0..0).await, Err(NodeError::Missing)));
        memory.put(name(1), five.clone()).await.unwrap();
        memory.put(name(2), five.clone()).await.unwrap();
        memory.put(name(2), five).await.unwrap();
        assert_eq!(memory.bytes(), 10);
        memory.delete(name(1)).await.unwrap();
        memory.delete(name(1)).await.unwrap();
        assert_eq!(memory.bytes(), 5);
        let listed: Vec<Listed> = memory.list().try_collect().await.unwrap();
        assert_eq!(listed.iter().map(|l| (l.name, l.len)).collect::<Vec<_>>(), [(name(2), 5)]);
    }
}
