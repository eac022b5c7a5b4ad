use crate::{Capabilities, Leftovers, Listed, Node, NodeError, Operation, alarm};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use ripstop_delay::{DelayModel, Dice};
use ripstop_model::FragmentId;
use std::{
    fmt,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::time::sleep_until;

/// Longer delays than the clock can count are cut to this.
const DELAY_MAX: Duration = Duration::from_hours(24);

/// Makes a node as slow as a model says.
///
/// An operation ends when the model's delay has passed since its start, or when the node is done if
/// that is later. A get that fails counts as one of no bytes; a listing is delayed before its first
/// fragment only. Equal seeds
/// give equal delays to equal sequences of operations. The runtime's timer has a resolution of a
/// millisecond and rounds up; [`Delay::precise`] has a better one.
pub struct Delay {
    inner: Arc<dyn Node>,
    source: Mutex<Source>,
    factor: DelayFactor,
    precise: bool,
}

/// What the delays of a [`Delay`] are multiplied by. It can be changed while operations run: each
/// goes by what is set when the node is done with it. Clones are the same factor.
#[derive(Clone, Debug)]
pub struct DelayFactor(Arc<AtomicU64>);

impl DelayFactor {
    fn new(factor: f64) -> Self {
        Self(Arc::new(AtomicU64::new(factor.to_bits())))
    }

    /// The factor.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    /// Another one from now on.
    pub fn set(&self, factor: f64) {
        self.0.store(factor.to_bits(), Relaxed);
    }
}

struct Source {
    model: Box<dyn DelayModel>,
    dice: Dice,
}

impl Delay {
    /// Delays `inner` by what `model` draws with the dice of `seed`, times `factor`.
    pub fn new(inner: Arc<dyn Node>, model: Box<dyn DelayModel>, seed: u64, factor: f64) -> Self {
        let source = Mutex::new(Source { model, dice: Dice::new(seed) });
        Self { inner, source, factor: DelayFactor::new(factor), precise: false }
    }

    /// What delays are multiplied by: to change it while the node is in use.
    pub fn factor(&self) -> DelayFactor {
        self.factor.clone()
    }

    /// The same, each delay right to a tenth of a millisecond or so, with a thread that is the
    /// program's alarm clock. It follows the machine's clock, never a test's.
    #[must_use]
    pub fn precise(self) -> Self {
        Self { precise: true, ..self }
    }

    fn start(&self) -> Start {
        let seed = self.source.lock().unwrap_or_else(PoisonError::into_inner).dice.next_u64();
        Start { at: ripstop_host::now(), dice: Dice::new(seed) }
    }

    /// Waits until an operation that moved `bytes` bytes may end.
    async fn finish(&self, start: Start, operation: Operation, bytes: u64) {
        let end = start.at + self.delay(start.dice, operation, bytes);
        if self.precise {
            alarm::sleep_until(end).await;
        } else {
            sleep_until(end.into()).await;
        }
    }

    fn delay(&self, mut dice: Dice, operation: Operation, bytes: u64) -> Duration {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let delay =
            source.model.sample(operation, bytes, &mut dice).as_secs_f64() * self.factor.get();
        Duration::try_from_secs_f64(delay).unwrap_or(DELAY_MAX).min(DELAY_MAX)
    }
}

/// A start, and the dice that were thrown at it: overlapping operations keep their luck, whichever
/// ends first.
struct Start {
    at: Instant,
    dice: Dice,
}

impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delay")
            .field("inner", &self.inner)
            .field("factor", &self.factor)
            .finish_non_exhaustive()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Node for Delay {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let start = self.start();
        let bytes = fragment.iter().map(|segment| segment.len() as u64).sum();
        let outcome = self.inner.put(name, fragment).await;
        self.finish(start, Operation::Put, bytes).await;
        outcome
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let start = self.start();
        let outcome = self.inner.get(name, range).await;
        let bytes = outcome.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.finish(start, Operation::Get, bytes).await;
        outcome
    }

    async fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
    ) -> Result<Vec<Bytes>, NodeError> {
        let begun = self.start();
        let outcome = self.inner.get_pieces(name, start, lens).await;
        let bytes = lens.iter().copied().map(u64::from).sum();
        self.finish(begun, Operation::Get, if outcome.is_ok() { bytes } else { 0 }).await;
        outcome
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let start = self.start();
        let outcome = self.inner.delete(name).await;
        self.finish(start, Operation::Delete, 0).await;
        outcome
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let listing = async {
            self.finish(self.start(), Operation::List, 0).await;
            self.inner.list()
        };
        stream::once(listing).flatten().boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        let start = self.start();
        let outcome = self.inner.health().await;
        self.finish(start, Operation::Health, 0).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryNode;
    use futures::TryStreamExt;
    use ripstop_delay::{Recorded, Replay};
    use ripstop_model::StripeId;

    const NAME: FragmentId = FragmentId { stripe: StripeId(1), index: 0 };

    fn recorded(csv: &str) -> Box<dyn DelayModel> {
        let csv = format!("operation,bytes,delay_ms\n{csv}");
        Box::new(Recorded::parse(&csv, Replay::InOrder).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn every_operation_takes_its_delay_times_the_factor() {
        let model =
            recorded("get,0,10\nget,100,20\nput,100,30\ndelete,0,40\nlist,0,50\nhealth,0,60");
        let node = Delay::new(Arc::new(MemoryNode::new(1000)), model, 0, 2.0);
        let mut start = ripstop_host::now();
        let mut took = || {
            let took = ripstop_host::since(start).as_millis();
            start = ripstop_host::now();
            took
        };
        node.put(NAME, vec![Bytes::from(vec![0; 99])]).await.unwrap();
        assert_eq!(took(), 60);
        node.get(NAME, 0..99).await.unwrap();
        assert_eq!(took(), 40);
        node.get(NAME, 98..99).await.unwrap();
        assert_eq!(took(), 20);
        let listed: Vec<_> = node.list().try_collect().await.unwrap();
        assert_eq!((listed.len(), took()), (1, 100));
        node.health().await.unwrap();
        assert_eq!(took(), 120);
        node.delete(NAME).await.unwrap();
        assert_eq!(took(), 80);
        assert!(matches!(node.get(NAME, 0..1).await, Err(NodeError::Missing)));
        assert_eq!(took(), 20);
        node.factor().set(0.5);
        node.health().await.unwrap();
        assert_eq!(took(), 30);
    }

    #[tokio::test]
    async fn precise_delays_are_never_short_and_seldom_a_millisecond_long() {
        let inner = Arc::new(MemoryNode::new(1000));
        let node = Delay::new(inner, recorded("health,0,5.25"), 0, 1.0).precise();
        let mut good = 0;
        for _ in 0..20 {
            let start = ripstop_host::now();
            node.health().await.unwrap();
            let took = ripstop_host::since(start);
            assert!(took >= Duration::from_micros(5250), "{took:?}");
            good += usize::from(took < Duration::from_micros(5900));
        }
        assert!(good > 0, "the runtime's own timer takes 6 ms at least");
    }

    #[tokio::test(start_paused = true)]
    async fn the_nodes_own_time_counts() {
        let slow = Delay::new(Arc::new(MemoryNode::new(1000)), recorded("get,0,70"), 0, 1.0);
        let node = Delay::new(Arc::new(slow), recorded("get,0,100\nget,0,20"), 0, 1.0);
        for expected in [100, 70] {
            let start = ripstop_host::now();
            node.health().await.unwrap();
            assert_eq!(ripstop_host::since(start).as_millis(), expected);
        }
    }
}
