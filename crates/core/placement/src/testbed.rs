//! The paper's testbed: the setup of its Figs. 8 to 13.

use crate::{Class, Problem, Service, StorageNode, StorageNodeState};
use alloc::vec::Vec;

/// Measured service of a 12.5 MB chunk: mean 13.9 s, deviation 4.3 s, third moment 3476.8 s³.
/// Its second moment, 211.8 s² as printed, is that of mean and deviation up to rounding.
pub const SERVICE: (f64, f64, f64) = (13.9, 211.8, 3476.8);

/// (k, requests per second) of the four classes of 250 files each.
pub const CLASSES: [(u32, f64); 4] = [(6, 0.0354), (7, 0.0236), (6, 0.0236), (4, 0.0354)];

/// A file's size in bytes.
pub const FILE_BYTES: u64 = 150_000_000;

/// Money for a byte: $1 for each 25 MB.
pub const PRICE_PER_BYTE: f64 = 1.0 / 25e6;

/// Nodes at each of the three sites.
pub const NODES_PER_SITE: u16 = 4;

/// The service time of a chunk, as measured.
pub fn service() -> Service {
    let (mean, second, third) = SERVICE;
    Service::new(mean, second, third).expect("the paper's moments fit each other")
}

/// The twelve nodes. The paper prints one node's measured service only, which all are given.
pub fn nodes() -> Vec<StorageNode> {
    let node = |site| StorageNode {
        service: service(),
        price_per_chunk: 0.0,
        price_per_byte: PRICE_PER_BYTE,
        site,
        vendor: 0,
        capacity_bytes: u64::MAX,
        state: StorageNodeState::Up,
    };
    (0..3 * NODES_PER_SITE).map(|at| node(at / NODES_PER_SITE)).collect()
}

/// 1000 files in four classes, with θ in seconds per dollar **of one file**: the paper's objective
/// adds up the money of all files, but its Fig. 13 shows "dollars for each user", so that the sum
/// over files is divided by their number here. `files` is the number of all files.
pub fn problem(files: u64, theta: f64) -> Problem {
    let class = |&(k, rate): &(u32, f64)| Class {
        rate,
        files: files / CLASSES.len() as u64,
        k,
        chunk_bytes: FILE_BYTES / u64::from(k),
        survive_nodes: 0,
        survive_sites: 0,
        spread: false,
    };
    Problem {
        nodes: nodes(),
        classes: CLASSES.iter().map(class).collect(),
        seconds_per_money: theta / files as f64,
        seconds_per_moved_byte: 0.0,
    }
}
