mod plan;
#[cfg(test)]
mod tests;

pub use plan::{FaultHandle, FaultSettings, Injected};

use crate::{Capabilities, Leftovers, Listed, Node, NodeError, node::cut};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use plan::Luck;
use ripstop_model::FragmentId;
use std::{
    future::pending,
    ops::Range,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Makes a node fail, stall and lie, for tests and rehearsals.
///
/// What happens to an operation is drawn from the dice of a seed; a [`FaultHandle`] changes the
/// odds at run time. Lies are those that storage tells: a get may return fewer bytes than asked
/// for, a flipped bit, or the bytes of another fragment, each as if nothing were wrong.
#[derive(Debug)]
pub struct Fault {
    inner: Arc<dyn Node>,
    handle: FaultHandle,
}

impl Fault {
    /// Gives `inner` the faults of `settings`, drawn with the dice of `seed`.
    pub fn new(inner: Arc<dyn Node>, settings: FaultSettings, seed: u64) -> Self {
        Self { inner, handle: FaultHandle::new(settings, seed) }
    }

    /// What changes the faults while the node is in use.
    pub fn handle(&self) -> FaultHandle {
        self.handle.clone()
    }

    /// Fails or stalls an operation before it reaches the node; otherwise says what else awaits it.
    async fn before(&self) -> Result<Luck, NodeError> {
        let (luck, counters) = (self.handle.draw(), self.handle.counters());
        if luck.down {
            return Err(NodeError::Unavailable { reason: "injected: the node is down".into() });
        }
        if luck.stall {
            counters.stalls.fetch_add(1, Ordering::Relaxed);
            match luck.stall_for {
                Some(time) => tokio::time::sleep(time).await,
                None => pending().await,
            }
        }
        if luck.error {
            counters.errors.fetch_add(1, Ordering::Relaxed);
            return Err(NodeError::Unavailable { reason: "injected: error".into() });
        }
        Ok(luck)
    }

    /// Loses the answer to an operation that the node has done.
    fn after(&self, luck: &Luck) -> Result<(), NodeError> {
        if luck.lost_answer {
            self.handle.counters().lost_answers.fetch_add(1, Ordering::Relaxed);
            return Err(NodeError::Unavailable { reason: "injected: the answer was lost".into() });
        }
        Ok(())
    }

    /// The bytes of another fragment seen recently, if it has that many.
    async fn other(&self, luck: &Luck, name: FragmentId, range: Range<u64>) -> Option<Bytes> {
        let other = self.handle.other(name, luck.point)?;
        self.inner.get(other, range).await.ok()
    }

    fn damage(&self, luck: &Luck, bytes: Bytes) -> Bytes {
        let counters = self.handle.counters();
        let mut bytes = bytes;
        if luck.flip && !bytes.is_empty() {
            counters.flips.fetch_add(1, Ordering::Relaxed);
            let mut flipped = BytesMut::from(&bytes[..]);
            let bit = (luck.point % (8 * bytes.len() as u64)) as usize;
            flipped[bit / 8] ^= 1 << (bit % 8);
            bytes = flipped.freeze();
        }
        if luck.truncate && !bytes.is_empty() {
            counters.truncations.fetch_add(1, Ordering::Relaxed);
            bytes.truncate((luck.point % bytes.len() as u64) as usize);
        }
        bytes
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Node for Fault {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let luck = self.before().await?;
        self.inner.put(name, fragment).await?;
        self.handle.seen(name);
        self.after(&luck)
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let luck = self.before().await?;
        let bytes = self.inner.get(name, range.clone()).await?;
        self.after(&luck)?;
        if luck.swap
            && let Some(other) = self.other(&luck, name, range).await
        {
            self.handle.counters().swaps.fetch_add(1, Ordering::Relaxed);
            return Ok(self.damage(&luck, other));
        }
        self.handle.seen(name);
        Ok(self.damage(&luck, bytes))
    }

    async fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
    ) -> Result<Vec<Bytes>, NodeError> {
        let len: u64 = lens.iter().copied().map(u64::from).sum();
        Ok(cut(&self.get(name, start..start + len).await?, lens))
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let luck = self.before().await?;
        self.inner.delete(name).await?;
        self.after(&luck)
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let listing = async {
            match self.before().await {
                // A listing whose answer is lost breaks off at its end.
                Ok(luck) => {
                    let end = self.after(&luck).err().map(Err);
                    self.inner.list().chain(stream::iter(end)).boxed()
                }
                Err(error) => stream::once(async { Err(error) }).boxed(),
            }
        };
        stream::once(listing).flatten().boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        let luck = self.before().await?;
        self.inner.health().await?;
        self.after(&luck)
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn leftovers(&self, age: Duration, remove: bool) -> Result<Leftovers, NodeError> {
        self.inner.leftovers(age, remove).await
    }

    fn stuck(&self) -> usize {
        self.inner.stuck()
    }
}
