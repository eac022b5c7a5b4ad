mod bucket;
mod catalog;
mod family;
mod hot_rows;
mod kms_rows;
mod kv_rows;
mod lifecycle_rows;
mod pack_rows;
mod plan_rows;
mod pool;
mod pool_rows;
mod process;
mod request;
mod sheet;
mod tenant;
mod tenant_rows;
#[cfg(test)]
pub(crate) mod tests;
mod tier_rows;

pub use bucket::BUCKETS_SHOWN_MAX;
pub use catalog::MeteredCatalog;
pub use family::{FAMILIES, Family, Kind};
pub use pool::PoolCounts;
pub use request::AnsweredRequest;
pub(crate) use tenant::{Promised, Standing};
pub use tenant::{TENANT_SLOT, TENANT_SLOTS, TenantNames};

use bucket::BucketFigures;
use catalog::CatalogCounts;
use family as of;
use kv_rows::KvWatch;
use pool::Seen;
use process::Process;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, text},
    registry::Registry,
};
use request::RequestCounts;
use ripstop_catalog::Catalog;
use ripstop_hot::HotPool;
use ripstop_keeper::AgedCounts;
use ripstop_kms::Kms;
use ripstop_kv::KvStatus;
use ripstop_memory::CodedMemory;
use ripstop_model::PoolId;
use ripstop_node::{Meter, MeterReading, Node as _};
use ripstop_roster::Roster;
use ripstop_runtime::{Memory, Spent};
use ripstop_store::Store;
use sheet::Sheet;
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::Instant,
};

/// The media type of [`Metrics::page`].
pub const PAGE_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many events each webhook was not told, by its name.
type WebhookWatch = Arc<dyn Fn() -> Vec<(String, u64)> + Send + Sync>;

/// Everything that is counted, and the page that shows it. Cheap to clone.
///
/// What is hot adds to atomic counters that it found at the start; what can be looked at is looked
/// at when the page is made.
#[derive(Clone, Debug)]
pub struct Metrics {
    counted: Arc<Counted>,
    registry: Arc<Registry>,
}

struct Counted {
    version: String,
    start: Instant,
    requests: RequestCounts,
    catalog: Arc<CatalogCounts>,
    buckets: BucketFigures,
    watched: Mutex<Watched>,
}

/// What is looked at when the page is made.
#[derive(Default)]
struct Watched {
    pools: Vec<Arc<PoolCounts>>,
    meters: Vec<(String, Arc<Meter>)>,
    memory: Option<(Memory, usize)>,
    spent: Option<Arc<Spent>>,
    store: Option<Store>,
    aged: Option<Arc<AgedCounts>>,
    webhooks: Option<WebhookWatch>,
    kms: Option<Kms>,
    /// Of the store, by name.
    store_pools: Vec<(String, PoolId)>,
    kv: Option<KvWatch>,
    hot: Vec<HotPool>,
    /// Memory tiers by name.
    tiers: Vec<(String, CodedMemory)>,
}

impl Metrics {
    /// Metrics of a program of this version whose S3 requests have these operations.
    pub fn new(version: &str, operations: &[&'static str]) -> Self {
        let counted = Arc::new(Counted {
            version: version.to_owned(),
            start: ripstop_host::now(),
            requests: RequestCounts::new(operations),
            catalog: Arc::default(),
            buckets: BucketFigures::default(),
            watched: Mutex::default(),
        });
        let mut registry = Registry::with_prefix(of::PREFIX);
        registry.register_collector(Box::new(counted.clone()));
        Self { counted, registry: Arc::new(registry) }
    }

    /// Counts what a pool's machine reports, and shows how it stands, from now on. The roster's
    /// owner is to have the counts hear what the roster hears.
    pub fn count_pool(&self, roster: &Arc<Roster>) -> Arc<PoolCounts> {
        let counts = Arc::new(PoolCounts::new(roster.clone()));
        self.counted.watched().pools.push(counts.clone());
        counts
    }

    /// Shows what a node's meter counts. `node` is the node's name.
    pub fn watch_node(&self, node: &str, meter: Arc<Meter>) {
        self.counted.watched().meters.push((node.to_owned(), meter));
    }

    /// Shows how much is left of the memory for strips, which was made with `bytes_max`.
    pub fn watch_memory(&self, memory: Memory, bytes_max: usize) {
        self.counted.watched().memory = Some((memory, bytes_max));
    }

    /// Shows where time went.
    pub fn watch_spent(&self, spent: Arc<Spent>) {
        self.counted.watched().spent = Some(spent);
    }

    /// Shows what the store counts, of these pools by their names.
    pub fn watch_store(&self, store: Store, pools: Vec<(String, PoolId)>) {
        let mut watched = self.counted.watched();
        watched.store = Some(store);
        watched.store_pools = pools;
    }

    /// Shows what a keeper did by buckets' rules.
    pub fn watch_aged(&self, counts: Arc<AgedCounts>) {
        self.counted.watched().aged = Some(counts);
    }

    /// Shows how many events webhooks were not told: by name.
    pub fn watch_webhooks(&self, lost: WebhookWatch) {
        self.counted.watched().webhooks = Some(lost);
    }

    /// Shows what is asked of the key service, while there is one.
    pub fn watch_kms(&self, kms: Kms) {
        self.counted.watched().kms = Some(kms);
    }

    /// Shows what the door that speaks memcached did and has.
    pub fn watch_kv(&self, watch: Arc<dyn Fn() -> KvStatus + Send + Sync>) {
        self.counted.watched().kv = Some(watch);
    }

    /// Shows what pools find in memory tiers.
    pub fn watch_hot(&self, pools: Vec<HotPool>) {
        self.counted.watched().hot = pools;
    }

    /// Shows how a memory tier stands.
    pub fn watch_tier(&self, name: &str, memory: CodedMemory) {
        self.counted.watched().tiers.push((name.to_owned(), memory));
    }

    /// Looks at what buckets hold: the page shows what was seen last.
    pub async fn look_at_buckets(&self) {
        let store = self.counted.watched().store.clone();
        if let Some(store) = store {
            self.counted.buckets.look(&store).await;
        }
    }

    /// A catalog whose operations are counted here.
    pub fn metered(&self, catalog: Arc<dyn Catalog>) -> MeteredCatalog {
        MeteredCatalog::new(catalog, self.counted.catalog.clone())
    }

    /// Counts an S3 request that was answered.
    pub fn answered(&self, answered: &AnsweredRequest<'_>) {
        self.counted.requests.add(answered);
    }

    /// The counts of every pool.
    pub fn pools(&self) -> Vec<Arc<PoolCounts>> {
        self.counted.watched().pools.clone()
    }

    /// The page, in the `OpenMetrics` text format.
    #[expect(clippy::missing_panics_doc, reason = "writing to a string does not fail")]
    pub fn page(&self) -> String {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).expect("a string takes all that is written to it");
        page
    }
}

impl PoolCounts {
    /// How the pool's tenants stand, those who are none first; empty without tenants.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        self.tenants.look()
    }
}

impl Counted {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pools' own locks are not taken under ours.
    fn pools(&self) -> Vec<Seen> {
        let pools = self.watched().pools.clone();
        let seen = |counts: Arc<PoolCounts>| {
            let now = counts.roster().now();
            (counts, now)
        };
        pools.into_iter().map(seen).collect()
    }

    fn encode_process(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        sheet.family(&of::BUILD)?.info(&[("version", &self.version)])?;
        sheet.family(&of::UPTIME)?.gauge(&[], ripstop_host::since(self.start).as_secs_f64())?;
        if let Some(process) = Process::read() {
            sheet.family(&of::RESIDENT)?.gauge(&[], process.resident_bytes)?;
            sheet.family(&of::CPU)?.single(process.cpu_seconds)?;
            sheet.family(&of::OPEN_FILES)?.gauge(&[], process.open_files)?;
        }
        let (memory, spent) = {
            let watched = self.watched();
            (watched.memory.clone(), watched.spent.clone())
        };
        if let Some((memory, bytes_max)) = memory {
            sheet.family(&of::MEMORY_MAX)?.gauge(&[], bytes_max as f64)?;
            sheet.family(&of::MEMORY_FREE)?.gauge(&[], memory.free() as f64)?;
        }
        if let Some(spent) = spent {
            let Spent { encode, decode, verify, node_put, node_get } = &*spent;
            let works = [
                ("encode", encode),
                ("decode", decode),
                ("verify", verify),
                ("node_put", node_put),
                ("node_get", node_get),
            ];
            let mut rows = sheet.family(&of::SPENT)?;
            for (work, ns) in works {
                rows.seconds(&[("work", work)], ns.load(Relaxed))?;
            }
        }
        Ok(())
    }

    fn encode_store(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let (store, pools) = {
            let watched = self.watched();
            (watched.store.clone(), watched.store_pools.clone())
        };
        let Some(store) = store else { return Ok(()) };
        pack_rows::encode(&store, &pools, sheet)?;
        sheet.family(&of::STRANGE)?.single(store.strange_stripes() as f64)
    }

    fn encode_aged(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let aged = self.watched().aged.as_ref().map(|counts| counts.now());
        aged.map_or(Ok(()), |aged| lifecycle_rows::encode(&aged, sheet))
    }

    fn encode_webhooks(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let watch = self.watched().webhooks.clone();
        let lost = watch.map(|lost| lost()).unwrap_or_default();
        if lost.is_empty() {
            return Ok(());
        }
        let mut rows = sheet.family(&of::WEBHOOK_LOST)?;
        for (webhook, events) in lost {
            rows.count(&[("webhook", &webhook)], &events.into())?;
        }
        Ok(())
    }

    fn encode_kms(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let kms = self.watched().kms.clone().filter(Kms::is_there);
        kms.map_or(Ok(()), |kms| kms_rows::encode(&kms.reading(), sheet))
    }

    fn encode_kv(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let kv = self.watched().kv.clone();
        kv.map_or(Ok(()), |watch| kv_rows::encode(&watch, sheet))
    }

    fn encode_tiers(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let (hot, tiers) = {
            let watched = self.watched();
            (watched.hot.clone(), watched.tiers.clone())
        };
        hot_rows::encode(&hot, sheet)?;
        tier_rows::encode(&tiers, sheet)
    }

    fn encode_meters(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let meters = self.watched().meters.clone();
        let readings: Vec<(&str, [MeterReading; 5])> =
            meters.iter().map(|(node, meter)| (&**node, meter.readings())).collect();
        let each = || {
            readings.iter().flat_map(|(node, readings)| {
                let named = readings.iter();
                named.map(|at| ([("node", *node), ("operation", at.operation.name())], at))
            })
        };
        let mut rows = sheet.family(&of::NODE_OPERATIONS)?;
        for ([node, operation], reading) in each() {
            for (outcome, count) in [
                ("done", reading.succeeded),
                ("dropped", reading.dropped),
                ("missing", reading.missing),
                ("short", reading.short),
                ("refused", reading.refused),
                ("unavailable", reading.unavailable),
            ] {
                rows.count(&[node, operation, ("outcome", outcome)], &count.into())?;
            }
        }
        let mut rows = sheet.family(&of::NODE_OPERATION_BYTES)?;
        for (labels, reading) in each() {
            rows.count(&labels, &reading.bytes.into())?;
        }
        let mut rows = sheet.family(&of::NODE_OPERATION_SECONDS)?;
        for (labels, reading) in each() {
            rows.seconds(&labels, reading.time.as_nanos() as u64)?;
        }
        let mut rows = sheet.family(&of::NODE_STUCK)?;
        for (node, meter) in &meters {
            rows.gauge(&[("node", node)], meter.stuck() as f64)?;
        }
        Ok(())
    }
}

impl Collector for Counted {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut sheet = Sheet(encoder);
        self.encode_process(&mut sheet)?;
        self.requests.encode(&mut sheet)?;
        let pools = self.pools();
        pool_rows::encode(&pools, &mut sheet)?;
        pack_rows::encode_cleaning(&pools, &mut sheet)?;
        tenant_rows::encode(&pools, &mut sheet)?;
        self.encode_store(&mut sheet)?;
        self.encode_aged(&mut sheet)?;
        self.encode_webhooks(&mut sheet)?;
        self.encode_kms(&mut sheet)?;
        self.buckets.encode(&mut sheet)?;
        self.encode_meters(&mut sheet)?;
        self.catalog.encode(&mut sheet)?;
        self.encode_kv(&mut sheet)?;
        self.encode_tiers(&mut sheet)
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("version", &self.version).finish_non_exhaustive()
    }
}
