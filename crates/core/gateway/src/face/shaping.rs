use alloc::vec::Vec;
use core::time::Duration;
use ripstop_model::TenantId;
use ripstop_shaping::Fraction;
use serde::{Deserialize, Serialize};

/// What tenants are promised of a pool, and how their requests share its lanes. Without tenants
/// requests wait in one queue, first in, first out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Shaping {
    /// Whose request a lane that is free takes next.
    pub recombination: Recombination,
    /// Each once. Others have what these leave over.
    pub tenants: Vec<TenantTerms>,
}

/// How tenants' tiers share the lanes; each keeps all lanes busy as long as anything waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recombination {
    /// First come, first served.
    Fifo,
    /// Lanes of one's own; those idle are lent.
    Split,
    /// Start-time fair queueing, weighted by capacity.
    Fair,
    /// By deadline, what is left over by weight.
    #[default]
    PClock,
    /// First tiers by deadline; the others as long as every request of a first tier has slack.
    Miser,
}

/// What one tenant is promised.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TenantTerms {
    /// Who; not [`TenantId::ANYBODY`].
    pub tenant: TenantId,
    /// The tightest first: fractions and bounds rise. At least one.
    pub tiers: Vec<TierTerms>,
}

/// One step of a promise, and what is kept free for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TierTerms {
    /// Of all requests of the tenant, at least this part is answered within the bound.
    pub fraction: Fraction,
    /// From arrival to answer.
    pub bound: Duration,
    /// Lane-nanoseconds a second, so billionths of a lane.
    pub capacity: u64,
}

/// Lane-nanoseconds that one lane serves in a second.
pub const LANE: u64 = 1_000_000_000;
