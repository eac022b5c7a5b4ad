use ripstop_runtime::{NumberHistogram, TimeHistogram};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted of the small writes and deletions of a pool, all tenants together.
#[derive(Default, Debug)]
pub struct PackCounts {
    /// Those that left with others.
    pub together: AtomicU64,
    /// Those that left by themselves.
    pub alone: AtomicU64,
    /// Those of which a later one of their key took the place.
    pub collapsed: AtomicU64,
    /// Those that were refused, because as many waited as may.
    pub refused: AtomicU64,
    /// Members of each batch that departed, lone ones included.
    pub members: NumberHistogram,
    /// Bytes of objects in them.
    pub bytes: AtomicU64,
    /// From a member's coming to its departure.
    pub waited: TimeHistogram,
}

impl PackCounts {
    /// A batch departs, of this many members and bytes of objects.
    pub(super) fn departed(&self, members: usize, bytes: usize) {
        let left = if members < 2 { &self.alone } else { &self.together };
        left.fetch_add(members as u64, Relaxed);
        self.members.add(members);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }
}
