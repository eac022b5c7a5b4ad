//! Small writes and deletions wait for company: which leave together, and when, is for
//! [`ripstop_batching`] to say. What is here carries that out.
//!
//! Each tenant has a line of its own in each pool, so that a batch is one request of that tenant's
//! to the pool, with its place in the queue and its memory.

mod counts;
mod line;
mod settings;

pub use counts::PackCounts;
pub use settings::PackSettings;

pub(crate) use line::Lines;

use crate::{Body, BodyLen, Deed, Done, Member, Store, StoreError, Target, WriteError};
use bytes::{Bytes, BytesMut};
use line::{Departing, Line};
use ripstop_batching::{BatchEnd, BatchEvent, BatchId};
use ripstop_catalog::{Attributes, CatalogError, Object, Versioning};
use ripstop_model::{PoolId, Timestamp};
use ripstop_runtime::Share;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{runtime::Handle, sync::oneshot};

impl Store {
    /// What is counted of a pool's small writes; none if it does not gather them.
    pub fn pack_counts(&self, pool: PoolId) -> Option<&PackCounts> {
        self.inner.lines.counts_of(pool).map(|counts| &**counts)
    }

    /// How long a batch of a pool waits for company now: of all tenants' the longest.
    pub fn pack_interval(&self, pool: PoolId) -> Duration {
        self.inner.lines.interval_of(pool)
    }

    /// Whether an object of this class and length waits for company in its pool.
    pub(crate) fn is_gathered(&self, bucket: &str, class: &str, len: u64) -> bool {
        let packs = self.inner.settings.packs_of(self.pool_of(bucket, class).id());
        packs.is_some_and(|packs| len < u64::from(packs.below))
    }

    /// Stores an object that is written together with others.
    pub(crate) async fn put_gathered<B: Body<Seal = Attributes>>(
        &self,
        (target, versioning): (Target, Versioning),
        len: BodyLen,
        mut body: B,
    ) -> Result<Object, WriteError<B::Error>> {
        let (bytes, share) = self.receive(&mut body, len).await?;
        let attributes = body.seal().map_err(WriteError::Body)?;
        let member = Member { target, deed: Deed::Put { bytes, attributes, versioning } };
        match self.gather(member, Some(share)).await? {
            Done::Put(object) => Ok(object),
            Done::Deleted(_) => unreachable!("a put is answered with an object"),
        }
    }

    /// A short body, all of it, in memory that counts until it is answered.
    async fn receive<B: Body>(
        &self,
        body: &mut B,
        announced: BodyLen,
    ) -> Result<(Bytes, Share), WriteError<B::Error>> {
        let len = announced.max() as usize;
        let first = body.next().await.transpose().map_err(WriteError::Body)?.unwrap_or_default();
        // Memory of its own kind: packs never wait for what their members hold.
        let share = self.wait_for(self.memory().acquire_arriving(len.max(1))).await?;
        // A piece may be a small part of what a connection received at once.
        let mut bytes = BytesMut::with_capacity(len);
        bytes.extend_from_slice(&first);
        drop(first);
        while let Some(next) = body.next().await.transpose().map_err(WriteError::Body)? {
            bytes.extend_from_slice(&next);
            if bytes.len() > len {
                break;
            }
        }
        let got = bytes.len() as u64;
        if announced.admits(got) {
            Ok((bytes.freeze(), share))
        } else {
            Err(StoreError::Length { got, announced: announced.max() }.into())
        }
    }

    /// Has a member written in the next batch of its line, and waits for its answer. With others it
    /// is written even if the caller leaves.
    pub(crate) async fn gather(
        &self,
        member: Member,
        share: Option<Share>,
    ) -> Result<Done, StoreError> {
        let pool = self.pool_of(&member.target.bucket, member.deed.storage_class()).id();
        if member.weight() > settings::batch_bytes_max(self.inner.settings.stripe_max) {
            if let Some(counts) = self.pack_counts(pool) {
                counts.alone.fetch_add(1, Relaxed);
            }
            return Box::pin(self.write_lone(member)).await;
        }
        let line = self.inner.lines.of((pool, self.tenant), &self.inner.settings);
        let (answer, answered) = oneshot::channel();
        let (ticket, mut departing) = line.enter(line.now(), member, share, answer);
        // A lone one needs no task of its own: what its caller abandons fails alone.
        let own = departing.pop_if(|departing| departing.tickets == [ticket]);
        self.begin(&line, departing);
        if let Some(own) = own {
            self.write_departing(&line, own).await;
        }
        let ended = |_| StoreError::Catalog(CatalogError::Unavailable("it was given up".into()));
        answered.await.map_err(ended)?
    }

    /// Tells a line what happened, and does what it says.
    fn carry_out(
        &self,
        line: &Arc<Line>,
        happened: impl FnOnce(&Line, Timestamp) -> Vec<Departing>,
    ) {
        let departing = happened(line, line.now());
        self.begin(line, departing);
    }

    /// Has batches written that depart, and the line woken when its time comes.
    fn begin(&self, line: &Arc<Line>, departing: Vec<Departing>) {
        for departing in departing {
            let (store, line) = (self.clone(), line.clone());
            ripstop_host::spawn(async move { store.write_departing(&line, departing).await });
        }
        if line.needs_timer() {
            let (store, line) = (self.clone(), line.clone());
            ripstop_host::spawn(async move { store.wake(&line).await });
        }
    }

    /// Wakes a line for as long as it waits for a time.
    async fn wake(&self, line: &Arc<Line>) {
        while let Some(at) = line.due() {
            tokio::time::sleep_until(at.into()).await;
            self.carry_out(line, |line, now| line.happened(now, BatchEvent::TimerFired));
        }
    }

    async fn write_departing(&self, line: &Arc<Line>, departing: Departing) {
        let Departing { id, batch, tickets, go } = departing;
        // Those that wait are told even if this breaks off.
        let mut ending = Ending { store: self, line, id, is_over: false };
        let prepared = self.prepare(line.pool(), batch).await;
        self.carry_out(line, |line, now| line.happened(now, BatchEvent::BatchStored(id)));
        // It is told to go when all before it have ended.
        if go.await.is_err() {
            return;
        }
        let results = self.finish(prepared).await;
        ending.is_over = true;
        self.carry_out(line, |line, now| line.ended(now, id, tickets, results));
    }
}

/// Ends a batch whose task broke off.
struct Ending<'a> {
    store: &'a Store,
    line: &'a Arc<Line>,
    id: BatchId,
    is_over: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // With its runtime gone nobody waits any more.
        if self.is_over || Handle::try_current().is_err() {
            return;
        }
        let failed = BatchEvent::BatchEnded(self.id, BatchEnd::Failed);
        self.store.carry_out(self.line, |line, now| line.happened(now, failed));
    }
}
