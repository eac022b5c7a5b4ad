use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Names a flow: a tenant's tier. Tables are indexed by it, so numbers are best small and dense.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FlowId(pub u16);

/// What a flow has been granted; each [`Discipline`] reads its part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Terms {
    /// Requests of the flow that may wait; more are declined.
    pub waiting_max: u32,
    /// Split: servers of its own. Fair, and whatever pClock and Miser have to spare: its weight,
    /// where 0 counts as 1.
    pub share: u32,
    /// pClock: what is kept free for it. Miser: a primary flow, whose requests are due `bound`
    /// after their arrival. None: it takes what is spare, a secondary flow.
    pub reservation: Option<Reservation>,
}

impl Terms {
    /// Terms with this queue limit, share 1 and no reservation.
    pub const fn new(waiting_max: u32) -> Self {
        Self { waiting_max, share: 1, reservation: None }
    }
}

/// An arrival curve and the bound on the response times of what stays below it: in any span of t
/// seconds at most burst + rate · t work units arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reservation {
    /// σ, in work units: what may come at once. A request that costs more never conforms.
    pub burst: u64,
    /// ρ, in work units per second.
    pub rate: u64,
    /// δ, from arrival to completion.
    pub bound: Duration,
}

/// How flows share the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Discipline {
    /// First come, first served, whatever the flow: the undecomposed baseline.
    Fifo,
    /// Servers of one's own, as many as the share says; those idle are lent. A server that falls
    /// free goes to a flow below its share before any above.
    Split,
    /// Start-time fair queueing: work in proportion to the shares among the flows that wait, none
    /// saved up by those that do not.
    Fair,
    /// Reservations met by deadline, what is spare shared fairly. A request that conforms is
    /// answered within its bound, whatever others send, in a pool that
    /// [`Capacity`](super::Capacity) passes.
    PClock,
    /// Secondary requests go first as long as every primary one has the slack for it. A primary
    /// request that might be late is declined; an accepted one is not late while the servers keep
    /// `rate_min`.
    Miser {
        /// `C_min`: work units per second that the servers together do at least.
        rate_min: u64,
        /// How many servers there are: at least 1.
        servers: u32,
    },
}
