use crate::{Store, StoreError, store::Inner};
use ripstop_model::{PoolId, StripeId};
use std::{
    collections::BTreeMap,
    sync::{
        OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// The catalog numbers names of pools among those of nodes, with this before them.
pub const POOL_NAME_PREFIX: &str = "pool:";

/// Pools that the catalog knows and the configuration does not.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    names: OnceLock<BTreeMap<PoolId, String>>,
    asked: AtomicU64,
}

impl Strangers {
    /// What is said of a stripe in such a pool.
    pub(crate) fn error(&self, stripe: StripeId, pool: PoolId) -> StoreError {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let name = self.names.get().and_then(|names| names.get(&pool));
        let pool = name.map_or_else(|| format!("number {}", pool.0), |name| format!("{name:?}"));
        StoreError::NoSuchPool { stripe, pool }
    }
}

impl Store {
    /// How often a stripe was asked for whose pool is not configured.
    pub fn strange_stripes(&self) -> u64 {
        self.inner.strangers.asked.load(Ordering::Relaxed)
    }
}

/// Learns what pools are called that are not configured, and tells of them.
pub(crate) fn spawn(store: &Store) {
    let store = std::sync::Arc::downgrade(&store.inner);
    ripstop_host::spawn(learn(store));
}

async fn learn(store: Weak<Inner>) {
    let Some(inner) = store.upgrade() else { return };
    let names = match inner.catalog.nodes().await {
        Ok(names) => names,
        Err(error) => {
            tracing::warn!(%error, "names of pools not read");
            return;
        }
    };
    let pool = |(name, id): (String, ripstop_model::NodeId)| {
        Some((PoolId(id.0), name.strip_prefix(POOL_NAME_PREFIX)?.to_owned()))
    };
    let is_strange = |(id, _): &(PoolId, String)| inner.pools.iter().all(|pool| pool.id() != *id);
    let strange: BTreeMap<_, _> = names.into_iter().filter_map(pool).filter(is_strange).collect();
    for name in strange.values() {
        tracing::warn!(
            pool = name,
            "a pool is not configured any more: what is in it cannot be read"
        );
    }
    // Nobody else sets it.
    let _ = inner.strangers.names.set(strange);
}
