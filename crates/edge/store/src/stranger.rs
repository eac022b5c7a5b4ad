use crate::StoreError;
use ripstop_catalog::Catalog;
use ripstop_model::{NodeId, PoolId, StripeId};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
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

    /// How often a stripe was asked for that is in such a pool.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Learns once what pools are called that are not among those configured, and tells of them.
    pub(crate) async fn learn(self: Arc<Self>, catalog: Arc<dyn Catalog>, configured: Vec<PoolId>) {
        let names = match catalog.nodes().await {
            Ok(names) => names,
            Err(error) => {
                tracing::warn!(%error, "the names of pools could not be read");
                return;
            }
        };
        let pool = |(name, id): (String, NodeId)| {
            Some((PoolId(id.0), name.strip_prefix(POOL_NAME_PREFIX)?.to_owned()))
        };
        let is_strange = |(id, _): &(PoolId, String)| !configured.contains(id);
        let strange: BTreeMap<_, _> =
            names.into_iter().filter_map(pool).filter(is_strange).collect();
        for name in strange.values() {
            tracing::warn!(
                pool = name,
                "a pool is not configured any more: what is in it cannot be read"
            );
        }
        // Nobody else sets it.
        let _ = self.names.set(strange);
    }
}
