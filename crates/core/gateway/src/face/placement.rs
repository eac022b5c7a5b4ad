use alloc::vec::Vec;
use ripstop_model::NodeId;
use serde::{Deserialize, Serialize};

/// A plan, as a pool follows it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Placement {
    /// How reads choose among the nodes that hold a stripe.
    pub selection: Selection,
    /// Where stripes go; wherever there is least work if there are none.
    pub groups: Vec<PlacementGroup>,
}

/// Nodes that hold the same stripes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacementGroup {
    /// Part of all stripes, beside the others' weights.
    pub weight: u64,
    /// The nodes; those that the pool does not have are passed over.
    pub nodes: Vec<NodeId>,
    /// How often each of them is asked, in millionths of the requests for a stripe of the group;
    /// together K.
    pub dispatch: Vec<u32>,
}

/// How a read that needs any K of the N chunks of a stripe chooses them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Nodes that are ready, then those with fewest tasks for each lane; data before parity. Right
    /// where nodes are alike.
    #[default]
    Ready,
    /// By the plan's probabilities whatever the queues (probabilistic scheduling, Madow's
    /// sampling), as JLCM's analysis has it; equal probabilities where there is no plan. Stripes
    /// that are not yet where it wants them are read by [`Selection::LeastWork`].
    Probabilistic,
    /// The nodes that are expected to be done first: outstanding tasks and this one, by how long
    /// the node's tasks take.
    LeastWork,
    /// The same, nodes that the plan wants less counting as slower.
    LeastWorkPlanned,
}

impl Selection {
    /// As configurations name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Probabilistic => "probabilistic",
            Self::LeastWork => "least-work",
            Self::LeastWorkPlanned => "least-work-planned",
        }
    }
}

/// One chunk, in millionths of a request.
pub const WHOLE_CHUNK: u32 = 1_000_000;
