use crate::pool::HotPool;
use bytes::Bytes;
use ripstop_memory::{CodedMemory, CodedMemoryError, Presence};
use ripstop_model::{NodeId, Price};
use ripstop_runtime::{BlockKey, HotFound};
use ripstop_tier::TierAdmission;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// After this many lookups in a row that came too late, reads do not wait any more: nodes are asked
/// at once, until one comes in time.
const LATE_MAX: u32 = 3;
/// Bytes that a block takes about, to tell how many a tier may hold: of objects in packs.
const BLOCK_LEAST: u64 = 4 << 10;
/// Bytes of a block's key.
const KEY_LEN: usize = 21;

/// What a hot tier is told.
#[derive(Clone, Debug)]
pub struct HotTierSettings {
    /// Its name.
    pub name: String,
    /// How long a read waits for it before nodes are asked too.
    pub wait: Duration,
    /// Bytes of blocks that are on their way to be kept, at most.
    pub offers_max: usize,
    /// Bytes that servers have for it, as the memory is limited to.
    pub stored_max: u64,
}

/// Blocks in a memory tier. Cheap to clone.
#[derive(Clone)]
pub struct HotTier {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: HotTierSettings,
    pub(crate) memory: CodedMemory,
    admission: Mutex<TierAdmission>,
    /// Bytes on their way to be kept.
    offered: AtomicUsize,
    /// Lookups in a row that came too late.
    late: AtomicU32,
}

impl HotTier {
    /// Over a memory that nobody else writes to.
    pub fn new(memory: CodedMemory, settings: HotTierSettings) -> Self {
        memory.limit_memory(settings.stored_max);
        let names = usize::try_from(settings.stored_max / BLOCK_LEAST).unwrap_or(usize::MAX);
        let admission = Mutex::new(TierAdmission::new(names));
        let (offered, late) = (AtomicUsize::new(0), AtomicU32::new(0));
        Self { inner: Arc::new(Inner { settings, memory, admission, offered, late }) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.settings.name
    }

    /// Where its blocks are.
    pub fn memory(&self) -> &CodedMemory {
        &self.inner.memory
    }

    /// What a pool sees of it, whose nodes have these prices.
    pub fn of_pool(&self, pool: &str, prices: BTreeMap<NodeId, Price>) -> HotPool {
        HotPool::new(self.clone(), pool.to_owned(), prices)
    }

    pub(crate) fn patience(&self) -> Duration {
        let is_late = self.inner.late.load(Relaxed) >= LATE_MAX;
        if is_late { Duration::ZERO } else { self.inner.settings.wait }
    }

    /// A lookup came in time, or too late.
    pub(crate) fn note(&self, is_late: bool) {
        if !is_late {
            self.inner.late.store(0, Relaxed);
        } else if self.inner.late.fetch_add(1, Relaxed) + 1 == LATE_MAX {
            let tier = self.name();
            tracing::warn!(tier, "the memory tier answers late: nodes are asked beside it");
        }
    }

    pub(crate) async fn find(&self, keys: &[BlockKey]) -> Vec<HotFound> {
        let worth: Vec<bool> = {
            let mut admission = self.inner.admission.lock().unwrap_or_else(PoisonError::into_inner);
            keys.iter().map(|key| admission.asked(hash(*key))).collect()
        };
        let names: Vec<[u8; KEY_LEN]> = keys.iter().copied().map(name).collect();
        let names: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
        let found = self.inner.memory.get_each(&names).await;
        let each = found.into_iter().zip(worth).map(|(found, is_worth)| match found {
            Ok(Some(value)) => HotFound::Kept(value.bytes),
            Ok(None) if is_worth => HotFound::Wanted,
            Ok(None) | Err(_) => HotFound::Unwanted,
        });
        each.collect()
    }

    /// Room for this many bytes on their way, for as long as somebody has it.
    pub(crate) fn room(&self, len: usize) -> Option<Room> {
        let max = self.inner.settings.offers_max;
        let taken = |held: usize| held.checked_add(len).filter(|held| *held <= max);
        self.inner.offered.try_update(Relaxed, Relaxed, taken).ok()?;
        Some(Room { inner: self.inner.clone(), len })
    }

    /// Whether the block is kept now, by this or somebody else.
    pub(crate) async fn store(&self, key: BlockKey, sealed: Bytes) -> bool {
        let put = self.inner.memory.put(&name(key), sealed, Presence::Absent).await;
        matches!(put, Ok(_) | Err(CodedMemoryError::Condition(_)))
    }

    pub(crate) async fn forget(&self, key: BlockKey) {
        // If it cannot be forgotten it is found to be spoiled once more.
        let _ = self.inner.memory.delete(&name(key), Presence::Any).await;
    }
}

impl fmt::Debug for HotTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotTier").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

/// Bytes on their way to be kept.
pub(crate) struct Room {
    inner: Arc<Inner>,
    len: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.inner.offered.fetch_sub(self.len, Relaxed);
    }
}

/// What a block is called in the memory.
fn name(key: BlockKey) -> [u8; KEY_LEN] {
    let mut name = [0; KEY_LEN];
    name[..16].copy_from_slice(&key.stripe.0.to_le_bytes());
    name[16] = key.strip;
    name[17..].copy_from_slice(&key.block.to_le_bytes());
    name
}

/// Tells blocks apart, nearly always.
fn hash(key: BlockKey) -> u64 {
    let (high, low) = ((key.stripe.0 >> 64) as u64, key.stripe.0 as u64);
    let place = u64::from(key.strip) << 32 | u64::from(key.block);
    let mixed = high.rotate_left(29) ^ low ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 31
}
