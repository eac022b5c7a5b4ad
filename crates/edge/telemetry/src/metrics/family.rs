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
    /// The name of its rows, as queries use it (a histogram's rows add `_bucket`, `_sum`, `_count`).
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

    NODE_UP = Gauge "node_up": "Whether the node is in service (1) or not (0).";
    NODE_LANES = Gauge "node_lanes": "Tasks that the node serves at once.";
    NODE_LANES_BUSY = Gauge "node_lanes_busy": "Lanes of the node on which a task runs.";
    NODE_WAITING = Gauge "node_tasks_waiting": "Tasks in the node's queue.";
    NODE_OUTAGES = Counter "node_outages": "How often the node was taken out of service.";
    TASKS = Counter "node_tasks": "Tasks that ended, by outcome.";
    TASK_BYTES = Counter "node_task" Bytes: "Bytes of chunks that tasks moved and that were whole.";
    SERVICE = Histogram "node_service" Seconds: "Time of tasks on their lane; cancelled tasks are left out.";
    NODE_OPERATIONS = Counter "node_operations": "Operations that ended at the node, whoever asked, by outcome.";
    NODE_OPERATION_BYTES = Counter "node_operation" Bytes: "Bytes of the node's operations that ended well.";
    NODE_OPERATION_SECONDS = Counter "node_operation" Seconds: "Time of the node's operations that ended well.";

    CATALOG_OPERATIONS = Counter "catalog_operations": "Commits and reads of the catalog that ended, by outcome.";
    CATALOG_SECONDS = Histogram "catalog_operation" Seconds: "How long commits and reads of the catalog took.";
}
