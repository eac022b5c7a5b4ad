use ripstop_delay::ShiftedExponential;
use ripstop_gateway::{Load, NodeGauge, TierGauge};
use ripstop_keeper::{MoveProgress, PacksGauge};
use ripstop_model::Operation;
use ripstop_runtime::Pool;
use serde::{Deserialize, Serialize};

/// How a pool stands at one moment.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PoolGauges {
    /// Backlog and lanes.
    pub load: Load,
    /// Writes whose parity is being computed.
    pub encoding: usize,
    /// Mends that wait.
    pub mends_waiting: usize,
    /// Each node.
    pub nodes: Vec<NodeGauge>,
    /// The delay model that the policy goes by, of reads and of writes, if it has one.
    pub delay_models: [Option<ShiftedExponential>; 2],
    /// Each tier of each tenant.
    pub tiers: Vec<TierGauge>,
    /// How far stripes have been brought to where plans want them.
    pub moves: MoveProgress,
    /// Its packs, and what was written again of them.
    pub packs: PacksGauge,
}

/// How a pool that plans itself stands.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct PlanStanding {
    /// Plans followed since the start, one after the other.
    pub plans: u64,
    /// The part of all fragments that they said was to be moved, together: with each plan up to 1.
    pub moves_planned: f64,
    /// Groups of the present one.
    pub groups: usize,
    /// Its bound on the mean latency of a read, by the rates and service times it was made from.
    pub latency_bound_seconds: f64,
}

impl PoolGauges {
    /// How `pool` stands now; of its moves and packs its keeper knows. Takes the pool's lock for a
    /// moment.
    pub fn of(pool: &Pool) -> Self {
        pool.inspect(|machine| Self {
            load: machine.load(),
            encoding: machine.encoding(),
            mends_waiting: machine.mends_waiting(),
            nodes: machine.nodes().collect(),
            delay_models: Operation::ALL.map(|operation| machine.delay_model(operation)),
            tiers: machine.tiers().collect(),
            moves: MoveProgress::default(),
            packs: PacksGauge::default(),
        })
    }
}
