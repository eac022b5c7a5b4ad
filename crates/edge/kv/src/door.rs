//! What all connections share.

use crate::{
    clock::Clock,
    count::{Count, Counts, Totals},
    roll::Roll,
    settings::KvSettings,
    shelf::{Shelf, ShelfGauge},
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The shelf, and what is counted.
#[derive(Debug)]
pub(crate) struct Door<S> {
    pub(crate) shelf: S,
    pub(crate) clock: Clock,
    pub(crate) settings: KvSettings,
    pub(crate) counts: Arc<Counts>,
    /// Who is connected.
    pub(crate) roll: Roll,
    /// Connections that there are.
    pub(crate) open: Arc<AtomicUsize>,
    /// Bytes of values that are on their way in.
    pub(crate) incoming: AtomicUsize,
    /// What clients had reset.
    reset: Mutex<(Totals, ShelfGauge)>,
}

impl<S: Shelf> Door<S> {
    pub(crate) fn new(shelf: S, settings: KvSettings) -> Self {
        Self {
            shelf,
            clock: Clock::start(),
            settings,
            counts: Arc::default(),
            roll: Roll::default(),
            open: Arc::default(),
            incoming: AtomicUsize::new(0),
            reset: Mutex::default(),
        }
    }

    /// What clients see: counts since somebody reset them.
    pub(crate) fn seen(&self) -> (Totals, ShelfGauge) {
        let (totals, gauge) = *self.reset.lock().unwrap_or_else(PoisonError::into_inner);
        (self.counts.all().since(&totals), since(self.shelf.gauge(), &gauge))
    }

    /// Counts begin with nothing, for clients.
    pub(crate) fn reset(&self) {
        let now = (self.counts.all(), self.shelf.gauge());
        *self.reset.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.counts.of(Count::Connection)
    }
}

/// What a shelf did since; what it has is as it is.
fn since(now: ShelfGauge, before: &ShelfGauge) -> ShelfGauge {
    ShelfGauge {
        stored: now.stored - before.stored,
        evicted: now.evicted - before.evicted,
        evicted_unfetched: now.evicted_unfetched - before.evicted_unfetched,
        reclaimed: now.reclaimed - before.reclaimed,
        expired_unfetched: now.expired_unfetched - before.expired_unfetched,
        found_ended: now.found_ended - before.found_ended,
        found_flushed: now.found_flushed - before.found_flushed,
        ..now
    }
}
