use super::placed::Placed;
use crate::book::Entry;
use alloc::vec::Vec;
use ripstop_scheduling::NodeIndex;

/// How much the plan wants each fragment of the read at hand asked, 0 to 1.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Node and index of each fragment that is somewhere, by node.
    places: Vec<(NodeIndex, usize)>,
    nodes: Vec<NodeIndex>,
    of_nodes: Vec<f64>,
    of_fragments: Vec<f64>,
}

impl Weights {
    /// Looks a read up in the plan; false if there is a plan and the stripe is not where it wants
    /// it.
    pub(super) fn weigh(&mut self, plan: &Placed, entry: &Entry) -> bool {
        let Self { places, nodes, of_nodes, of_fragments } = self;
        let fragments = entry.fragments();
        places.clear();
        let placed = fragments.iter().enumerate();
        places.extend(placed.filter_map(|(index, fragment)| Some((fragment.place()?, index))));
        places.sort_unstable();
        nodes.clear();
        nodes.extend(places.iter().map(|&(node, _)| node));
        let is_planned = plan.dispatch(nodes, fragments.len(), entry.k(), of_nodes);
        of_fragments.clear();
        of_fragments.resize(fragments.len(), 0.0);
        if places.len() == fragments.len() {
            for (&(_, index), &weight) in places.iter().zip(&*of_nodes) {
                of_fragments[index] = weight;
            }
        } else {
            // A stripe that lacks fragments is no group's: all weigh the same.
            of_fragments.copy_from_slice(of_nodes);
        }
        is_planned
    }

    /// By index in the stripe, once it was weighed.
    pub(super) fn of_fragments(&self) -> &[f64] {
        &self.of_fragments
    }
}
