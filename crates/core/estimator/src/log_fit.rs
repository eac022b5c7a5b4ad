use crate::{Fit, LogError, LoggedOutcome, NodePace, Sample, paces, parse_log};
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::{NodeId, Operation};

/// What a whole task log says about delays.
#[derive(Clone, PartialEq, Debug)]
pub struct LogFit {
    /// Of all nodes together, by operation, [sturdy](Fit::sturdy); those that say too little are
    /// missing.
    pub operations: BTreeMap<Operation, Fit>,
    /// Of each node, by operation; those that say too little are missing. Where one saw no
    /// different sizes, its delays grow with the size as those of all nodes do.
    pub nodes: BTreeMap<(Operation, NodeId), Fit>,
    /// How long each node takes beside the others, by operation; those that say too little are
    /// missing.
    pub paces: BTreeMap<(Operation, NodeId), NodePace>,
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
    let (done, cancelled, other) =
        (count(LoggedOutcome::Done), count(LoggedOutcome::Cancelled), count(LoggedOutcome::Other));
    let (operations, nodes, paces) = <_>::default();
    let mut fit = LogFit { operations, nodes, paces, done, cancelled, other };
    let samples: Vec<Sample> = records.iter().filter_map(crate::LogRecord::sample).collect();
    for operation in Operation::ALL {
        fit.add(operation, samples.iter().filter(|sample| sample.operation == operation).copied());
    }
    Ok(fit)
}

impl LogFit {
    fn add(&mut self, operation: Operation, samples: impl Iterator<Item = Sample> + Clone) {
        let Some(all) = Fit::sturdy(samples.clone(), None) else { return };
        self.operations.insert(operation, all);
        let mut by_node = BTreeMap::<NodeId, Vec<Sample>>::new();
        for sample in samples {
            by_node.entry(sample.node).or_default().push(sample);
        }
        for (&node, own) in &by_node {
            if let Some(fit) = Fit::sturdy(own.iter().copied(), Some(&all.model)) {
                self.nodes.insert((operation, node), fit);
            }
        }
        let paces = paces(&by_node).into_iter();
        self.paces.extend(paces.map(|(node, pace)| ((operation, node), pace)));
    }
}
