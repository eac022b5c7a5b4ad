use crate::{
    StoreError, StoreSettings, clock::UploadNames, copying_turns::CopyingTurns,
    deletions::Deletions, lineage::Lineage, packing::Lines, quota::InForce,
    retention_clock::RetentionClock, stranger::Strangers, strays::Strays,
};
use ripstop_catalog::{Catalog, CatalogError, Condition, Stamp, Stripe, bucket_of};
use ripstop_model::{FragmentId, PoolId, StripeId, TenantId};
use ripstop_runtime::{Cut, Memory, Pin, Pins, Pool, Sealing, StripePlace, TenantMemory};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64},
};

/// Objects over coded stripes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    /// On whose behalf this handle asks.
    pub(crate) tenant: TenantId,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub catalog: Arc<dyn Catalog>,
    /// The first is where buckets go that no other pool asks for.
    pub pools: Vec<Pool>,
    /// Buckets that go to another pool than the first.
    pub bucket_pools: BTreeMap<String, PoolId>,
    pub quotas: InForce,
    /// How often buckets were changed.
    pub bucket_changes: AtomicU64,
    pub memory: Memory,
    pub pins: Pins,
    /// Shared with the tasks that reserve names beside the requests.
    pub lineage: Arc<Lineage>,
    pub deletions: Deletions,
    /// What waits to be written together.
    pub lines: Lines,
    pub strays: Strays,
    pub retention_clock: RetentionClock,
    /// Shared with the task that learns what they are called.
    pub strangers: Arc<Strangers>,
    pub upload_names: UploadNames,
    pub copying_turns: CopyingTurns,
    pub settings: StoreSettings,
}

impl Store {
    /// A store over these pools, of which there is at least one.
    pub fn new(
        catalog: Arc<dyn Catalog>,
        pools: Vec<Pool>,
        bucket_pools: BTreeMap<String, PoolId>,
        memory: Memory,
        pins: Pins,
        settings: StoreSettings,
    ) -> Self {
        assert!(!pools.is_empty(), "a store has at least one pool");
        let lineage = Lineage::new(catalog.clone(), pins.clone(), settings.is_shared);
        let strangers = Arc::<Strangers>::default();
        let known = pools.iter().map(Pool::id).collect();
        ripstop_host::spawn(strangers.clone().learn(catalog.clone(), known));
        let inner = Inner {
            catalog,
            pools,
            bucket_pools,
            quotas: InForce::default(),
            bucket_changes: AtomicU64::new(0),
            memory,
            pins,
            lineage: Arc::new(lineage),
            deletions: Deletions::default(),
            lines: Lines::new(&settings),
            strays: Strays::default(),
            retention_clock: RetentionClock::start(),
            strangers,
            upload_names: UploadNames::default(),
            copying_turns: CopyingTurns::default(),
            settings,
        };
        Self { inner: Arc::new(inner), tenant: TenantId::ANYBODY }
    }

    /// The same store, asked on behalf of a tenant.
    #[must_use]
    pub fn on_behalf_of(&self, tenant: TenantId) -> Self {
        Self { inner: self.inner.clone(), tenant }
    }

    /// A fragment that was written under a newer catalog than this, if a listing of the nodes has
    /// shown one: then the catalog is an old file that was put back.
    pub fn newer(&self) -> Option<FragmentId> {
        self.inner.lineage.newer()
    }

    /// How often a stripe was asked for whose pool is not configured.
    pub fn strange_stripes(&self) -> u64 {
        self.inner.strangers.asked()
    }

    /// The time by which it is judged whether a retention is over, milliseconds since 1970: never
    /// later than the wall clock's, nor than the steady clock allows since the store was opened.
    pub fn retention_now_ms(&self) -> u64 {
        self.inner.retention_clock.now_ms()
    }

    /// A new name, known to the catalog before it is used; pinned until its draft is.
    pub(crate) async fn name(&self) -> Result<(StripeId, Pin), StoreError> {
        self.inner.lineage.name().await
    }

    /// The stamp of what a stripe is the first to tell: later than all that this gateway, or one
    /// before it on this catalog, gave to anything.
    pub(crate) async fn stamp(
        &self,
        stripe: StripeId,
        condition: &Condition,
    ) -> Result<Stamp, StoreError> {
        self.inner.lineage.stamp(stripe, condition).await
    }

    /// The pool that a bucket's objects of the standard class are written to, and its versions.
    pub(crate) fn pool_for(&self, bucket: &str) -> &Pool {
        let wanted = self.inner.bucket_pools.get(bucket_of(bucket));
        wanted.and_then(|&id| self.pool(id)).unwrap_or(&self.inner.pools[0])
    }

    /// The pool that objects of a class of storage are written to in a bucket; of one that is not
    /// configured, the bucket's own.
    pub(crate) fn pool_of(&self, bucket: &str, class: &str) -> &Pool {
        let known = self.inner.settings.classes.iter().find(|(name, _)| name == class);
        known.and_then(|&(_, id)| self.pool(id)).unwrap_or_else(|| self.pool_for(bucket))
    }

    /// The classes of storage that there are beside the standard one, in the order in which objects
    /// may be moved on.
    pub fn storage_classes(&self) -> impl Iterator<Item = &str> {
        self.inner.settings.classes.iter().map(|(name, _)| &**name)
    }

    /// A pool by number.
    pub(crate) fn pool(&self, id: PoolId) -> Option<&Pool> {
        self.inner.pools.iter().find(|pool| pool.id() == id)
    }

    /// A stripe's pool, and where it is.
    pub(crate) fn locate(
        &self,
        id: StripeId,
        stripe: &Stripe,
    ) -> Result<(&Pool, StripePlace), StoreError> {
        let corrupt = || CatalogError::Corrupt { reason: format!("stripe {id} has no shape") };
        let shape = stripe.shape().ok_or_else(corrupt)?;
        let fragments = stripe.nodes.len();
        let cut = Cut::new(shape.code(), stripe.run, fragments).ok_or_else(corrupt)?;
        let nodes = (0..fragments).map(|index| stripe.node(index)).collect();
        let pool = self.pool(stripe.pool());
        let pool = pool.ok_or_else(|| self.inner.strangers.error(id, stripe.pool()))?;
        let sealing = Sealing::from_number(stripe.sealing).ok_or_else(corrupt)?;
        let header_len = stripe.header_len;
        Ok((pool, StripePlace { id, shape, cut, header_len, sealing, nodes }))
    }

    /// What this handle's tenant has of the memory.
    pub(crate) fn memory(&self) -> TenantMemory {
        self.inner.memory.of(self.tenant)
    }
}
