use ripstop_runtime::HotOutcome;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What a pool's reads found, and what that spared.
#[derive(Clone, PartialEq, Debug)]
pub struct HotStatus {
    /// The pool's name.
    pub pool: String,
    /// The tier's name.
    pub tier: String,
    /// Reads, by how they fared.
    pub reads: [(HotOutcome, u64); 4],
    /// Bytes of blocks that were found and used.
    pub bytes: u64,
    /// Requests that nodes were spared, at least: redundant ones are not counted.
    pub requests_spared: u64,
    /// Dollars that these would have cost, by the prices of their nodes.
    pub dollars_spared: f64,
    /// Seconds that reads would have taken longer, had they taken as long as those of nodes did.
    pub seconds_spared: f64,
    /// Blocks that were given to be kept and are.
    pub kept: u64,
    /// Blocks that were not kept, since as many were on their way as may be.
    pub passed_over: u64,
    /// Blocks that could not be kept, for want of servers for example.
    pub failed: u64,
    /// Blocks that came back other than they were given.
    pub spoiled: u64,
}

/// Picodollars in a dollar.
const PICO: f64 = 1e12;
/// How much one read that nodes answered says of the next.
const WEIGHT: f64 = 0.05;

/// What [`HotStatus`] tells.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    reads: [AtomicU64; 4],
    bytes: AtomicU64,
    requests_spared: AtomicU64,
    picodollars_spared: AtomicU64,
    nanos_spared: AtomicU64,
    /// How long reads take that nodes answer, on average: bits of a number of nanoseconds. Of two
    /// that end at once one may be left out.
    usual: AtomicU64,
    pub(crate) kept: AtomicU64,
    pub(crate) passed_over: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) spoiled: AtomicU64,
}

impl Counts {
    pub(crate) fn read(&self, outcome: HotOutcome, took: Duration) {
        self.reads[outcome as usize].fetch_add(1, Relaxed);
        let took = took.as_nanos() as f64;
        let usual = f64::from_bits(self.usual.load(Relaxed));
        match outcome {
            HotOutcome::Hit => {
                self.nanos_spared.fetch_add((usual - took).max(0.0) as u64, Relaxed);
            }
            HotOutcome::Miss | HotOutcome::Late => {
                let usual = if usual > 0.0 { usual + (took - usual) * WEIGHT } else { took };
                self.usual.store(usual.to_bits(), Relaxed);
            }
            HotOutcome::Partial => {}
        }
    }

    pub(crate) fn spared(&self, requests: usize, bytes: u64, dollars: f64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.requests_spared.fetch_add(requests as u64, Relaxed);
        self.picodollars_spared.fetch_add((dollars * PICO) as u64, Relaxed);
    }

    pub(crate) fn status(&self, pool: &str, tier: &str) -> HotStatus {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        HotStatus {
            pool: pool.to_owned(),
            tier: tier.to_owned(),
            reads: HotOutcome::ALL.map(|outcome| (outcome, count(&self.reads[outcome as usize]))),
            bytes: count(&self.bytes),
            requests_spared: count(&self.requests_spared),
            dollars_spared: count(&self.picodollars_spared) as f64 / PICO,
            seconds_spared: count(&self.nanos_spared) as f64 / 1e9,
            kept: count(&self.kept),
            passed_over: count(&self.passed_over),
            failed: count(&self.failed),
            spoiled: count(&self.spoiled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_spares_what_reads_of_nodes_take_longer() {
        let counts = Counts::default();
        counts.read(HotOutcome::Hit, Duration::from_millis(1));
        assert!(counts.status("p", "t").seconds_spared.abs() < 1e-12, "nothing is known of nodes");
        counts.read(HotOutcome::Miss, Duration::from_millis(101));
        counts.read(HotOutcome::Hit, Duration::from_millis(1));
        counts.read(HotOutcome::Hit, Duration::from_secs(1));
        counts.spared(3, 1000, 3.0 * 0.4e-6);
        let status = counts.status("p", "t");
        assert!((status.seconds_spared - 0.1).abs() < 1e-9, "{status:?}");
        assert!((status.dollars_spared - 1.2e-6).abs() < 1e-11, "{status:?}");
        assert_eq!(status.reads.map(|(_, count)| count), [3, 0, 1, 0]);
    }
}
