use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// How far a rebuild has come. Clones show the same.
#[derive(Clone, Debug, Default)]
pub struct RebuildProgress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    fragments: AtomicU64,
    objects: AtomicU64,
}

impl RebuildProgress {
    /// Fragments read.
    pub fn fragments(&self) -> u64 {
        self.0.fragments.load(Ordering::Relaxed)
    }

    /// Objects made.
    pub fn objects(&self) -> u64 {
        self.0.objects.load(Ordering::Relaxed)
    }

    pub(super) fn have_read(&self, fragments: u64) {
        self.0.fragments.fetch_add(fragments, Ordering::Relaxed);
    }

    pub(super) fn have_made(&self, objects: u64) {
        self.0.objects.fetch_add(objects, Ordering::Relaxed);
    }
}
