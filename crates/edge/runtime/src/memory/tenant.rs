use super::part::{Part, Share};
use ripstop_block::{BLOCK_LEN, Blocks};
use ripstop_shaping::MemoryPart;
use std::{sync::Arc, time::Duration};

/// The least of an object that is fetched at once while there is memory, in bytes, unless less is
/// wanted.
const SLICE_MIN: usize = 256 << 10;
/// The least where most of the memory is taken: one block.
const SLICE_TIGHT: usize = BLOCK_LEN;

/// What a tenant has of the memory. Cheap to clone: every request does.
#[derive(Clone, Debug)]
pub struct TenantMemory {
    patience: Option<Duration>,
    parts: Arc<Parts>,
}

/// How much of the whole each has: see [`MemoryPart`].
#[derive(Debug)]
struct Parts {
    share: f64,
    arriving: Arc<Part>,
    complete: Arc<Part>,
    slow: Arc<Part>,
    fast: Arc<Part>,
    slices: Arc<Part>,
    /// For slices of at most [`SLICE_MIN`].
    small: Arc<Part>,
}

/// Memory for a slice of an object.
#[derive(Debug)]
pub struct ReadSlice {
    /// Given back as it is dropped.
    pub share: Share,
    /// Bytes of the object that it is for.
    pub len: usize,
}

impl TenantMemory {
    pub(super) fn new(
        units: usize,
        share: f64,
        patience: Option<Duration>,
        blocks: &Blocks,
    ) -> Self {
        let part = |part: MemoryPart| Part::new(part.units(units, share), blocks);
        let parts = Parts {
            share,
            arriving: part(MemoryPart::Arriving),
            complete: part(MemoryPart::Complete),
            slow: part(MemoryPart::Slow),
            fast: part(MemoryPart::Fast),
            slices: part(MemoryPart::Slices),
            small: part(MemoryPart::Small),
        };
        Self { patience, parts: Arc::new(parts) }
    }

    pub(super) fn has_share(&self, share: f64) -> bool {
        (self.parts.share - share).abs() < f64::EPSILON
    }

    pub(super) fn with_patience(self, patience: Option<Duration>) -> Self {
        Self { patience, ..self }
    }

    pub(super) fn parts(&self) -> [&Part; 6] {
        let parts = &*self.parts;
        [&parts.arriving, &parts.complete, &parts.slow, &parts.fast, &parts.slices, &parts.small]
    }

    /// Those that slow bodies fill.
    pub(super) fn write_parts(&self) -> [&Part; 2] {
        [&self.parts.arriving, &self.parts.slow]
    }

    pub(super) fn read_parts(&self) -> [&Part; 2] {
        [&self.parts.slices, &self.parts.small]
    }

    /// How long a request waits for memory before it is refused, where its tenant has a say in it.
    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Waits for `bytes` for the first bytes of a body.
    pub async fn acquire_arriving(&self, bytes: usize) -> Share {
        self.parts.arriving.acquire(bytes).await
    }

    /// Waits for `bytes` for a stripe whose payload is all there.
    pub async fn acquire_complete(&self, bytes: usize) -> Share {
        self.parts.complete.acquire(bytes).await
    }

    /// Waits for `bytes` for a stripe of a body that comes slowly.
    pub async fn acquire_slow(&self, bytes: usize) -> Share {
        self.parts.slow.acquire(bytes).await
    }

    /// Waits for `bytes` for a stripe of a body that comes fast; for all there is, if they are more
    /// than that.
    pub async fn acquire(&self, bytes: usize) -> Share {
        self.parts.fast.acquire(bytes).await
    }

    /// Memory for the next slice of an object that a client reads, and the slice's length: `wanted`
    /// bytes while memory is plentiful, less when many readers share it. Half is kept for slices of
    /// the least length, and of that half a half for slices of one block, so that a few clients
    /// that read slowly do not come to hold all.
    ///
    /// Fetching a byte takes `cost` bytes of memory: more than one where strips must be computed.
    /// What is `indivisible` is had as a whole until only that half is left.
    pub async fn acquire_slice(&self, wanted: usize, cost: f64, indivisible: bool) -> ReadSlice {
        let bytes = |len: usize| (len as f64 * cost.max(1.0)) as usize;
        if wanted <= SLICE_MIN && bytes(wanted) <= self.parts.small.len() / 8 {
            return ReadSlice { share: self.parts.small.acquire(bytes(wanted)).await, len: wanted };
        }
        let (free, all) = (self.parts.slices.free(), self.parts.slices.len());
        let spare = (free.saturating_sub(all / 2) as f64 / cost.max(1.0)) as usize;
        let least = if free > all / 4 { SLICE_MIN } else { SLICE_TIGHT };
        let most = if indivisible && wanted <= spare { wanted } else { spare / 2 };
        let len = wanted.min(most.max(least));
        if let Some(share) = self.parts.slices.try_acquire(bytes(len)) {
            return ReadSlice { share, len };
        }
        let len = wanted.min(SLICE_TIGHT);
        ReadSlice { share: self.parts.slices.acquire(bytes(len)).await, len }
    }
}
