use ripstop_block::Blocks;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smallest share of memory that is counted, in bytes.
pub(super) const UNIT: usize = 1 << 10;

/// A part of the memory that is for one purpose. Requests for it are served in the order in which
/// they came.
#[derive(Debug)]
pub(super) struct Part {
    units: Arc<Semaphore>,
    units_max: u32,
    waiting: AtomicUsize,
    blocks: Blocks,
}

/// A share of the memory, given back as it is dropped.
#[derive(Debug)]
pub struct Share {
    permit: OwnedSemaphorePermit,
    part: Arc<Part>,
}

/// One that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Part {
    pub(super) fn new(units_max: usize, blocks: &Blocks) -> Arc<Self> {
        let units_max = u32::try_from(units_max).unwrap_or(u32::MAX).clamp(1, u32::MAX >> 4);
        Arc::new(Self {
            units: Arc::new(Semaphore::new(units_max as usize)),
            units_max,
            waiting: AtomicUsize::new(0),
            blocks: blocks.clone(),
        })
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.units_max)
    }

    /// Waits for `bytes`; for all there is, if they are more than that.
    pub(super) async fn acquire(self: &Arc<Self>, bytes: usize) -> Share {
        if let Some(share) = self.try_acquire(bytes) {
            return share;
        }
        self.waiting.fetch_add(1, Relaxed);
        let _waiting = Waiting(&self.waiting);
        let permit = self.units.clone().acquire_many_owned(self.units(bytes)).await;
        Share { permit: permit.expect("the semaphore is never closed"), part: self.clone() }
    }

    /// `bytes`, if they are free and nobody waits for them.
    pub(super) fn try_acquire(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let permit = self.units.clone().try_acquire_many_owned(self.units(bytes)).ok()?;
        Some(Share { permit, part: self.clone() })
    }

    pub(super) fn free(&self) -> usize {
        self.units.available_permits() * UNIT
    }

    pub(super) fn len(&self) -> usize {
        self.units_max as usize * UNIT
    }

    pub(super) fn is_free(&self) -> bool {
        self.units.available_permits() == self.units_max as usize
    }

    /// The part of it that is taken; 1 if somebody waits.
    pub(super) fn pressure(&self) -> f64 {
        if self.waiting.load(Relaxed) > 0 {
            return 1.0;
        }
        1.0 - self.free() as f64 / self.len() as f64
    }
}

impl Share {
    /// Gives back `bytes` of it, rounded down to what is counted.
    pub fn release(&mut self, bytes: usize) {
        drop(self.permit.split((bytes / UNIT).min(self.permit.num_permits())));
    }

    /// Keeps no more than `bytes` of it.
    pub fn shrink_to(&mut self, bytes: usize) {
        let kept = bytes.div_ceil(UNIT).max(1);
        drop(self.permit.split(self.permit.num_permits().saturating_sub(kept)));
    }

    /// Takes `bytes` more, if they are free.
    #[must_use]
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        let Some(more) = self.part.try_acquire(bytes) else { return false };
        self.permit.merge(more.permit);
        true
    }

    /// Whether others wait for such memory.
    pub fn is_wanted(&self) -> bool {
        self.part.waiting.load(Relaxed) > 0
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.permit.num_permits() * UNIT
    }

    /// Whether it is no byte.
    pub fn is_empty(&self) -> bool {
        self.permit.num_permits() == 0
    }

    /// The blocks that what it is for goes into.
    pub fn blocks(&self) -> &Blocks {
        &self.part.blocks
    }
}
