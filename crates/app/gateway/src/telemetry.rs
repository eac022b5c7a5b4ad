//! The program's metrics, and their hooks into its parts.

use crate::{
    assembly::Assembly,
    config::{Config, PoolConfig},
    watch::{VERSION, Watch},
};
use ripstop_catalog::Catalog;
use ripstop_model::NodeId;
use ripstop_node::{Meter, Node};
use ripstop_recording::{Beginning, Recorder};
use ripstop_runtime::{Observer, Witness};
use ripstop_s3::Operation;
use ripstop_telemetry::{
    Metrics, PoolGauges, PoolNames, TaskLog, TaskLogError, TaskLogFile, TaskLogFileSettings,
};
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// The program's metrics, and their hooks into its parts.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// What is counted.
    pub metrics: Metrics,
    recorder: Option<Arc<Recorder>>,
}

impl Telemetry {
    /// Nothing is counted yet; decisions are recorded if there is a recorder.
    pub fn new(recorder: Option<Arc<Recorder>>) -> Self {
        let operations: Vec<&'static str> =
            Operation::ALL.iter().map(|operation| operation.name()).collect();
        Self { metrics: Metrics::new(VERSION, &operations), recorder }
    }

    /// Looks at what was put together from now on.
    pub fn attach(&self, assembly: &Assembly, memory_max: usize) {
        for ((counts, _), (_, pool)) in self.metrics.pools().iter().zip(&assembly.pools) {
            let (pool, store) = (pool.clone(), assembly.store.clone());
            let look =
                move || PoolGauges { moves: store.moves_of(pool.id()), ..PoolGauges::of(&pool) };
            self.metrics.watch_pool(counts, look);
        }
        self.metrics.watch_memory(assembly.memory.clone(), memory_max);
        self.metrics.watch_spent(assembly.spent.clone());
        self.metrics.watch_store(assembly.store.clone());
    }

    /// Appends the pools' task logs to the files that the configuration names, or else to `fallback`,
    /// for as long as what is returned lives.
    pub fn append_task_logs(
        &self,
        config: &Config,
        fallback: Option<&Path>,
    ) -> Result<Vec<TaskLogFile>, TaskLogError> {
        let mut files = BTreeMap::<&Path, Vec<Arc<TaskLog>>>::new();
        for (pool, (counts, _)) in config.pools.iter().zip(self.metrics.pools()) {
            if let Some(path) = pool.task_log.as_deref().or(fallback) {
                files.entry(path).or_default().push(counts.task_log().clone());
            }
        }
        let settings = TaskLogFileSettings::default();
        files.into_iter().map(|(path, logs)| TaskLogFile::append(path, logs, settings)).collect()
    }
}

impl Watch for Telemetry {
    fn pool(&self, config: &PoolConfig, nodes: &[(NodeId, String)]) -> Arc<dyn Observer> {
        self.metrics.count_pool(PoolNames {
            name: config.name.clone(),
            code: config.code,
            nodes_needed: config.nodes_needed(),
            nodes: nodes.to_vec(),
        })
    }

    fn witness(&self, beginning: &Beginning) -> Option<Arc<dyn Witness>> {
        Some(self.recorder.as_ref()?.pool(beginning))
    }

    fn node(&self, name: &str, node: Arc<dyn Node>) -> Arc<dyn Node> {
        let meter = Arc::new(Meter::new(node));
        self.metrics.watch_node(name, meter.clone());
        meter
    }

    fn catalog(&self, catalog: Arc<dyn Catalog>) -> Arc<dyn Catalog> {
        Arc::new(self.metrics.metered(catalog))
    }
}

impl ripstop_s3::Observer for Telemetry {
    fn answered(&self, answered: &ripstop_s3::Answered) {
        self.metrics.answered(&ripstop_telemetry::Answered {
            operation: answered.operation.name(),
            status: answered.status,
            received: answered.received,
            sent: answered.sent,
            broken: answered.broken,
            first_byte: answered.first_byte,
            duration: answered.duration,
            hashing: answered.hashing,
        });
    }
}
