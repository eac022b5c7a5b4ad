#[cfg(test)]
mod tests;

use crate::{Capabilities, Leftovers, Listed, Node, NodeError, Operation};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use ripstop_model::FragmentId;
use std::{
    fmt,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Counts and times what is asked of a node.
pub struct Meter {
    inner: Arc<dyn Node>,
    counters: [Counters; Operation::ALL.len()],
}

/// A meter's counts of one operation since the meter was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeterReading {
    /// Which operation.
    pub operation: Operation,
    /// Begun; those that have not ended in any way below are under way.
    pub started: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Given up by the caller before their end.
    pub dropped: u64,
    /// Failed as [`NodeError::Missing`].
    pub missing: u64,
    /// Failed as [`NodeError::Short`].
    pub short: u64,
    /// Failed as [`NodeError::Refused`].
    pub refused: u64,
    /// Failed as [`NodeError::Unavailable`].
    pub unavailable: u64,
    /// Bytes of fragments put or got by those that ended well.
    pub bytes: u64,
    /// Time from start to end of those that ended well.
    pub time: Duration,
}

#[derive(Default)]
struct Counters {
    started: AtomicU64,
    succeeded: AtomicU64,
    dropped: AtomicU64,
    missing: AtomicU64,
    short: AtomicU64,
    refused: AtomicU64,
    unavailable: AtomicU64,
    bytes: AtomicU64,
    time_us: AtomicU64,
}

impl Meter {
    /// Counts what is asked of `inner`.
    pub fn new(inner: Arc<dyn Node>) -> Self {
        Self { inner, counters: Default::default() }
    }

    /// The counts of every operation, in the order of [`Operation::ALL`]. Operations that end
    /// meanwhile may be in some of the counts and not in others.
    pub fn readings(&self) -> [MeterReading; Operation::ALL.len()] {
        Operation::ALL.map(|operation| {
            let counters = &self.counters[operation as usize];
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            MeterReading {
                operation,
                started: count(&counters.started),
                succeeded: count(&counters.succeeded),
                dropped: count(&counters.dropped),
                missing: count(&counters.missing),
                short: count(&counters.short),
                refused: count(&counters.refused),
                unavailable: count(&counters.unavailable),
                bytes: count(&counters.bytes),
                time: Duration::from_micros(count(&counters.time_us)),
            }
        })
    }

    fn start(&self, operation: Operation) -> Running<'_> {
        let counters = &self.counters[operation as usize];
        counters.started.fetch_add(1, Ordering::Relaxed);
        Running { counters, start: ripstop_host::now(), ended: false }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// An operation under way; dropped without an end, it counts as that.
struct Running<'a> {
    counters: &'a Counters,
    start: Instant,
    ended: bool,
}

impl Running<'_> {
    fn end<T>(&mut self, outcome: &Result<T, NodeError>, bytes: u64) {
        self.ended = true;
        let counters = self.counters;
        let counter = match outcome {
            Ok(_) => {
                counters.bytes.fetch_add(bytes, Ordering::Relaxed);
                let took_us = ripstop_host::since(self.start).as_micros() as u64;
                counters.time_us.fetch_add(took_us, Ordering::Relaxed);
                &counters.succeeded
            }
            Err(NodeError::Missing) => &counters.missing,
            Err(NodeError::Short { .. }) => &counters.short,
            Err(NodeError::Refused { .. }) => &counters.refused,
            Err(NodeError::Unavailable { .. }) => &counters.unavailable,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Node for Meter {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let mut running = self.start(Operation::Put);
        let bytes = fragment.iter().map(|segment| segment.len() as u64).sum();
        let outcome = self.inner.put(name, fragment).await;
        running.end(&outcome, bytes);
        outcome
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let mut running = self.start(Operation::Get);
        let outcome = self.inner.get(name, range).await;
        running.end(&outcome, outcome.as_ref().map_or(0, |bytes| bytes.len() as u64));
        outcome
    }

    async fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
    ) -> Result<Vec<Bytes>, NodeError> {
        let mut running = self.start(Operation::Get);
        let outcome = self.inner.get_pieces(name, start, lens).await;
        let len = |pieces: &Vec<Bytes>| pieces.iter().map(|piece| piece.len() as u64).sum();
        running.end(&outcome, outcome.as_ref().map_or(0, len));
        outcome
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let mut running = self.start(Operation::Delete);
        let outcome = self.inner.delete(name).await;
        running.end(&outcome, 0);
        outcome
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let listing = async {
            let running = self.start(Operation::List);
            stream::unfold((self.inner.list(), running), |(mut inner, mut running)| async move {
                let listed = inner.next().await;
                match &listed {
                    Some(Err(_)) | None if running.ended => {}
                    Some(Ok(_)) => {}
                    Some(error) => running.end(error, 0),
                    None => running.end(&Ok(()), 0),
                }
                listed.map(|listed| (listed, (inner, running)))
            })
        };
        stream::once(listing).flatten().boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        let mut running = self.start(Operation::Health);
        let outcome = self.inner.health().await;
        running.end(&outcome, 0);
        outcome
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
