//! The one budget of memory: who may hold how much, and for how long others wait for it.

mod part;
mod tenant;
#[cfg(test)]
mod tests;

pub use part::Share;
pub use tenant::{ReadSlice, TenantMemory};

use part::{Part, UNIT};
use ripstop_block::Blocks;
use ripstop_model::TenantId;
use ripstop_shaping::{MemoryPart, memory_shares};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

/// What memory is wanted for. Each purpose has a part of its own, so that none holds up the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Stripes of bodies that come fast enough to fill them soon.
    Write,
    /// Stripes that are checked or mended.
    Background,
}

/// The bytes that may be in memory at once: the named limit `memory_max`.
///
/// A request that wants more waits its turn. Nobody waits for memory while others need what it
/// holds: a stripe asks once, for all it takes, and gives back as its fragments are done with.
/// Tenants have parts of their own ([`Memory::divide`]), so that none waits for memory that another
/// holds.
#[derive(Clone, Debug)]
pub struct Memory {
    units: usize,
    blocks: Blocks,
    background: Arc<Part>,
    accounts: Arc<RwLock<BTreeMap<TenantId, TenantMemory>>>,
}

/// A tenant's claim to memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryClaim {
    /// Whose.
    pub tenant: TenantId,
    /// Part of the whole; what all leave over is everybody else's, and at least an eighth.
    pub share: f64,
    /// How long a request waits for memory before it is refused; as long as everybody if absent.
    pub patience: Option<Duration>,
}

impl Memory {
    /// At most `bytes_max` bytes at once.
    pub fn new(bytes_max: usize) -> Self {
        let units = bytes_max / UNIT;
        let blocks = Blocks::new(bytes_max);
        let all = TenantMemory::new(units, 1.0, None, &blocks);
        Self {
            units,
            background: Part::new(MemoryPart::Background.units(units, 1.0), &blocks),
            blocks,
            accounts: Arc::new(RwLock::new([(TenantId::ANYBODY, all)].into())),
        }
    }

    /// The blocks that strips are in.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn accounts(&self) -> RwLockReadGuard<'_, BTreeMap<TenantId, TenantMemory>> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on memory is divided so. What is held stays held until it is given back, beside the
    /// new parts: for that time there can be up to twice as much in use.
    pub fn divide(&self, claims: &[MemoryClaim]) {
        let (shares, rest) =
            memory_shares(&claims.iter().map(|claim| claim.share).collect::<Vec<_>>());
        let everybody = MemoryClaim { tenant: TenantId::ANYBODY, share: rest, patience: None };
        let scaled = claims.iter().zip(shares);
        let scaled = scaled.map(|(claim, share)| MemoryClaim { share, ..*claim });
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::take(&mut *accounts);
        for claim in scaled.chain([everybody]) {
            let kept = former.get(&claim.tenant).filter(|held| held.has_share(claim.share));
            let account = match kept {
                Some(held) => held.clone().with_patience(claim.patience),
                None => TenantMemory::new(self.units, claim.share, claim.patience, &self.blocks),
            };
            accounts.insert(claim.tenant, account);
        }
    }

    /// What a tenant has; where it has no part of its own, what everybody has.
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
        self.background.is_free()
            && self.accounts().values().flat_map(TenantMemory::parts).all(Part::is_free)
    }

    /// Bytes that nobody has now.
    pub fn free(&self) -> usize {
        let accounts = self.accounts();
        let parts = accounts.values().flat_map(TenantMemory::parts);
        self.background.free() + parts.map(Part::free).sum::<usize>()
    }

    /// How short memory is for bodies that arrive, from 0 to 1 where somebody waits: the worst off
    /// of all tenants.
    pub fn write_pressure(&self) -> f64 {
        let accounts = self.accounts();
        let parts = accounts.values().flat_map(TenantMemory::write_parts);
        parts.map(Part::pressure).fold(0.0, f64::max)
    }

    /// How short memory is for answers, from 0 to 1 where somebody waits: the worst off of all
    /// tenants.
    pub fn read_pressure(&self) -> f64 {
        let accounts = self.accounts();
        let parts = accounts.values().flat_map(TenantMemory::read_parts);
        parts.map(Part::pressure).fold(0.0, f64::max)
    }
}
