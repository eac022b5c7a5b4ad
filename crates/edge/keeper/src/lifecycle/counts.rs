use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was done by buckets' rules since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Aged {
    /// Objects that keys stood for: deleted, or a delete marker put above them.
    pub objects: u64,
    /// Versions that were no longer what their keys stand for, removed.
    pub versions: u64,
    /// Delete markers of keys of which nothing else was left, removed.
    pub markers: u64,
    /// Uploads ended.
    pub uploads: u64,
    /// Versions moved to another class of storage.
    pub moved: u64,
    /// Their bytes, as they are stored.
    pub moved_bytes: u64,
    /// What was refused: somebody wrote meanwhile, or it must be kept.
    pub skipped: u64,
    /// What could not be done; it is due again in the next round.
    pub failed: u64,
}

impl Aged {
    /// What was removed in all.
    pub const fn removed(&self) -> u64 {
        self.objects + self.versions + self.markers + self.uploads
    }

    pub(super) const fn with(&self, more: &Self) -> Self {
        Self {
            objects: self.objects + more.objects,
            versions: self.versions + more.versions,
            markers: self.markers + more.markers,
            uploads: self.uploads + more.uploads,
            moved: self.moved + more.moved,
            moved_bytes: self.moved_bytes + more.moved_bytes,
            skipped: self.skipped + more.skipped,
            failed: self.failed + more.failed,
        }
    }
}

/// The same, added up.
#[derive(Debug, Default)]
pub struct AgedCounts(Mutex<Aged>);

impl AgedCounts {
    fn sum(&self) -> MutexGuard<'_, Aged> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it is now.
    pub fn now(&self) -> Aged {
        *self.sum()
    }

    pub(super) fn add(&self, more: &Aged) {
        let mut sum = self.sum();
        *sum = sum.with(more);
    }
}
