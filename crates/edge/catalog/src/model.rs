//! The catalog as maps in memory, with whole scans instead of seeks: too slow to be of use. What
//! every implementation is compared with.

mod answer;
mod audit;
mod page;
#[cfg(test)]
mod prefetch;
mod rows;
mod versions;

use crate::{
    Account, Bucket, Catalog, CatalogError, Change, Garbage, GatewayId, GatewayRecord, Held, Lease,
    Leftover, Object, Outcome, Query, Reply, Session, Tombstone, Upload, UploadedPart, Watermark,
};
use async_trait::async_trait;
use ripstop_model::{NodeId, StripeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reference model.
#[derive(Debug, Default)]
pub struct Model {
    state: Mutex<State>,
}

/// Everything that the model holds; [`Model::state`] lends it to those who make up changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// By name.
    pub buckets: BTreeMap<String, Bucket>,
    /// By bucket and key.
    pub objects: BTreeMap<(String, String), Object>,
    /// By bucket and key; of buckets, by an empty key.
    pub tombstones: BTreeMap<(String, String), Tombstone>,
    /// Which stripes tell of a bucket and key what is no longer so.
    pub outlived: BTreeSet<(StripeId, String, String)>,
    /// By id.
    pub uploads: BTreeMap<String, Upload>,
    /// By upload and number.
    pub parts: BTreeMap<(String, u16), UploadedPart>,
    /// In force.
    pub stripes: BTreeMap<StripeId, Held>,
    /// Held by nothing.
    pub garbage: BTreeMap<StripeId, Garbage>,
    /// Since when.
    pub leftovers: BTreeMap<Leftover, u64>,
    /// What buckets hold.
    pub accounts: BTreeMap<String, Account>,
    /// Before when all names are known.
    pub vouched_before: u64,
    /// Until when sessions may name stripes.
    pub sessions: BTreeMap<Session, u64>,
    /// What sessions may still be writing.
    pub watermarks: BTreeMap<Session, Watermark>,
    /// By name.
    pub leases: BTreeMap<String, Lease>,
    /// What they told of themselves.
    pub gateways: BTreeMap<GatewayId, GatewayRecord>,
    /// By name.
    pub nodes: BTreeMap<String, NodeId>,
}

impl Model {
    /// One that holds this.
    pub fn of(state: State) -> Self {
        Self { state: Mutex::new(state) }
    }

    /// What it holds.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Catalog::commit`], at once.
    pub fn apply_all(&self, now_ms: u64, changes: &[Change]) -> Result<Vec<Outcome>, CatalogError> {
        self.state().commit(now_ms, changes)
    }

    /// [`Catalog::commit_one`], at once.
    ///
    /// # Panics
    ///
    /// If what it holds contradicts itself.
    pub fn apply(&self, now_ms: u64, change: &Change) -> Outcome {
        let outcomes = self.apply_all(now_ms, std::slice::from_ref(change));
        outcomes.expect("what it holds agrees").pop().expect("each change has an outcome")
    }
}

#[async_trait]
impl Catalog for Model {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        self.apply_all(now_ms, &changes)
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        Ok(self.state().answer(query)?)
    }
}
