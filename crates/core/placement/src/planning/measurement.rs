//! A pool as its task log shows it.

use super::{
    observed::{Observed, needed_reads, quantiles},
    subject::{PlanSubject, PlannedNode},
};
use crate::{Class, Problem, Service, ServiceError, StorageNode, StorageNodeState};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use ripstop_estimator::{LogRecord, since_change};
use ripstop_model::{NodeId, Operation, Timestamp};

/// How many of the last seconds of the task log say, at most, how fast nodes are.
const RECENT_S: f64 = 600.0;
/// A log of fewer seconds does not say at which rate requests come.
const SPAN_MIN_S: f64 = 5.0;
/// The reads of a node with few count beside this many of a node in the middle.
const USUAL_READS: usize = 10;

/// Equally likely delays that stand for a node's.
pub const DELAYS: usize = 400;

/// A pool as it was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// For the planner: one class, its nodes in the order of the subject.
    pub problem: Problem,
    /// Each node's delays: this many equally likely values, seconds.
    pub delays: Vec<Vec<f64>>,
    /// Nodes that became faster or slower, by their place, and since when they serve as they do:
    /// the end of their first read of that kind.
    pub changed: Vec<(u16, Timestamp)>,
}

/// How a node serves.
#[derive(Clone)]
struct Seen {
    service: Service,
    /// Equally likely, ascending, seconds.
    delays: Vec<f64>,
    changed: Option<Timestamp>,
}

impl Seen {
    /// None with too few reads.
    fn of(records: &[&LogRecord]) -> Option<Self> {
        let lately = since_change(records);
        let service = Observed::of(lately.iter().copied()).ok()?.service;
        let delays = quantiles(lately.iter().copied(), DELAYS);
        let is_other = lately.len() < records.len();
        let changed = lately.first().filter(|_| is_other).map(|record| record.at);
        Some(Self { service, delays, changed })
    }

    /// Of a node with few reads: those, and some of a node like the others.
    fn of_few(records: &[&LogRecord], usual: &Self) -> Result<Self, ServiceError> {
        let own = quantiles(records.iter().copied(), records.len());
        let others = usual.delays.iter().step_by(DELAYS / USUAL_READS).copied();
        let delays: Vec<f64> = own.into_iter().chain(others).collect();
        let service = Service::from_samples(&delays)?;
        Ok(Self { service, delays, changed: None })
    }
}

/// The pool as a planner sees it with `files` stripes, these nodes not in service and this task
/// log, in the order in which tasks ended; none before enough is known.
pub fn measure(
    subject: &PlanSubject,
    files: u64,
    mut records: Vec<LogRecord>,
    down: &BTreeSet<NodeId>,
) -> Result<Option<Measurement>, ServiceError> {
    let Some(last) = records.last().map(|record| record.at) else { return Ok(None) };
    records.retain(|record| {
        record.operation == Operation::Read && last.since(record.at).as_secs_f64() < RECENT_S
    });
    let (reads, span_s) = needed_reads(&records);
    let mut of_nodes = BTreeMap::<NodeId, Vec<&LogRecord>>::new();
    for record in &records {
        of_nodes.entry(record.node).or_default().push(record);
    }
    let its = |node: &PlannedNode| of_nodes.get(&node.id).map_or(&[][..], |its| its);
    let seen: Vec<Option<Seen>> = subject.nodes.iter().map(|node| Seen::of(its(node))).collect();
    let mut known: Vec<&Seen> = seen.iter().flatten().collect();
    let code = subject.code;
    if known.len() < code.k() || reads.is_empty() || span_s < SPAN_MIN_S {
        return Ok(None);
    }
    known.sort_by(|a, b| a.service.mean().total_cmp(&b.service.mean()));
    let usual = known[known.len() / 2].clone();
    let seen = seen.into_iter().zip(&subject.nodes).map(|(seen, node)| match seen {
        Some(seen) => Ok(seen),
        None => Seen::of_few(its(node), &usual),
    });
    let seen = seen.collect::<Result<Vec<Seen>, _>>()?;
    let bytes = reads.iter().map(|record| record.bytes).sum::<u64>() / reads.len() as u64;
    let class = Class {
        rate: (reads.len() as f64 / code.k() as f64 / span_s).max(1e-6),
        files,
        k: code.k() as u32,
        chunk_bytes: bytes.max(1),
        survive_nodes: code.parity() as u32,
        survive_sites: subject.auto.survive_sites,
        spread: false,
    };
    let nodes = subject.nodes.iter().zip(&seen);
    let problem = Problem {
        nodes: nodes.map(|(node, seen)| planned(node, seen, down)).collect(),
        classes: [class].into(),
        seconds_per_money: subject.auto.seconds_per_dollar,
        seconds_per_moved_byte: 0.0,
    };
    let changed = (0..).zip(&seen).filter_map(|(at, seen)| Some((at, seen.changed?))).collect();
    let delays = seen.into_iter().map(|seen| seen.delays).collect();
    Ok(Some(Measurement { problem, delays, changed }))
}

fn planned(node: &PlannedNode, seen: &Seen, down: &BTreeSet<NodeId>) -> StorageNode {
    StorageNode {
        // Of several lanes as one that is as many times faster.
        service: seen.service.with_lanes(node.lanes),
        price_per_chunk: 0.0,
        price_per_byte: node.price_per_byte,
        site: node.site,
        vendor: node.site,
        capacity_bytes: u64::MAX,
        state: if down.contains(&node.id) { StorageNodeState::Down } else { StorageNodeState::Up },
    }
}
