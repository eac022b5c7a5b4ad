//! Where new stripes go and who serves reads, as a plan says.
//!
//! A plan names groups of nodes, each with the part of all stripes that it holds and with how often its nodes
//! are to be asked. New stripes go to the groups in turn (multiples of the golden ratio, so that every
//! stretch of stripes has the right parts); nodes of a group that cannot take a fragment are stood in
//! for by others. Reads choose among the nodes that hold a stripe, by the set [`Selection`].

use crate::Machine;
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::NodeId;
use ripstop_placement::Spread;
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
    /// How often each of them is asked, in millionths of the requests for a stripe of the group; together K.
    pub dispatch: Vec<u32>,
}

/// How a read that needs any K of the N chunks of a stripe chooses them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Nodes that are ready, then those with fewest tasks for each lane; data before parity. Right where nodes are
    /// alike.
    #[default]
    Ready,
    /// By the plan's probabilities whatever the queues (probabilistic scheduling, Madow's sampling), as JLCM's
    /// analysis has it; equal probabilities where there is no plan. Stripes that are not yet where it wants
    /// them are read by [`Selection::LeastWork`].
    Probabilistic,
    /// The nodes that are expected to be done first: outstanding tasks and this one, by how long the node's
    /// tasks take.
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

/// A plan in the machine's own terms.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    pub selection: Selection,
    groups: Vec<PlacedGroup>,
    /// Which group a stripe goes to, by its number.
    spread: Option<Spread>,
    /// Groups by their nodes.
    by_nodes: BTreeMap<Vec<u16>, usize>,
    stripes: u64,
}

#[derive(Debug)]
struct PlacedGroup {
    /// Indices, ascending.
    nodes: Vec<u16>,
    /// Millionths, by node.
    dispatch: Vec<u32>,
}

impl PlacedGroup {
    /// Is this group, of so many stripes, and another at the same nodes: asked as both are on average.
    fn join(&mut self, weight: u64, dispatch: &[u32], other: u64) {
        let (weight, other) = (u128::from(weight), u128::from(other));
        for (part, &its) in self.dispatch.iter_mut().zip(dispatch) {
            let sum = u128::from(*part) * weight + u128::from(its) * other;
            *part = (sum / (weight + other)) as u32;
        }
    }
}

impl Placed {
    fn new(placement: &Placement, find: impl Fn(NodeId) -> Option<u16>) -> Self {
        let mut placed = Self { selection: placement.selection, ..Self::default() };
        let mut weights = Vec::new();
        for group in &placement.groups {
            let named = group.nodes.iter().zip(&group.dispatch);
            let mut nodes: Vec<(u16, u32)> =
                named.filter_map(|(&id, &dispatch)| Some((find(id)?, dispatch))).collect();
            nodes.sort_unstable();
            nodes.dedup_by_key(|(node, _)| *node);
            if nodes.is_empty() || group.weight == 0 {
                continue;
            }
            let (nodes, dispatch): (Vec<u16>, Vec<u32>) = nodes.into_iter().unzip();
            if let Some(&same) = placed.by_nodes.get(&nodes) {
                placed.groups[same].join(weights[same], &dispatch, group.weight);
                weights[same] = weights[same].saturating_add(group.weight);
                continue;
            }
            placed.by_nodes.insert(nodes.clone(), placed.groups.len());
            weights.push(group.weight);
            placed.groups.push(PlacedGroup { nodes, dispatch });
        }
        placed.spread = Spread::of_weights(weights.iter().copied());
        placed
    }

    /// The group of the next stripe.
    pub(crate) fn next_group(&mut self) -> Option<u16> {
        let group = self.spread.as_ref()?.group(self.stripes);
        self.stripes += 1;
        Some(group as u16)
    }

    /// The nodes of a group, ascending.
    pub(crate) fn nodes(&self, group: u16) -> &[u16] {
        self.groups.get(usize::from(group)).map_or(&[], |group| &group.nodes)
    }

    /// How often nodes that hold a stripe together are to be asked for it: the plan's word if they are one of
    /// its groups, the same for all if they are not; false if there is a plan and they are not. `nodes`
    /// ascend.
    pub(crate) fn dispatch(&self, nodes: &[u16], k: usize, into: &mut Vec<f64>) -> bool {
        into.clear();
        if let Some(&group) = self.by_nodes.get(nodes) {
            let parts = &self.groups[group].dispatch;
            into.extend(parts.iter().map(|&part| f64::from(part) / f64::from(WHOLE_CHUNK)));
            return true;
        }
        into.resize(nodes.len(), k as f64 / nodes.len().max(1) as f64);
        self.groups.is_empty()
    }
}

impl Machine {
    /// From now on stripes go, and reads choose, as this says.
    pub(crate) fn placement_changed(&mut self, placement: &Placement) {
        let nodes = &self.nodes;
        let stripes = self.placed.stripes;
        self.placed = Placed::new(placement, |id| nodes.find(id));
        self.placed.stripes = stripes;
    }
}
