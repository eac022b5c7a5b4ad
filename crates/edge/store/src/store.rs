use crate::{
    StoreError,
    clock::unix_ms,
    deletions::{Deletions, RETRY_AFTER, STAMPS_MAX},
    duty::{self, Duties},
    expiry,
    lineage::Lineage,
    mend::{self, Mends},
    mover::Movers,
    quota,
    record::Telling,
    stranger::{self, Strangers},
    sweep,
};
use ripstop_catalog::{
    Applied, Attributes, Bucket, Catalog, CatalogError, Change, Condition, Listing, ListingRequest,
    Located, Object, Refusal, Stripe,
};
use ripstop_model::{Code, NodeId, PoolId, StripeId, StripeShape, TenantId};
use ripstop_node::Node;
use ripstop_placement::moving::{HOME_AFTER, MOVE_RATE_MAX};
use ripstop_runtime::{
    Aftermath, Cut, Memory, Pins, Pool, Sealing, StripePlace, TenantMemory, Written,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinError};

/// What an operator may set.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Most bytes of payload in a stripe. Default 8 MiB.
    pub stripe_max: u32,
    /// Stripes of one write that are being stored at once. Default 3.
    pub stripes_in_flight: usize,
    /// Stripes of one read that are fetched ahead, the one being sent included. Default 2.
    pub stripes_ahead: usize,
    /// How long a request waits for memory before it is told to slow down. Default 10 s.
    pub memory_wait: Duration,
    /// How long garbage, and fragments that nothing claims, are kept. Default 15 minutes. Reads
    /// that take longer than this on an object that was removed meanwhile break off.
    pub grace: Duration,
    /// How often garbage is swept. Default 1 minute.
    pub sweep_every: Duration,
    /// How often nodes are listed for fragments that nothing claims; the first time one grace after
    /// the start. Default 6 hours.
    pub list_every: Duration,
    /// How old an upload in parts may become before it is aborted; 0: any age. Default 7 days.
    pub uploads_expire_after: Duration,
    /// Most bytes that are moved each second to bring stripes to where their pool's plan wants
    /// them; 0: none are moved. Default 8 MiB.
    pub move_rate_max: u64,
    /// How long the nodes of a plan must have been as they are, and the last walk through its
    /// pool's stripes over, before stripes that others stood in for are brought home. Default 1
    /// minute.
    pub home_after: Duration,
    /// Whether other gateways may have the catalog open too: then one of them sweeps, mends and
    /// moves, and all spare what others may be writing. Default no.
    pub is_shared: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stripe_max: 8 << 20,
            stripes_in_flight: 3,
            stripes_ahead: 2,
            memory_wait: Duration::from_secs(10),
            grace: Duration::from_mins(15),
            sweep_every: Duration::from_mins(1),
            list_every: Duration::from_hours(6),
            uploads_expire_after: Duration::from_hours(7 * 24),
            move_rate_max: MOVE_RATE_MAX,
            home_after: HOME_AFTER,
            is_shared: false,
        }
    }
}

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
    pub quotas: quota::InForce,
    pub memory: Memory,
    pub pins: Pins,
    pub lineage: Lineage,
    pub duties: Duties,
    pub deletions: Deletions,
    pub mends: Mends,
    pub movers: Movers,
    pub strangers: Strangers,
    pub settings: Settings,
}

/// Where a write goes, and what must hold for it to take effect.
#[derive(Clone, Debug)]
pub struct Target {
    /// The bucket's name.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// Checked before the first byte is read, and again in the transaction that makes it visible.
    pub condition: Condition,
}

impl Store {
    /// A store over these pools, of which there is at least one. Sweeps run until the last clone of
    /// the store is dropped.
    pub fn new(
        catalog: Arc<dyn Catalog>,
        pools: Vec<Pool>,
        bucket_pools: BTreeMap<String, PoolId>,
        memory: Memory,
        pins: Pins,
        aftermath: mpsc::Receiver<Aftermath>,
        settings: Settings,
    ) -> Self {
        assert!(!pools.is_empty(), "a store has at least one pool");
        let inner = Inner {
            catalog,
            pools,
            bucket_pools,
            quotas: quota::InForce::default(),
            memory,
            pins,
            lineage: Lineage::default(),
            duties: Duties::default(),
            deletions: Deletions::default(),
            mends: Mends::default(),
            movers: Movers::default(),
            strangers: Strangers::default(),
            settings,
        };
        let store = Self { inner: Arc::new(inner), tenant: TenantId::ANYBODY };
        sweep::spawn(&store, aftermath);
        mend::spawn(&store);
        expiry::spawn(&store);
        if store.inner.settings.is_shared {
            duty::spawn(&store);
        }
        stranger::spawn(&store);
        store
    }

    /// The same store, asked on behalf of a tenant.
    #[must_use]
    pub fn on_behalf_of(&self, tenant: TenantId) -> Self {
        Self { inner: self.inner.clone(), tenant }
    }

    /// Makes a bucket.
    pub async fn create_bucket(&self, name: &str) -> Result<(), StoreError> {
        if self.inner.catalog.bucket(name).await?.is_some() {
            return Err(Refusal::BucketExists.into());
        }
        let created_ms = unix_ms();
        for _ in 0..STAMPS_MAX {
            let (told_by, _pin) = self.name().await?;
            let stamp = Some(self.stamp(told_by).await?);
            let name = name.to_owned();
            let bucket = Bucket { name, created_ms, told_by, stamp, ..Bucket::default() };
            let told = Telling::Bucket(bucket.clone());
            let written = self.tell(self.pool_for(&bucket.name), told_by, told).await?;
            let change = |stripes| Change::CreateBucket { bucket, stripes };
            match self.commit(vec![written], change).await {
                Ok(_) => return Ok(()),
                Err(why) => _ = self.behind(why)?,
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// Removes an empty bucket. As with objects, what tells of it at the nodes is left out where
    /// too few of them take it.
    pub async fn delete_bucket(&self, name: &str) -> Result<(), StoreError> {
        self.bucket(name).await?;
        let first = ListingRequest { bucket: name.to_owned(), max: 1, ..Default::default() };
        if !self.inner.catalog.list(&first).await?.objects.is_empty() {
            return Err(Refusal::BucketNotEmpty.into());
        }
        for _ in 0..STAMPS_MAX {
            let gone = [(name.to_owned(), String::new())];
            let (written, mut tombstones) = self.tell_gone(self.pool_for(name), &gone).await?;
            let (name, tombstone) = (name.to_owned(), tombstones.pop());
            let change = |stripes| Change::DeleteBucket { name, tombstone, stripes };
            match self.commit(written.into_iter().collect(), change).await {
                Ok(_) => return Ok(()),
                Err(why) => _ = self.behind(why)?,
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// A bucket by name; `NoSuchBucket` if there is none.
    pub async fn bucket(&self, name: &str) -> Result<Bucket, StoreError> {
        let found = self.inner.catalog.bucket(name).await?;
        found.ok_or_else(|| Refusal::NoSuchBucket.into())
    }

    /// Buckets by name, ascending, after `after`.
    pub async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, StoreError> {
        Ok(self.inner.catalog.buckets(after, max).await?)
    }

    /// A page of keys; `NoSuchBucket` if there is no such bucket.
    pub async fn list(&self, request: &ListingRequest) -> Result<Listing, StoreError> {
        self.bucket(&request.bucket).await?;
        Ok(self.inner.catalog.list(request).await?)
    }

    /// What a key stands for; `NoSuchBucket` or `NoSuchKey`.
    pub async fn object(&self, bucket: &str, key: &str) -> Result<Arc<Located>, StoreError> {
        if let Some(located) = self.inner.catalog.object(bucket, key).await? {
            return Ok(Arc::new(located));
        }
        self.bucket(bucket).await?;
        Err(Refusal::NoSuchKey.into())
    }

    /// Gives an object other attributes (its tags, say). `read` is what they were derived from: if
    /// somebody wrote since, `ConditionFailed`.
    pub async fn set_attributes(
        &self,
        bucket: &str,
        key: &str,
        read: &Located,
        attributes: Attributes,
    ) -> Result<Object, StoreError> {
        let condition = Condition::ToldBy(read.object.told_by);
        let target = Target { bucket: bucket.to_owned(), key: key.to_owned(), condition };
        let object = Object { attributes, ..read.object.clone() };
        self.put_told(target, object, None).await
    }

    /// Puts an object whose bytes are stored already: a stripe is made that tells of it. `ending`
    /// is the upload that ends with it.
    pub(crate) async fn put_told(
        &self,
        target: Target,
        object: Object,
        ending: Option<EndedUpload>,
    ) -> Result<Object, StoreError> {
        let mut object = object;
        let written = self.tell_object(&target, &mut object).await?;
        self.commit_object(target, object, vec![written], ending).await
    }

    /// Has a stripe of its own tell of an object, as a version that was made now.
    async fn tell_object(
        &self,
        target: &Target,
        object: &mut Object,
    ) -> Result<Written, StoreError> {
        let (told_by, _pin) = self.name().await?;
        object.told_by = told_by;
        object.stamp = Some(self.stamp(object.told_by).await?);
        let (bucket, key) = (target.bucket.clone(), target.key.clone());
        let told = Telling::Object { bucket, key, object: object.clone() };
        self.tell(self.pool_for(&target.bucket), object.told_by, told).await
    }

    /// Makes an object visible whose stripes are stored, if its bucket may hold it; answers it as
    /// it was told. Where another gateway wrote later by its clock, it is told again, later than
    /// that.
    pub(crate) async fn commit_object(
        &self,
        target: Target,
        object: Object,
        written: Vec<Written>,
        ending: Option<EndedUpload>,
    ) -> Result<Object, StoreError> {
        let quota = self.quota(&target.bucket);
        let (mut object, mut written) = (object, written);
        for _ in 0..STAMPS_MAX {
            let Target { bucket, key, condition } = target.clone();
            let (put, ending) = (object.clone(), ending.clone());
            let change = move |stripes| match ending {
                None => Change::PutObject { bucket, key, object: put, stripes, condition, quota },
                Some(EndedUpload { upload, parts }) => {
                    Change::CompleteUpload { upload, parts, object: put, stripes, condition, quota }
                }
            };
            match self.commit(written, change).await {
                Ok(_) => return Ok(object),
                Err(why) => written = self.behind(why)?,
            }
            written.push(self.tell_object(&target, &mut object).await?);
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// Takes note of what a change was behind; answers the stripes that it was to make visible.
    /// What it was refused for otherwise is an error.
    fn behind(&self, why: Uncommitted) -> Result<Vec<Written>, StoreError> {
        let Uncommitted { error, written } = why;
        let CatalogError::Refused(Refusal::Behind { seen }) = error else {
            return Err(error.into());
        };
        self.inner.lineage.observe(seen);
        Ok(written)
    }

    /// The pool that a bucket's objects are written to.
    pub(crate) fn pool_for(&self, bucket: &str) -> &Pool {
        let wanted = self.inner.bucket_pools.get(bucket);
        wanted.and_then(|&id| self.pool(id)).unwrap_or(&self.inner.pools[0])
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

    /// A node by number, in whichever pool it is.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Arc<dyn Node>> {
        self.inner
            .pools
            .iter()
            .flat_map(Pool::nodes)
            .find(|(at, _)| *at == id)
            .map(|(_, node)| node)
    }

    /// What this handle's tenant has of the memory.
    pub(crate) fn memory(&self) -> TenantMemory {
        self.inner.memory.of(self.tenant)
    }

    /// Writes a stripe without payload whose headers tell something.
    pub(crate) async fn tell(
        &self,
        pool: &Pool,
        id: StripeId,
        told: Telling,
    ) -> Result<Written, StoreError> {
        let record = told.record().await?;
        let shape = StripeShape::new(pool.code(), 0).expect("an empty stripe is within limits");
        let memory = self.memory();
        let share = self.wait_for(memory.acquire_complete(pool.draft_memory(shape))).await?;
        let mut draft = pool.draft(id, shape, share);
        self.make_room(&mut draft, &record)?;
        Ok(pool.on_behalf_of(self.tenant).write(draft.seal(pool.origin(), record)).await?)
    }

    /// Applies a change that makes stripes visible, and claims them. It runs to its end even if the
    /// caller leaves: a change whose fate is unknown must not have its stripes discarded.
    pub(crate) async fn commit(
        &self,
        written: Vec<Written>,
        change: impl FnOnce(Vec<(StripeId, Stripe)>) -> Change,
    ) -> Result<Applied, Uncommitted> {
        let stripes: Vec<_> = written.iter().map(|stripe| (stripe.id, record_of(stripe))).collect();
        let (inner, movers) = (self.inner.clone(), self.inner.movers.clone());
        let strays = movers.strays(&stripes);
        let change = change(stripes);
        let committed = ripstop_host::spawn(async move {
            match inner.catalog.commit_one(unix_ms(), change).await {
                Ok(applied) => {
                    movers.strayed(&strays);
                    written.into_iter().for_each(Written::claim);
                    Ok(applied)
                }
                Err(error) => {
                    if let CatalogError::Refused(Refusal::Retired { session }) = &error {
                        inner.given_up(*session);
                    }
                    Err(Uncommitted { error, written })
                }
            }
        });
        let lost = |error: JoinError| {
            let error = CatalogError::Unavailable(error.into());
            Err(Uncommitted { error, written: Vec::new() })
        };
        committed.await.unwrap_or_else(lost)
    }
}

/// An upload that ends as its object is put: its id, and number and etag of each part used.
#[derive(Clone, Debug)]
pub(crate) struct EndedUpload {
    pub upload: String,
    pub parts: Vec<(u16, String)>,
}

/// A change that was not applied, or is not known to be, and the stripes that came with it.
#[derive(Debug)]
pub(crate) struct Uncommitted {
    error: CatalogError,
    written: Vec<Written>,
}

impl From<Uncommitted> for StoreError {
    fn from(why: Uncommitted) -> Self {
        Self::Catalog(why.error)
    }
}

/// The catalog's record of a stripe that was written.
pub(crate) fn record_of(written: &Written) -> Stripe {
    let Written { pool, shape, cut, header_len, sealing, .. } = *written;
    stripe_record(pool, shape, cut, header_len, sealing, &written.nodes)
}

/// The catalog's record of a stripe.
pub(crate) fn stripe_record(
    pool: PoolId,
    shape: StripeShape,
    cut: Cut,
    header_len: u32,
    sealing: Sealing,
    nodes: &[Option<NodeId>],
) -> Stripe {
    let code: Code = shape.code();
    Stripe {
        pool: pool.0,
        n: code.n() as u8,
        k: code.k() as u8,
        payload_len: shape.payload_len(),
        header_len,
        nodes: nodes.iter().map(|node| node.map(|id| id.0)).collect(),
        run: cut.number(code),
        sealing: sealing.number(),
        ..Stripe::default()
    }
}
