use crate::{Fit, LogError, LoggedOutcome, Sample, parse_log};
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::{NodeId, Operation};

/// What a whole task log says about delays.
#[derive(Clone, PartialEq, Debug)]
pub struct LogFit {
    /// Of all nodes together, by operation; those that say too little are missing.
    pub operations: BTreeMap<Operation, Fit>,
    /// Of each node, by operation; those that say too little are missing.
    pub nodes: BTreeMap<(Operation, NodeId), Fit>,
    /// Tasks that finished.
    pub done: usize,
    /// Tasks that were cancelled.
    pub cancelled: usize,
    /// Tasks that failed, which say nothing about delays.
    pub other: usize,
}

/// The fits of a task log, in any of the [formats](crate::TaskLogFormat).
pub fn fit_log(text: &str) -> Result<LogFit, LogError> {
    let records = parse_log(text)?;
    let count = |outcome| records.iter().filter(|record| record.outcome == outcome).count();
    let mut operations = BTreeMap::<Operation, Vec<Sample>>::new();
    let mut nodes = BTreeMap::<(Operation, NodeId), Vec<Sample>>::new();
    for sample in records.iter().filter_map(crate::LogRecord::sample) {
        operations.entry(sample.operation).or_default().push(sample);
        nodes.entry((sample.operation, sample.node)).or_default().push(sample);
    }
    Ok(LogFit {
        operations: fits(operations),
        nodes: fits(nodes),
        done: count(LoggedOutcome::Done),
        cancelled: count(LoggedOutcome::Cancelled),
        other: count(LoggedOutcome::Other),
    })
}

fn fits<K: Ord>(samples: BTreeMap<K, Vec<Sample>>) -> BTreeMap<K, Fit> {
    samples.into_iter().filter_map(|(key, samples)| Some((key, Fit::of(samples, None)?))).collect()
}
