use ripstop_catalog::GatewayId;
use std::time::Duration;

/// Most claims that a gateway tells. Of what it has beyond, each gateway takes an equal part.
pub const CLAIMS_MAX: usize = 4096;

/// What a gateway is, and how it tells of itself.
#[derive(Clone, Debug)]
pub struct FleetSettings {
    /// Its number.
    pub id: GatewayId,
    /// Where it serves.
    pub address: String,
    /// Which program it is.
    pub version: String,
    /// Whether others may have the catalog open too: else everything is its own.
    pub is_shared: bool,
    /// How often it tells that it is alive. Default 1 s.
    pub beat_every: Duration,
    /// How soon it does so again where others wait for what it has let go. Default 0.2 s.
    pub soon: Duration,
    /// It lets go of all but the least when its last beat was begun so long ago. Default 2.5 s.
    pub late_after: Duration,
    /// It counts another as dead that it has seen no beat of for so long; longer than `late_after`.
    /// Default 5 s.
    pub dead_after: Duration,
    /// How long it waits at the start for the others to make room. Default 5 s.
    pub begin_within: Duration,
}

impl FleetSettings {
    /// The defaults.
    pub fn new(id: GatewayId, address: String, version: String, is_shared: bool) -> Self {
        Self {
            id,
            address,
            version,
            is_shared,
            beat_every: Duration::from_secs(1),
            soon: Duration::from_millis(200),
            late_after: Duration::from_millis(2500),
            dead_after: Duration::from_secs(5),
            begin_within: Duration::from_secs(5),
        }
    }

    /// How often what is wanted is looked at.
    pub(crate) fn look_every(&self) -> Duration {
        self.beat_every / 4
    }
}
