use prometheus_client::{metrics::MetricType, registry::Unit};

/// What every name begins with.
pub(crate) const PREFIX: &str = "ripstop";

/// How a family's values behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Only ever grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts per range of values.
    Histogram,
    /// Only has labels.
    Info,
}

impl Kind {
    pub(crate) const fn metric_type(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
            Self::Info => MetricType::Info,
        }
    }
}

/// One family of metrics: what the rows of one name have in common.
#[derive(Debug)]
pub struct Family {
    /// Its name without prefix, unit and suffix.
    pub(crate) stem: &'static str,
    /// What it counts.
    pub help: &'static str,
    pub(crate) unit: Option<Unit>,
    /// How its values behave.
    pub kind: Kind,
}

impl Family {
    /// The name of its rows, as queries use it (a histogram's rows add `_bucket`, `_sum`,
    /// `_count`).
    pub fn name(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!("_{}", unit.as_str())).unwrap_or_default();
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        format!("{PREFIX}_{}{unit}{suffix}", self.stem)
    }
}

macro_rules! families {
    ($($name:ident = $kind:ident $stem:literal $($unit:ident)? : $help:literal;)*) => {
        $(pub(crate) static $name: Family = Family {
            stem: $stem,
            help: $help,
            unit: families!(@unit $($unit)?),
            kind: Kind::$kind,
        };)*

        /// Every family there is, in the order of the page.
        pub static FAMILIES: &[&Family] = &[$(&$name),*];
    };
    (@unit) => { None };
    (@unit $unit:ident) => { Some(Unit::$unit) };
}

families! {
    BUILD = Info "build": "The running version.";
    UPTIME = Gauge "uptime" Seconds: "Time since the start.";
    RESIDENT = Gauge "process_resident_memory" Bytes: "Memory of the process that is in RAM.";
    CPU = Counter "process_cpu" Seconds: "CPU time of the process, all threads, user and system.";
    OPEN_FILES = Gauge "process_open_files": "Files and sockets that the process has open.";
    MEMORY_MAX = Gauge "memory_max" Bytes: "Most bytes of strips that may be in memory at once.";
    MEMORY_FREE = Gauge "memory_free" Bytes: "Bytes of that limit that nobody has.";
    SPENT = Counter "spent" Seconds: "Time spent, summed over all threads, by kind of work.";

    REQUESTS = Counter "requests": "S3 requests answered, by operation and class of status.";
    REQUEST_SECONDS = Histogram "request" Seconds: "From the end of a request's head to the end of its answer.";
    FIRST_BYTE_SECONDS = Histogram "request_first_byte" Seconds: "From the end of a request's head to the beginning of its answer.";
    BROKEN = Counter "requests_broken": "S3 requests whose answer broke off.";
    RECEIVED = Counter "received" Bytes: "Bytes of request bodies that came.";
    SENT = Counter "sent" Bytes: "Bytes of answer bodies that were handed to connections.";
    HASHING = Counter "hashing" Seconds: "Time spent hashing request bodies.";

    BACKLOG = Gauge "pool_backlog": "Requests in the request queue.";
    SERVING = Gauge "pool_serving": "Requests that have left the queue and are not answered.";
    ENCODING = Gauge "pool_encoding": "Writes whose parity is being computed.";
    MENDS_WAITING = Gauge "pool_mends_waiting": "Mends that wait.";
    LANES = Gauge "pool_lanes": "Lanes of the nodes that are up.";
    LANES_BUSY = Gauge "pool_lanes_busy": "Lanes of the nodes that are up on which a task runs.";
    LANES_REDUNDANT = Gauge "pool_lanes_redundant": "Lanes on which a redundant task runs.";
    TASKS_WAITING = Gauge "pool_tasks_waiting": "Tasks that wait for a lane and that their requests need.";
    NODES_UP = Gauge "pool_nodes_up": "Nodes in service.";
    NODES_NEEDED = Gauge "pool_nodes_needed": "Nodes that must be up for the pool to be ready.";
    STARTED = Counter "pool_requests_started": "Requests that left the queue, by the code (n,k) that the policy chose.";
    QUEUEING = Histogram "pool_queueing" Seconds: "Time in the request queue.";
    ANSWERED = Counter "pool_requests": "Requests answered by the pool, by outcome.";
    ANSWER_SECONDS = Histogram "pool_request" Seconds: "From a request's arrival at the pool to its answer.";
    TASK_QUEUEING = Histogram "pool_task_queueing" Seconds: "Time of tasks in their node's queue.";
    REDUNDANT = Counter "pool_redundant_tasks": "Tasks that ended after their request had been decided without them.";
    EXTRA = Counter "pool_extra_tasks": "Tasks beyond the k that their request needs, by what became of them.";
    WASTED = Counter "pool_wasted" Bytes: "Bytes of redundant fetches: arrived in full, or cancelled on the lane (then an upper bound).";
    LOST = Counter "pool_fragments_lost": "Fragments that a read found missing or damaged.";
    DECODE = Histogram "pool_decode" Seconds: "Time to compute the strips that a read lacks from others.";
    DELAY_MODEL = Gauge "pool_delay_model" Seconds: "The delay model that the policy goes by, by parameter.";
    LOG_MISSED = Counter "pool_task_log_missed": "Records that the file of the task log lacks.";

    GATHERED = Counter "pool_gathered": "Small writes and deletions that came to be gathered, by how they left.";
    BATCH_MEMBERS = Histogram "pool_batch_members": "Small writes and deletions in each batch that departed, lone ones included.";
    BATCH_BYTES = Counter "pool_batch" Bytes: "Bytes of the objects in these batches.";
    BATCH_WAIT = Histogram "pool_batch_wait" Seconds: "From the coming of a small write or deletion to the departure of its batch.";
    BATCH_INTERVAL = Gauge "pool_batch_interval" Seconds: "How long a batch is held back now after the one before it: of all tenants' the longest.";
    PACKED = Gauge "pool_packs" Bytes: "Bytes of the payloads of packs, as they were last looked through.";
    PACKED_DEAD = Gauge "pool_packs_dead" Bytes: "Those of them that are of no use any more.";
    CLEANED = Counter "pool_cleaned_stripes": "Packs and short stripes of which what was of use was written again.";
    REWRITTEN = Counter "pool_cleaned" Bytes: "Bytes that were written again for that, of objects and what is told of them.";

    PLANS = Counter "pool_plans": "Plans that a pool which plans itself has made and followed.";
    PLAN_GROUPS = Gauge "pool_plan_groups": "Groups of nodes in the plan.";
    PLAN_BOUND = Gauge "pool_plan_latency_bound" Seconds: "The plan's bound on the mean latency of a read, by the rates and service times it was made from.";
    MOVED = Counter "pool_fragments_moved": "Fragments brought to where a plan wants them.";
    MOVED_BYTES = Counter "pool_moved" Bytes: "Their bytes, headers included.";
    MOVES_FAILED = Counter "pool_moves_failed": "Moves of a fragment that failed; each is tried again.";
    MOVES_LEFT = Gauge "pool_moves_left": "Fragments still to be moved, by the last count of where stripes are.";

    TENANT_ADMITTED = Counter "tenant_admitted": "Requests that were taken in, by tier.";
    TENANT_MOVED_DOWN = Counter "tenant_moved_down": "Requests that were taken in by a tier below the first.";
    TENANT_REFUSED = Counter "tenant_refused": "Requests that were not taken in.";
    TENANT_LATE = Counter "tenant_late": "Requests done after the bound of the tier that took them in.";
    TENANT_FAILED = Counter "tenant_failed": "Requests that were taken in and failed, by tier.";
    TENANT_SECONDS = Histogram "tenant_request" Seconds: "From the arrival at the pool to the answer of requests that were done.";
    TENANT_TIER_SECONDS = Histogram "tenant_tier_request" Seconds: "The same by the tier that took them in.";
    TENANT_QUANTILE = Gauge "tenant_quantile" Seconds: "Time that a share of the requests that were done recently did not exceed.";
    TENANT_WAITING = Gauge "tenant_waiting": "Requests that wait for their turn.";
    TENANT_ALLOWANCE = Gauge "tenant_allowance" Seconds: "How long requests of the tier may wait before they start.";
    TENANT_QUEUED = Gauge "tenant_queued_lane" Seconds: "Lane time that requests of the tier which have not started are expected to take.";
    TENANT_PROMISE_FRACTION = Gauge "tenant_promise_fraction": "Share of the tenant's requests that are promised to be within the tier's bound.";
    TENANT_PROMISE_BOUND = Gauge "tenant_promise_bound" Seconds: "The tier's bound.";
    TENANT_WITHIN = Gauge "tenant_within_fraction": "Share of the tenant's recent requests that were done within the tier's bound.";
    TENANT_KEPT = Gauge "tenant_promise_kept": "Whether that is what was promised (1) or less (0).";

    LIFECYCLE_REMOVED = Counter "lifecycle_removed": "What was removed by rules of buckets: objects that keys stood for, other versions, delete markers, uploads.";
    LIFECYCLE_MOVED = Counter "lifecycle_moved": "Versions that rules of buckets moved to another class of storage.";
    LIFECYCLE_MOVED_BYTES = Counter "lifecycle_moved" Bytes: "Their bytes, as they are stored.";
    LIFECYCLE_LEFT = Counter "lifecycle_left": "What was due by rules of buckets and stayed as it was, since it was refused or failed.";
    WEBHOOK_LOST = Counter "webhook_events_lost": "Events that the webhook was not told: it did not take them, or too many waited.";
    KMS_CALLS = Counter "kms_calls": "Calls of the key service, each try by itself, by outcome.";
    KMS_SECONDS = Counter "kms_call" Seconds: "Time that these calls took.";
    KMS_FOUND = Counter "kms_keys_found": "Keys that were in memory, and so not asked of the key service.";
    KMS_TURNED_AWAY = Counter "kms_turned_away": "What the key service was not asked, since it had not answered just before or too much waited.";
    KMS_CACHED = Gauge "kms_keys_cached": "Opened keys that are in memory.";
    STRANGE = Counter "strange_stripes": "Times that a stripe was asked for whose pool is not configured.";
    BUCKET_BYTES = Gauge "bucket" Bytes: "Bytes of the bucket's objects, and of the parts of its unfinished uploads.";
    BUCKET_OBJECTS = Gauge "bucket_objects": "Objects of the bucket.";
    BUCKET_QUOTA_BYTES = Gauge "bucket_quota" Bytes: "Most bytes that the bucket may hold; no row without a quota.";
    BUCKET_QUOTA_OBJECTS = Gauge "bucket_quota_objects": "Most objects that the bucket may hold; no row without a quota.";
    NODE_UP = Gauge "node_up": "Whether the node is in service (1) or not (0).";
    NODE_LANES = Gauge "node_lanes": "Tasks that the node serves at once.";
    NODE_LANES_BUSY = Gauge "node_lanes_busy": "Lanes of the node on which a task runs.";
    NODE_WAITING = Gauge "node_tasks_waiting": "Tasks in the node's queue.";
    NODE_OUTAGES = Counter "node_outages": "How often the node was taken out of service.";
    NODE_REFUSES = Gauge "node_refuses": "Whether the node refused the last fragment it was to store (1), being full or read-only, or not (0).";
    TASKS = Counter "node_tasks": "Tasks that ended, by outcome.";
    TASK_BYTES = Counter "node_task" Bytes: "Bytes of chunks that tasks moved and that were whole.";
    SERVICE = Histogram "node_service" Seconds: "Time of tasks on their lane; cancelled tasks are left out.";
    NODE_OPERATIONS = Counter "node_operations": "Operations that ended at the node, no matter who asked, by outcome.";
    NODE_OPERATION_BYTES = Counter "node_operation" Bytes: "Bytes of the node's operations that ended well.";
    NODE_OPERATION_SECONDS = Counter "node_operation" Seconds: "Time of the node's operations that ended well.";
    NODE_STUCK = Gauge "node_stuck": "Operations that the node's disk has been at for 10 s and more, also after their callers left.";

    CATALOG_OPERATIONS = Counter "catalog_operations": "Commits and reads of the catalog that ended, by outcome.";
    CATALOG_CORRUPT = Counter "catalog_corrupt": "Commits and reads of the catalog that met what is not what was written.";
    CATALOG_SECONDS = Histogram "catalog_operation" Seconds: "How long commits and reads of the catalog took.";

    HOT_READS = Counter "hot_reads": "Reads of a pool's stripes that looked into its memory tier first, by how they fared: hit, partial, miss, or late.";
    HOT_BYTES = Counter "hot_read" Bytes: "Bytes that these reads had from the memory tier.";
    HOT_REQUESTS_SPARED = Counter "hot_requests_spared": "Requests that nodes were spared so, redundant ones not counted.";
    HOT_DOLLARS_SPARED = Counter "hot_dollars_spared": "Dollars that these requests and bytes would have cost, by the prices of their nodes.";
    HOT_SECONDS_SPARED = Counter "hot_spared" Seconds: "Time that hits would have taken longer, had they taken as long as reads of nodes did on average.";
    HOT_BLOCKS = Counter "hot_blocks": "Blocks that were given to be kept, by what became of them: kept, passed_over, failed; and spoiled, that came back other than they were given.";
    TIER_KEYS = Gauge "tier_keys": "Keys that have a value in a memory tier.";
    TIER_STORED = Gauge "tier_stored" Bytes: "Bytes of servers' memory that a tier's items take, about.";
    TIER_DEAD = Gauge "tier_dead" Bytes: "Bytes of objects in its chunks that nothing needs any more.";
    TIER_INDEX = Gauge "tier_index" Bytes: "Bytes of this process's memory that its index takes.";
    TIER_SERVERS = Gauge "tier_servers": "Its servers: up, lost, leaving.";
    TIER_POINTS_LEFT = Gauge "tier_points_left": "Points of its rings that are still to change, since servers come or go.";
    TIER_WOUNDS = Gauge "tier_wounds": "Its chunks, long values and stripes that may lack an item.";
    TIER_DECODED = Counter "tier_decoded": "Values that were decoded, since their server is lost.";
    TIER_DAMAGED = Counter "tier_damaged": "Items that came back other than they were stored.";
    TIER_REFUSED = Counter "tier_refused": "Items that a server would not store, for want of memory for example.";

    KV_COMMANDS = Counter "kv_commands": "Memcached commands that were carried out, by what became of them.";
    KV_CONNECTIONS = Gauge "kv_connections": "Connections of memcached's clients.";
    KV_ITEMS = Gauge "kv_items": "Items that are stored there.";
    KV_ITEM_BYTES = Gauge "kv_item" Bytes: "Bytes that they take, keys and what is kept beside them included.";
    KV_ACCEPTED = Counter "kv_connections_accepted": "Connections that came from memcached's clients.";
    KV_KICKED = Counter "kv_connections_kicked": "Those that were closed since they said nothing for too long.";
    KV_RECEIVED = Counter "kv_received" Bytes: "Bytes that memcached's clients sent.";
    KV_SENT = Counter "kv_sent" Bytes: "Bytes that memcached's clients were sent.";
    KV_FAILED = Counter "kv_failed": "Memcached commands that could not be done, for want of servers for example.";
    KV_EVICTED = Counter "kv_evicted": "Items that gave way to others.";
}
