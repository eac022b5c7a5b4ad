//! The paper's testbed, a hundred times faster, its sites unlike.

use ripstop_delay::{DelayModel, ShiftedExponential};
use ripstop_gateway::MachineSettings;
use ripstop_model::Code;
use ripstop_placement::{Class, Problem, Service, StorageNode, StorageNodeState};
use ripstop_policy::Policy;
use ripstop_rehearsal::{Rehearsal, arrivals};
use std::time::Duration;

pub(super) const NODES: u16 = 12;
const NODES_PER_SITE: u16 = 4;
/// How slow the nodes of a site are: the client is at the first. The paper prints one node's times
/// only, so the pattern is ours.
pub(super) const FACTORS: [f64; 3] = [0.6, 1.0, 1.4];
/// Measured at one of the paper's nodes for a chunk of 12.5 MB: 13.9 s and 4.3 s.
pub(super) const MEAN_S: f64 = 0.139;
const DEVIATION_S: f64 = 0.043;
pub(super) const K: u32 = 4;
const SURVIVE: u32 = 3;
/// Stripes that are read, by turns.
pub(super) const STRIPES: usize = 240;
/// Bytes of a stripe: small, so that the delays are what takes time.
pub(super) const STRIPE_BYTES: u32 = 16 << 10;

pub(super) fn code() -> Code {
    Code::new((K + SURVIVE) as usize, K as usize).expect("4 of 7 is a code")
}

pub(super) fn factor(node: u16) -> f64 {
    FACTORS[usize::from(node / NODES_PER_SITE)]
}

/// The law of all nodes' delays, as slow as the middle site: exponential with the measured
/// deviation, shifted to the measured mean.
pub(super) const DELAY: ShiftedExponential = ShiftedExponential {
    shift_ms: (MEAN_S - DEVIATION_S) * 1000.0,
    shift_ms_per_mb: 0.0,
    mean_ms: DEVIATION_S * 1000.0,
    mean_ms_per_mb: 0.0,
};

/// The same for a node that is this many times as slow.
pub(super) fn delay(factor: f64) -> ShiftedExponential {
    let ShiftedExponential { shift_ms, mean_ms, .. } = DELAY;
    ShiftedExponential { shift_ms: shift_ms * factor, mean_ms: mean_ms * factor, ..DELAY }
}

/// The moments of that.
pub(super) fn service(factor: f64) -> Service {
    let (shift, mean) = ((MEAN_S - DEVIATION_S) * factor, DEVIATION_S * factor);
    let second = shift * shift + 2.0 * shift * mean + 2.0 * mean * mean;
    let third =
        shift.powi(3) + 3.0 * shift * shift * mean + 6.0 * shift * mean * mean + 6.0 * mean.powi(3);
    Service::new(shift + mean, second, third).expect("they are the moments of a law")
}

/// Reads a second at which the nodes are used to such a share.
pub(super) fn rate(load: f64) -> f64 {
    load * (0..NODES).map(|node| service(factor(node)).rate()).sum::<f64>() / f64::from(K)
}

/// What the planner is to solve: latency alone, any node's chunk costs the same.
pub(super) fn problem(rate: f64) -> Problem {
    let node = |at: u16| StorageNode {
        service: service(factor(at)),
        price_per_chunk: 1.0,
        price_per_byte: 0.0,
        site: at / NODES_PER_SITE,
        vendor: 0,
        capacity_bytes: u64::MAX,
        state: StorageNodeState::Up,
    };
    let class = Class {
        rate,
        files: STRIPES as u64,
        k: K,
        chunk_bytes: u64::from(STRIPE_BYTES / K),
        survive_nodes: SURVIVE,
        survive_sites: 0,
        spread: false,
    };
    Problem {
        nodes: (0..NODES).map(node).collect(),
        classes: vec![class],
        seconds_per_money: 0.0,
        seconds_per_moved_byte: 0.0,
    }
}

/// The nodes in the simulator, one lane each.
pub(super) fn rehearsal(
    settings: MachineSettings,
    delay: &dyn Fn(u16) -> Box<dyn DelayModel>,
    seed: u64,
) -> Rehearsal<'_> {
    Rehearsal {
        settings,
        policy: &fixed,
        lanes: &[1; NODES as usize],
        delay,
        k: K as u8,
        strip_bytes: STRIPE_BYTES / K,
        seed,
    }
}

/// The policy of all of them.
fn fixed() -> Box<dyn Policy> {
    ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default())
        .expect("it is registered")
}

/// When reads arrive: independent of one another.
pub(super) fn times(rate: f64, seconds: f64, seed: u64) -> Vec<Duration> {
    arrivals(rate, seed).take_while(|at| at.as_secs_f64() < seconds).collect()
}
