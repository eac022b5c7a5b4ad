//! A pool as its task log shows it.

use crate::moments::{Measured, needed_reads, quantiles};
use anyhow::Result;
use ripstop_assembly::config::{AutoPlan, NodeConfig, PoolConfig};
use ripstop_estimator::{LogRecord, since_change};
use ripstop_model::{Code, NodeId, Operation};
use ripstop_placement::{Class, Node, NodeState, Problem, Service};
use std::collections::BTreeMap;

/// How many of the last seconds of the task log say, at most, how fast nodes are.
const RECENT_S: f64 = 600.0;
/// A log of fewer seconds does not say at which rate requests come.
const SPAN_MIN_S: f64 = 5.0;
/// The reads of a node with few count beside this many of a node in the middle.
const USUAL_READS: usize = 10;

/// Equally likely delays that stand for a node's.
pub(super) const DELAYS: usize = 400;

/// A pool as it was measured.
pub(super) struct Measurement {
    /// For the planner: one class, its nodes in the order of the configuration.
    pub problem: Problem,
    /// Each node's delays: this many equally likely values, seconds.
    pub delays: Vec<Vec<f64>>,
}

/// The pool that is measured.
pub(super) struct Measuring<'a> {
    pub config: &'a PoolConfig,
    /// Numbers and names, in the order of the configuration.
    pub nodes: &'a [(NodeId, String)],
    pub code: Code,
    /// Stripes that are planned for.
    pub files: u64,
    pub auto: AutoPlan,
}

/// How a node serves.
#[derive(Clone)]
struct Seen {
    service: Service,
    /// Equally likely, ascending, seconds.
    delays: Vec<f64>,
}

impl Seen {
    /// None with too few reads.
    fn of(records: &[&LogRecord]) -> Option<Self> {
        let lately = since_change(records);
        let measured = Measured::of_records(lately.iter().copied()).ok()?;
        let delays = quantiles(lately.iter().copied(), DELAYS);
        Some(Self { service: measured.service, delays })
    }

    /// Of a node with few reads: those, and some of a node like the others.
    fn of_few(records: &[&LogRecord], usual: &Self) -> Result<Self> {
        let own = quantiles(records.iter().copied(), records.len());
        let others = usual.delays.iter().step_by(DELAYS / USUAL_READS).copied();
        let delays: Vec<f64> = own.into_iter().chain(others).collect();
        let service = Service::from_samples(&delays)?;
        Ok(Self { service, delays })
    }
}

/// The pool as a planner sees it with these nodes in service and this task log; none before enough
/// is known.
pub(super) fn measure(
    pool: &Measuring<'_>,
    mut records: Vec<LogRecord>,
    up: &BTreeMap<NodeId, bool>,
) -> Result<Option<Measurement>> {
    let Some(last) = records.last().map(|record| record.at) else { return Ok(None) };
    records.retain(|record| {
        record.operation == Operation::Read && last.since(record.at).as_secs_f64() < RECENT_S
    });
    let (reads, span_s) = needed_reads(&records);
    let code = pool.code;
    let of_nodes: Vec<Vec<&LogRecord>> = pool
        .nodes
        .iter()
        .map(|(id, _)| records.iter().filter(|record| record.node == *id).collect())
        .collect();
    let seen: Vec<Option<Seen>> = of_nodes.iter().map(|its| Seen::of(its)).collect();
    let mut known: Vec<&Seen> = seen.iter().flatten().collect();
    if known.len() < code.k() || reads.is_empty() || span_s < SPAN_MIN_S {
        return Ok(None);
    }
    known.sort_by(|a, b| a.service.mean().total_cmp(&b.service.mean()));
    let usual = known[known.len() / 2].clone();
    let seen = seen.into_iter().zip(&of_nodes).map(|(seen, its)| match seen {
        Some(seen) => Ok(seen),
        None => Seen::of_few(its, &usual),
    });
    let seen = seen.collect::<Result<Vec<Seen>>>()?;
    let bytes = reads.iter().map(|record| record.bytes).sum::<u64>() / reads.len() as u64;
    let class = Class {
        rate: (reads.len() as f64 / code.k() as f64 / span_s).max(1e-6),
        files: pool.files,
        k: code.k() as u32,
        chunk_bytes: bytes.max(1),
        survive_nodes: code.parity() as u32,
        survive_sites: pool.auto.survive_sites,
        spread: false,
    };
    let problem = Problem {
        nodes: nodes(pool.config, &seen, |at| up.get(&pool.nodes[at].0) != Some(&false)),
        classes: vec![class],
        seconds_per_money: pool.auto.seconds_per_dollar,
        seconds_per_moved_byte: 0.0,
    };
    let delays = seen.into_iter().map(|seen| seen.delays).collect();
    Ok(Some(Measurement { problem, delays }))
}

fn nodes(config: &PoolConfig, seen: &[Seen], is_up: impl Fn(usize) -> bool) -> Vec<Node> {
    let sites = sites(config);
    let node = |(at, (config, seen)): (usize, (&NodeConfig, &Seen))| Node {
        // Of several lanes as one that is as many times faster.
        service: seen.service.with_lanes(config.lanes),
        price_per_chunk: 0.0,
        price_per_byte: config.price.per_gb_month.unwrap_or(0.0) / 1e9,
        site: sites[at],
        vendor: sites[at],
        capacity_bytes: u64::MAX,
        state: if is_up(at) { NodeState::Up } else { NodeState::Down },
    };
    config.nodes.iter().zip(seen).enumerate().map(node).collect()
}

/// The site of each node, as a number; nodes without one are sites of their own.
fn sites(config: &PoolConfig) -> Vec<u16> {
    let mut numbers = BTreeMap::new();
    let site = |node: &NodeConfig| {
        let name = node.site.clone().unwrap_or_else(|| format!("of {}", node.name));
        let next = numbers.len() as u16;
        *numbers.entry(name).or_insert(next)
    };
    config.nodes.iter().map(site).collect()
}
