//! What a running gateway says of its nodes, as an inventory.

use super::inventory::{Inventory, InventoryClass, InventoryNode, State};
use crate::moments::Measured;
use ripstop_assembly::config::Size;
use ripstop_estimator::{LogRecord, since_change};
use ripstop_placement::planning::needed_reads;

/// Stripes of a pool that nobody tells the number of.
const FILES: u64 = 100_000;

/// A pool of a gateway that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenPool {
    /// Its name.
    pub name: String,
    /// Its storage code, N and K, if that is told.
    pub code: Option<[usize; 2]>,
    /// Its nodes.
    pub nodes: Vec<SeenNode>,
}

/// A node of such a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenNode {
    /// Its number in task logs.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Tasks that it serves at once.
    pub lanes: u16,
    /// Whether it is in service.
    pub up: bool,
}

impl Inventory {
    /// Nodes, their lanes and states as they were seen; how long they serve a chunk, and how often
    /// they are asked, from the pool's task log.
    pub fn seen(pool: &SeenPool, log: &[LogRecord]) -> Self {
        of_log(pool, log)
    }
}

fn of_log(pool: &SeenPool, log: &[LogRecord]) -> Inventory {
    let mut notes = Vec::new();
    let all = Measured::of_records(log.iter()).map(in_any_size);
    let nodes = pool.nodes.iter().map(|node| {
        let its: Vec<_> = log.iter().filter(|record| record.node.0 == node.id).collect();
        let lately = since_change(&its).iter().copied();
        let seen = match (Measured::of_records(lately), &all) {
            (Ok(seen), _) => Some(in_any_size(seen)),
            (Err(_), Ok(all)) => {
                notes.push(format!(
                    "node {} has served too few reads to be known: it is taken for a node like the others",
                    node.name
                ));
                Some(*all)
            }
            (Err(_), Err(_)) => None,
        };
        InventoryNode {
            name: node.name.clone(),
            lanes: Some(node.lanes),
            state: Some(if node.up { State::Up } else { State::Down }),
            seen,
            ..InventoryNode::default()
        }
    });
    let nodes = nodes.collect();
    let class = class(pool, log, &mut notes);
    Inventory {
        pool: Some(pool.name.clone()),
        nodes,
        classes: vec![class],
        notes,
        ..Inventory::default()
    }
}

/// The log's own mix of sizes is what the nodes serve.
fn in_any_size(measured: Measured) -> Measured {
    Measured { chunk_bytes: None, ..measured }
}

/// The pool's stripes.
fn class(pool: &SeenPool, log: &[LogRecord], notes: &mut Vec<String>) -> InventoryClass {
    let (reads, span_s) = needed_reads(log);
    let count = reads.len();
    let k = pool.code.map(|[_, k]| k as u32);
    let rate = k.filter(|_| span_s > 0.0).map(|k| count as f64 / span_s / f64::from(k));
    let largest = reads.iter().map(|record| record.bytes).max();
    if reads.is_empty() {
        notes.push("the gateway's task log has no reads of chunks".into());
    }
    if let Some(rate) = rate {
        notes.push(format!(
            "{count} reads of chunks in {span_s:.1} s of the task log: {rate:.3} requests per second"
        ));
    }
    notes.push(format!(
        "how many stripes there are the gateway does not say: {FILES}, unless the inventory's class says files"
    ));
    InventoryClass {
        name: pool.name.clone(),
        rate_per_s: rate,
        files: Some(FILES),
        k,
        n: pool.code.map(|[n, _]| n as u32),
        chunk: largest.map(Size),
        ..InventoryClass::default()
    }
}
