use alloc::vec::Vec;
use ripstop_model::NodeId;
use ripstop_placement::Group;
use serde::{Deserialize, Serialize};

/// A plan, as a pool follows it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Placement {
    /// How reads choose among the nodes that hold a stripe.
    pub selection: ReadSelection,
    /// Where stripes go; wherever there is least work if there are none.
    pub groups: Vec<PlacementGroup>,
}

impl Placement {
    /// Of a plan's groups; `id` tells the planner's nodes, which are numbered, from one another.
    pub fn of(groups: &[Group], selection: ReadSelection, id: impl Fn(u16) -> NodeId) -> Self {
        let millionths = |p: &f64| (p * f64::from(WHOLE_CHUNK) + 0.5) as u32;
        let groups = groups.iter().map(|group| PlacementGroup {
            weight: group.files,
            nodes: group.nodes.iter().map(|&node| id(node)).collect(),
            dispatch: group.probabilities.iter().map(millionths).collect(),
        });
        Self { selection, groups: groups.collect() }
    }
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
pub enum ReadSelection {
    /// Nodes that are ready, then those with fewest tasks for each lane; data before parity. Right
    /// where nodes are alike.
    #[default]
    Ready,
    /// By the plan's probabilities whatever the queues (probabilistic scheduling, Madow's
    /// sampling), as JLCM's analysis has it; equal probabilities where there is no plan. Stripes
    /// that are not yet where it wants them are read by [`ReadSelection::LeastWork`].
    Probabilistic,
    /// The nodes that are expected to be done first: outstanding tasks and this one, by how long
    /// the node's tasks take.
    LeastWork,
    /// The same, nodes that the plan wants less counting as slower.
    LeastWorkPlanned,
}

impl ReadSelection {
    /// As configurations name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Probabilistic => "probabilistic",
            Self::LeastWork => "least-work",
            Self::LeastWorkPlanned => "least-work-planned",
        }
    }

    /// What a pool that was told this does under a plan of its own: ready nodes first is right
    /// where there is none.
    #[must_use]
    pub const fn under_own_plan(self) -> Self {
        match self {
            Self::Ready => Self::LeastWorkPlanned,
            chosen @ (Self::Probabilistic | Self::LeastWork | Self::LeastWorkPlanned) => chosen,
        }
    }
}

/// One chunk, in millionths of a request.
pub const WHOLE_CHUNK: u32 = 1_000_000;
