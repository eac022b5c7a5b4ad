use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// Where time went, in nanoseconds since the start, summed over all threads.
#[derive(Debug, Default)]
pub struct Spent {
    /// Computing parity, and the checksums of fragments on their way out.
    pub encode: AtomicU64,
    /// Computing strips that were not fetched.
    pub decode: AtomicU64,
    /// Checking the checksums of fragments on their way in.
    pub verify: AtomicU64,
    /// Waiting for nodes to store.
    pub node_put: AtomicU64,
    /// Waiting for nodes to fetch.
    pub node_get: AtomicU64,
}

impl Spent {
    /// Adds the time since `start` to one of the sums.
    pub fn add(sum: &AtomicU64, start: Instant) {
        sum.fetch_add(ripstop_host::since(start).as_nanos() as u64, Relaxed);
    }
}
