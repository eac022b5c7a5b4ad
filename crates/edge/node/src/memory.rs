use crate::{Capabilities, Listed, Node, NodeError};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
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
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

/// Locks that the fragments are spread over, so that lanes seldom meet.
const SHARDS: usize = 16;

/// A node in this process's memory: gone with it, and as fast as a node can be.
///
/// A fragment is copied as it is stored, its first segment (the header) for itself: what the writer
/// filled may be memory that others wait for. A range within either part is served without copying.
pub struct Memory {
    shards: [RwLock<HashMap<FragmentId, Held>>; SHARDS],
    bytes: AtomicU64,
    bytes_max: u64,
}

#[derive(Clone)]
struct Held {
    segments: Arc<[Bytes]>,
    len: u64,
    modified: SystemTime,
}

impl Memory {
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

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("bytes", &self.bytes())
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Node for Memory {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let len = fragment.iter().map(|segment| segment.len() as u64).sum();
        let segments = own(&fragment);
        // Many segments are freed here, not under the lock.
        drop(fragment);
        let held = Held { segments, len, modified: SystemTime::now() };
        let mut shard = self.write(name);
        self.claim(len, shard.get(&name).map_or(0, |old| old.len))?;
        let replaced = shard.insert(name, held);
        drop(shard);
        // Freeing megabytes takes time: not under the lock.
        drop(replaced);
        Ok(())
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let held = self.read(name).get(&name).cloned().ok_or(NodeError::Missing)?;
        if range.end.max(range.start) > held.len {
            return Err(NodeError::Short { len: held.len, asked: range.end.max(range.start) });
        }
        Ok(slice(&held.segments, range))
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let removed = self.write(name).remove(&name);
        if let Some(removed) = removed {
            self.bytes.fetch_sub(removed.len, Ordering::Relaxed);
        }
        Ok(())
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let shards = stream::iter(&self.shards);
        shards
            .flat_map(|shard| {
                let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
                let listed = shard.iter().map(|(&name, held)| {
                    Ok(Listed { name, len: held.len, modified: held.modified })
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

/// The segments in memory of their own: the first, and the others end to end.
fn own(segments: &[Bytes]) -> Arc<[Bytes]> {
    let Some((first, rest)) = segments.split_first() else { return Arc::new([]) };
    let mut body = Vec::with_capacity(rest.iter().map(Bytes::len).sum());
    for segment in rest {
        body.extend_from_slice(segment);
    }
    Arc::new([Bytes::copy_from_slice(first), body.into()])
}

/// The bytes `range`, within bounds, of the segments put end to end.
fn slice(segments: &[Bytes], range: Range<u64>) -> Bytes {
    let mut wanted = range.start..range.end.max(range.start);
    let mut gathered = BytesMut::new();
    for segment in segments {
        let len = segment.len() as u64;
        if wanted.start < len {
            let part = wanted.start as usize..wanted.end.min(len) as usize;
            if wanted.end <= len && gathered.is_empty() {
                return segment.slice(part);
            }
            if gathered.is_empty() {
                gathered.reserve((wanted.end - wanted.start) as usize);
            }
            gathered.extend_from_slice(&segment[part]);
            if wanted.end <= len {
                break;
            }
        }
        wanted = wanted.start.saturating_sub(len)..wanted.end - len;
    }
    gathered.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;
    use proptest::prelude::*;
    use ripstop_model::StripeId;

    const fn name(stripe: u128) -> FragmentId {
        FragmentId { stripe: StripeId(stripe), index: 3 }
    }

    proptest! {
        #[test]
        fn a_slice_is_that_of_the_whole(
            segments: Vec<Vec<u8>>, from: prop::sample::Index, to: prop::sample::Index,
        ) {
            let whole = segments.concat();
            let (from, to) = (from.index(whole.len() + 1), to.index(whole.len() + 1));
            let range = from.min(to)..from.max(to);
            let segments: Vec<Bytes> = segments.into_iter().map(Bytes::from).collect();
            let got = slice(&segments, range.start as u64..range.end as u64);
            prop_assert_eq!(&got[..], &whole[range]);
        }
    }

    #[tokio::test]
    async fn a_fragment_is_copied_once_and_ranges_of_it_are_not() {
        let memory = Memory::new(1 << 20);
        let body = Bytes::from(vec![7; 4096]);
        let put = vec![Bytes::from_static(b"head"), body.slice(..96), body.slice(96..)];
        memory.put(name(1), put).await.unwrap();
        assert!(body.is_unique(), "the writer has its memory back");
        let to_the_end = memory.get(name(1), 4..4100).await.unwrap();
        let got = memory.get(name(1), 14..204).await.unwrap();
        assert_eq!(got.as_ptr(), to_the_end[10..].as_ptr());
    }

    #[tokio::test]
    async fn the_limit_counts_what_is_replaced_and_removed() {
        let memory = Memory::new(10);
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
