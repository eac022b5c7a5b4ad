//! Where new stripes go and who serves reads, as a plan says.
//!
//! A plan names groups of nodes, each with the part of all stripes that it holds and with how often
//! its nodes are to be asked. New stripes go to the groups in turn (multiples of the golden ratio,
//! so that every stretch of stripes has the right parts); other nodes stand in for those of a group
//! that cannot take a fragment. Reads choose among the nodes that hold a stripe, by the set
//! [`ReadSelection`].

use crate::face::{Placement, ReadSelection, WHOLE_CHUNK};
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::NodeId;
use ripstop_placement::Spread;
use ripstop_scheduling::NodeIndex;

/// A plan in the machine's own terms.
#[derive(Debug, Default)]
pub(super) struct Placed {
    selection: ReadSelection,
    groups: Vec<PlacedGroup>,
    /// Which group a stripe goes to, by its number.
    spread: Option<Spread>,
    /// Groups by their nodes.
    by_nodes: BTreeMap<Vec<NodeIndex>, usize>,
    /// How many were given a group, under this plan and those before it.
    stripes: u64,
}

#[derive(Debug)]
struct PlacedGroup {
    /// Indices, ascending.
    nodes: Vec<NodeIndex>,
    /// Millionths, by node.
    dispatch: Vec<u32>,
}

impl PlacedGroup {
    /// Is this group, of this weight, and another at the same nodes: asked as both are on average.
    fn join(&mut self, weight: u64, dispatch: &[u32], other: u64) {
        let (weight, other) = (u128::from(weight), u128::from(other));
        for (part, &its) in self.dispatch.iter_mut().zip(dispatch) {
            let sum = u128::from(*part) * weight + u128::from(its) * other;
            *part = (sum / (weight + other)) as u32;
        }
    }
}

impl Placed {
    /// A plan that takes the place of a former one; nodes that are not found are passed over.
    pub(super) fn new(
        placement: &Placement,
        find: impl Fn(NodeId) -> Option<NodeIndex>,
        former: &Self,
    ) -> Self {
        let (selection, stripes) = (placement.selection, former.stripes);
        let mut plan = Self { selection, stripes, ..Self::default() };
        let mut weights = Vec::new();
        for group in &placement.groups {
            let named = group.nodes.iter().zip(&group.dispatch);
            let mut nodes: Vec<(NodeIndex, u32)> =
                named.filter_map(|(&id, &dispatch)| Some((find(id)?, dispatch))).collect();
            nodes.sort_unstable();
            nodes.dedup_by_key(|(node, _)| *node);
            if nodes.is_empty() || group.weight == 0 {
                continue;
            }
            let (nodes, dispatch): (Vec<NodeIndex>, Vec<u32>) = nodes.into_iter().unzip();
            if let Some(&same) = plan.by_nodes.get(&nodes) {
                plan.groups[same].join(weights[same], &dispatch, group.weight);
                weights[same] = weights[same].saturating_add(group.weight);
                continue;
            }
            plan.by_nodes.insert(nodes.clone(), plan.groups.len());
            weights.push(group.weight);
            plan.groups.push(PlacedGroup { nodes, dispatch });
        }
        plan.spread = Spread::of_weights(weights.iter().copied());
        plan
    }

    /// How reads choose among the nodes that hold a stripe.
    pub(super) fn selection(&self) -> ReadSelection {
        self.selection
    }

    /// The group of the next stripe.
    pub(super) fn next_group(&mut self) -> Option<u16> {
        let group = self.spread.as_ref()?.group(self.stripes);
        self.stripes += 1;
        Some(group as u16)
    }

    /// The nodes of a group, ascending.
    pub(super) fn nodes(&self, group: u16) -> &[NodeIndex] {
        self.groups.get(usize::from(group)).map_or(&[], |group| &group.nodes)
    }

    /// How often nodes that hold a stripe together are to be asked for it: the plan's word if they
    /// are one of its groups, the same for all if they are not; false if there is a plan and they
    /// are not. `nodes` ascend; there is none of them for a fragment that no node holds, of
    /// `fragments`.
    pub(super) fn dispatch(
        &self,
        nodes: &[NodeIndex],
        fragments: usize,
        k: usize,
        into: &mut Vec<f64>,
    ) -> bool {
        into.clear();
        if nodes.len() == fragments
            && let Some(&group) = self.by_nodes.get(nodes)
        {
            let parts = &self.groups[group].dispatch;
            into.extend(parts.iter().map(|&part| f64::from(part) / f64::from(WHOLE_CHUNK)));
            return true;
        }
        into.resize(fragments, k as f64 / fragments.max(1) as f64);
        self.groups.is_empty()
    }
}
