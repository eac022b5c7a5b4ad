use ripstop_model::TenantId;
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smallest share of memory that is counted, in bytes.
const UNIT: usize = 1 << 10;

/// The least of an object that is fetched at once, in bytes, unless less is wanted.
const SLICE_MIN: usize = 256 << 10;

/// What memory is wanted for. Each has a part of its own, so that none holds up the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Bytes from a client: half of the memory.
    Write,
    /// Stripes that are checked or mended: an eighth.
    Background,
}

/// The bytes of strips that may be in memory at once: the named limit `memory_max`.
///
/// Whoever wants more waits its turn. Nobody waits for memory while others need what it holds: a
/// stripe asks once, for all it takes, and gives back as its fragments are done with. Tenants have
/// parts of their own ([`Memory::divide`]), so that none waits for memory that another holds.
#[derive(Clone, Debug)]
pub struct Memory {
    units: usize,
    background: Part,
    accounts: Arc<RwLock<BTreeMap<TenantId, TenantMemory>>>,
}

/// What a tenant has of the memory.
#[derive(Clone, Debug)]
pub struct TenantMemory {
    share: f64,
    patience: Option<Duration>,
    writes: Part,
    /// Slices of objects on their way to clients: a quarter and a sixteenth of the whole.
    slices: Part,
    /// Those of at most [`SLICE_MIN`]: a sixteenth. However slowly large objects are read, small ones
    /// pass.
    small: Part,
}

/// A tenant's claim to memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryClaim {
    /// Whose.
    pub tenant: TenantId,
    /// Part of the whole; what all leave over is everybody else's, and at least an eighth.
    pub share: f64,
    /// How long a request waits for memory before it is refused; for ever if never.
    pub patience: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Part {
    units: Arc<Semaphore>,
    units_max: u32,
}

impl Part {
    fn new(units_max: usize) -> Self {
        let units_max = u32::try_from(units_max).unwrap_or(u32::MAX).clamp(1, u32::MAX >> 4);
        Self { units: Arc::new(Semaphore::new(units_max as usize)), units_max }
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.units_max)
    }

    async fn acquire(&self, bytes: usize) -> Share {
        let permit = self.units.clone().acquire_many_owned(self.units(bytes)).await;
        Share(permit.expect("the semaphore is never closed"))
    }

    fn try_acquire(&self, bytes: usize) -> Option<Share> {
        self.units.clone().try_acquire_many_owned(self.units(bytes)).ok().map(Share)
    }

    fn free(&self) -> usize {
        self.units.available_permits() * UNIT
    }
}

/// A share of the memory, given back as it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    /// At most `bytes_max` bytes at once.
    pub fn new(bytes_max: usize) -> Self {
        let units = bytes_max / UNIT;
        let background = Part::new(units / 8);
        let all = TenantMemory::new(units, 1.0, None);
        Self {
            units,
            background,
            accounts: Arc::new(RwLock::new([(TenantId::ANYBODY, all)].into())),
        }
    }

    fn accounts(&self) -> RwLockReadGuard<'_, BTreeMap<TenantId, TenantMemory>> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on memory is divided so. What is held stays held until it is given back, beside the
    /// new parts: for that time there can be up to twice as much in use.
    pub fn divide(&self, claims: &[MemoryClaim]) {
        /// What those who claim nothing keep.
        const REST_MIN: f64 = 0.125;
        let wanted: f64 = claims.iter().map(|claim| claim.share).sum();
        let scale = if wanted > 1.0 - REST_MIN { (1.0 - REST_MIN) / wanted } else { 1.0 };
        let rest = 1.0 - wanted * scale;
        let everybody = MemoryClaim { tenant: TenantId::ANYBODY, share: rest, patience: None };
        let scaled =
            claims.iter().map(|claim| MemoryClaim { share: claim.share * scale, ..*claim });
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::take(&mut *accounts);
        for claim in scaled.chain([everybody]) {
            let kept = former
                .get(&claim.tenant)
                .filter(|held| (held.share - claim.share).abs() < f64::EPSILON);
            let account = match kept {
                Some(held) => TenantMemory { patience: claim.patience, ..held.clone() },
                None => TenantMemory::new(self.units, claim.share, claim.patience),
            };
            accounts.insert(claim.tenant, account);
        }
    }

    /// What a tenant has; of whoever has no part of its own, what everybody has.
    pub fn of(&self, tenant: TenantId) -> TenantMemory {
        let accounts = self.accounts();
        let found = accounts.get(&tenant).or_else(|| accounts.get(&TenantId::ANYBODY));
        found.expect("everybody has a part").clone()
    }

    /// Waits for `bytes` of what everybody has; for all there is for this purpose, if they are more
    /// than that.
    pub async fn acquire(&self, purpose: Purpose, bytes: usize) -> Share {
        match purpose {
            Purpose::Write => self.of(TenantId::ANYBODY).acquire(bytes).await,
            Purpose::Background => self.background.acquire(bytes).await,
        }
    }

    /// Whether nobody has any.
    pub fn is_free(&self) -> bool {
        let whole = |part: &Part| part.units.available_permits() == part.units_max as usize;
        whole(&self.background) && self.accounts().values().flat_map(TenantMemory::parts).all(whole)
    }

    /// Bytes that nobody has now.
    pub fn free(&self) -> usize {
        let accounts = self.accounts();
        let parts = accounts.values().flat_map(TenantMemory::parts);
        self.background.free() + parts.map(Part::free).sum::<usize>()
    }
}

impl TenantMemory {
    fn new(units: usize, share: f64, patience: Option<Duration>) -> Self {
        let of = |units: usize| (units as f64 * share) as usize;
        let (background, small) = (units / 8, units / 16);
        let slices = units / 2 - background - small;
        Self {
            share,
            patience,
            writes: Part::new(of(units - background - small - slices)),
            slices: Part::new(of(slices)),
            small: Part::new(of(small)),
        }
    }

    fn parts(&self) -> [&Part; 3] {
        [&self.writes, &self.slices, &self.small]
    }

    /// How long a request waits for memory before it is refused, if it ever is.
    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Waits for `bytes` for a write; for all there is for writes, if they are more than that.
    pub async fn acquire(&self, bytes: usize) -> Share {
        self.writes.acquire(bytes).await
    }

    /// Memory for the next slice of an object that a client reads, and the slice's length: `wanted`
    /// bytes while memory is plentiful, less when many readers share it. Half is kept for slices of the
    /// least length, so that a few clients that read slowly do not come to hold all.
    ///
    /// What is `indivisible` is had as a whole until only that half is left.
    pub async fn acquire_slice(&self, wanted: usize, indivisible: bool) -> (Share, usize) {
        if wanted <= SLICE_MIN {
            return (self.small.acquire(wanted).await, wanted);
        }
        let spare = self.slices.free().saturating_sub(self.slices.units_max as usize * UNIT / 2);
        let most = if indivisible && wanted <= spare { wanted } else { spare / 2 };
        let len = wanted.min(most.max(SLICE_MIN));
        match self.slices.try_acquire(len) {
            Some(share) => (share, len),
            None => (self.slices.acquire(SLICE_MIN).await, SLICE_MIN),
        }
    }
}

impl Share {
    /// Gives back `bytes` of it, rounded down to what is counted.
    pub fn release(&mut self, bytes: usize) {
        drop(self.0.split((bytes / UNIT).min(self.0.num_permits())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shares_come_back_whole_and_in_part() {
        let memory = Memory::new(32 * UNIT);
        assert_eq!(memory.free(), 32 * UNIT);
        let mut share = memory.acquire(Purpose::Write, 8 * UNIT).await;
        assert_eq!(memory.free(), 24 * UNIT);
        share.release(5 * UNIT);
        assert_eq!(memory.free(), 29 * UNIT);
        drop(share);
        drop(memory.acquire(Purpose::Write, 1000 * UNIT).await);
        assert_eq!(memory.free(), 32 * UNIT);
    }

    #[tokio::test]
    async fn writers_and_slow_readers_hold_up_no_small_read() {
        let memory = Memory::new(128 << 20);
        let _written = memory.acquire(Purpose::Write, 128 << 20).await;
        let _checked = memory.acquire(Purpose::Background, 128 << 20).await;
        let mut slices = Vec::new();
        for _ in 0..80 {
            slices.push(memory.of(TenantId::ANYBODY).acquire_slice(8 << 20, false).await);
        }
        assert_eq!(slices[0].1, 8 << 20, "plenty for the first");
        assert_eq!(slices[79].1, SLICE_MIN, "little for the last");
        drop(memory.of(TenantId::ANYBODY).acquire_slice(1000, false).await);
    }

    #[tokio::test]
    async fn what_one_tenant_holds_keeps_nobody_else_waiting() {
        let memory = Memory::new(128 << 20);
        let all = memory.free();
        let patience = Some(Duration::from_millis(5));
        let claim = |tenant, share| MemoryClaim { tenant: TenantId(tenant), share, patience };
        memory.divide(&[claim(1, 0.5), claim(2, 0.25)]);
        assert!(memory.is_free());
        assert!(all - memory.free() < 16 * UNIT, "rounded down, no more");
        let flood = memory.of(TenantId(1));
        let _held = flood.acquire(1 << 30).await;
        assert!(!memory.is_free());
        assert!(tokio::time::timeout(Duration::from_millis(5), flood.acquire(UNIT)).await.is_err());
        for other in [TenantId(2), TenantId(3), TenantId::ANYBODY] {
            drop(memory.of(other).acquire(8 << 20).await);
        }
        assert_eq!(memory.of(TenantId(3)).patience(), None);
        // Too much is scaled down, and what did not change is as it was.
        memory.divide(&[claim(1, 0.5), claim(2, 1.0)]);
        assert!(memory.free() <= all);
        memory.divide(&[]);
        assert_eq!(memory.free(), all);
    }

    #[tokio::test]
    async fn what_is_indivisible_is_whole_until_half_is_left() {
        let memory = Memory::new(128 << 20);
        let mut slices = Vec::new();
        for _ in 0..6 {
            slices.push(memory.of(TenantId::ANYBODY).acquire_slice(6 << 20, true).await);
        }
        let lens: Vec<usize> = slices.iter().map(|(_, len)| *len).collect();
        assert_eq!(lens[..4], [6 << 20, 6 << 20, 6 << 20, 1 << 20], "of 40 MiB for slices");
        assert!(lens[4] < 6 << 20);
    }
}
