//! The program's metrics, and their hooks into its parts.

use crate::{
    assembly::Assembly,
    config::Config,
    watch::{VERSION, Watch},
};
use ripstop_catalog::Catalog;
use ripstop_node::{Meter, Node};
use ripstop_recording::{Beginning, Recorder};
use ripstop_roster::{Roster, TaskLog, TaskLogError, TaskLogFile, TaskLogFileSettings};
use ripstop_runtime::{Observer, Witness};
use ripstop_s3::{S3Operation, Webhooks};
use ripstop_telemetry::Metrics;
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// The program's metrics, and their hooks into its parts.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// What is counted, unless nothing is.
    pub metrics: Option<Metrics>,
    recorder: Option<Arc<Recorder>>,
}

impl Telemetry {
    /// Nothing is counted yet, or ever if `is_on` is not; decisions are recorded if there is a
    /// recorder.
    pub fn new(is_on: bool, recorder: Option<Arc<Recorder>>) -> Self {
        let operations: Vec<&'static str> =
            S3Operation::ALL.iter().map(|operation| operation.name()).collect();
        Self { metrics: is_on.then(|| Metrics::new(VERSION, &operations)), recorder }
    }

    /// Looks at what was put together from now on.
    pub(crate) fn attach(&self, assembly: &Assembly, memory_max: usize) {
        let Some(metrics) = &self.metrics else { return };
        metrics.watch_memory(assembly.memory.clone(), memory_max);
        metrics.watch_spent(assembly.spent.clone());
        let pools = assembly.pools.iter().map(|(name, pool)| (name.clone(), pool.id()));
        metrics.watch_aged(assembly.keeper.aged_counts());
        metrics.watch_store(assembly.store.clone(), pools.collect());
        metrics.watch_hot(assembly.hot.clone());
        metrics.watch_kms(assembly.kms.clone());
    }

    /// Shows what webhooks were not told from now on.
    pub(crate) fn watch_webhooks(&self, webhooks: &Webhooks) {
        let Some(metrics) = &self.metrics else { return };
        let webhooks = webhooks.clone();
        metrics.watch_webhooks(Arc::new(move || {
            webhooks.lost().into_iter().map(|(name, events)| (name.to_owned(), events)).collect()
        }));
    }
}

/// Appends the pools' task logs to the files that the configuration names, or else to `fallback`,
/// for as long as what is returned lives.
pub(crate) fn append_task_logs(
    assembly: &Assembly,
    config: &Config,
    fallback: Option<&Path>,
) -> Result<Vec<TaskLogFile>, TaskLogError> {
    let mut files = BTreeMap::<&Path, Vec<Arc<TaskLog>>>::new();
    for (pool, roster) in config.pools.iter().zip(&assembly.rosters) {
        if let Some(path) = pool.task_log.as_deref().or(fallback) {
            files.entry(path).or_default().push(roster.task_log().clone());
        }
    }
    let settings = TaskLogFileSettings::default();
    files.into_iter().map(|(path, logs)| TaskLogFile::append(path, logs, settings)).collect()
}

impl Watch for Telemetry {
    fn pool(&self, roster: &Arc<Roster>) -> Option<Arc<dyn Observer>> {
        Some(self.metrics.as_ref()?.count_pool(roster))
    }

    fn witness(&self, beginning: &Beginning) -> Option<Arc<dyn Witness>> {
        Some(self.recorder.as_ref()?.pool(beginning))
    }

    fn node(&self, name: &str, node: Arc<dyn Node>) -> Arc<dyn Node> {
        let Some(metrics) = &self.metrics else { return node };
        let meter = Arc::new(Meter::new(node));
        metrics.watch_node(name, meter.clone());
        meter
    }

    fn catalog(&self, catalog: Arc<dyn Catalog>) -> Arc<dyn Catalog> {
        match &self.metrics {
            Some(metrics) => Arc::new(metrics.metered(catalog)),
            None => catalog,
        }
    }
}

impl ripstop_s3::RequestObserver for Telemetry {
    fn answered(&self, answered: &ripstop_s3::Answered) {
        let Some(metrics) = &self.metrics else { return };
        metrics.answered(&ripstop_telemetry::AnsweredRequest {
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
