//! Nodes that lie, stall and lose power.

use crate::{
    held::{Fragment, Held},
    life::Life,
    manner::Manner,
    world::World,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use ripstop_model::FragmentId;
use ripstop_node::{Capabilities, Listed, Node, NodeError};
use std::{
    ops::Range,
    sync::{Arc, MutexGuard},
    time::Duration,
};
use tokio::time::sleep;

/// How much longer than its average an operation takes, at most.
const LATE_MAX: f64 = 8.0;
/// How long a stalled operation lasts: longer than any that waits for it.
const STALL: Duration = Duration::from_secs(20);

/// A node as one gateway sees it.
#[derive(Clone, Debug)]
pub(crate) struct DrillNode {
    pub(crate) number: usize,
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<Life>,
}

/// What is drawn for an operation before it begins: always the same number of throws.
#[expect(clippy::struct_excessive_bools, reason = "each is a throw of its own")]
struct Luck {
    before: Duration,
    after: Duration,
    fails: bool,
    loses_answer: bool,
    /// Whether it goes on when its caller has gone.
    is_detached: bool,
    /// Whether, should the gateway die of it, it had its effect.
    is_done: bool,
    bits: u64,
}

/// What an operation does to what is held.
type Effect<T> = Box<dyn FnOnce(&mut Held, &Luck) -> Result<T, NodeError> + Send>;

impl DrillNode {
    fn manner(&self) -> Manner {
        self.world.manner(self.number)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.world.held(self.number)
    }

    fn draw(&self) -> Luck {
        let manner = self.manner();
        let dice = &mut self.held().dice;
        let mut within = |often: u32| dice.below(1000) < u64::from(often);
        let (fails, loses_answer) = (within(manner.errors), within(manner.lost_answers));
        let stalls = within(manner.stalls);
        let slow = f64::from(manner.slow.max(1));
        let mean = self.world.node_mean;
        let mut part = || mean.mul_f64(0.5 * slow * dice.exponential().min(LATE_MAX));
        let (mut before, after) = (part(), part());
        if stalls {
            before += STALL;
        }
        let is_detached = dice.below(2) == 0;
        let is_done = dice.below(2) == 0;
        Luck { before, after, fails, loses_answer, is_detached, is_done, bits: dice.next_u64() }
    }

    /// Has an operation: its wait, its effect, its answer, each of which may fail.
    async fn operate<T: Send + 'static>(
        &self,
        what: String,
        effect: Effect<T>,
    ) -> Result<T, NodeError> {
        self.life.go_on().await;
        let luck = self.draw();
        let number = self.number;
        self.world.trace.note(format_args!("node {number} {what}"));
        if self.life.is_last() {
            if luck.is_done {
                let _ = effect(&mut self.held(), &luck);
            }
            self.life.end();
            return std::future::pending().await;
        }
        if self.world.is_down(number) {
            return Err(NodeError::Unavailable { reason: "it is away".into() });
        }
        let is_detached = luck.is_detached;
        let whole = self.clone().whole(what, luck, effect);
        if is_detached {
            // As at a disk: what is under way there goes on.
            let done = ripstop_host::spawn(whole).await;
            return done.map_err(|_| NodeError::Unavailable { reason: "it ended".into() })?;
        }
        whole.await
    }

    async fn whole<T>(self, what: String, luck: Luck, effect: Effect<T>) -> Result<T, NodeError> {
        let unavailable = |reason: &str| NodeError::Unavailable { reason: reason.into() };
        sleep(luck.before).await;
        self.life.go_on().await;
        let number = self.number;
        if luck.fails {
            return Err(unavailable("as drawn"));
        }
        let done = effect(&mut self.held(), &luck);
        let said = match &done {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        self.world.trace.note(format_args!("node {number} {what}: {said}"));
        sleep(luck.after).await;
        self.life.go_on().await;
        if luck.loses_answer || self.world.is_down(number) {
            return Err(unavailable("the answer is lost"));
        }
        done
    }
}

fn flipped(bytes: &Bytes, bits: u64) -> Bytes {
    let mut bytes = bytes.to_vec();
    if !bytes.is_empty() {
        let at = (bits >> 3) as usize % bytes.len();
        bytes[at] ^= 1 << (bits & 7);
    }
    bytes.into()
}

fn per_mille(bits: u64, often: u32) -> bool {
    bits % 1000 < u64::from(often)
}

#[async_trait]
impl Node for DrillNode {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let bytes = Bytes::from(fragment.concat());
        drop(fragment);
        let (manner, modified) = (self.manner(), ripstop_host::wall());
        let what = format!("put {name} {}", bytes.len());
        let effect = move |held: &mut Held, luck: &Luck| {
            if manner.is_full {
                return Err(NodeError::Refused { reason: "it is full".into() });
            }
            let bits = luck.bits;
            if per_mille(bits, manner.lies) {
                return Ok(());
            }
            let (bytes, is_spoiled) = if per_mille(bits >> 10, manner.rot) {
                (flipped(&bytes, bits >> 20), true)
            } else if per_mille(bits >> 20, manner.truncation) {
                (bytes.slice(..bytes.len() / 2), true)
            } else {
                (bytes, false)
            };
            held.put(name, Fragment { bytes, modified, is_spoiled });
            Ok(())
        };
        self.operate(what, Box::new(effect)).await
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let manner = self.manner();
        let what = format!("get {name} {}..{}", range.start, range.end);
        let effect = move |held: &mut Held, luck: &Luck| {
            let bits = luck.bits;
            let mut found = held.fragments.get(&name).ok_or(NodeError::Missing)?;
            if per_mille(bits, manner.swaps) {
                let at = (bits >> 10) as usize % held.fragments.len();
                found = held.fragments.values().nth(at).unwrap_or(found);
            }
            let (len, end) = (found.bytes.len() as u64, range.end.max(range.start));
            if end > len {
                return Err(NodeError::Short { len, asked: end });
            }
            let bytes = found.bytes.slice(range.start as usize..end as usize);
            let is_flipped = per_mille(bits >> 10, manner.flips);
            Ok(if is_flipped { flipped(&bytes, bits >> 20) } else { bytes })
        };
        self.operate(what, Box::new(effect)).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let effect = move |held: &mut Held, _: &Luck| {
            held.delete(name);
            Ok(())
        };
        self.operate(format!("delete {name}"), Box::new(effect)).await
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let is_late = self.manner().is_late;
        let listing = async move {
            let effect = move |held: &mut Held, _: &Luck| Ok(held.listed(is_late));
            match self.operate("list".into(), Box::new(effect)).await {
                Ok(listed) => listed.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        };
        stream::once(listing).flat_map(stream::iter).boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        self.operate("health".into(), Box::new(|_, _| Ok(()))).await
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { part_min: None }
    }
}
