use super::assignment::{SPOTS_MAX, Spot};
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::NodeId;

/// How many of a pool's stripes are at which nodes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Census {
    /// Stripes that are spread over nodes.
    pub stripes: u64,
    /// Of those that lack no fragment: nodes, ascending, and how many stripes they hold. The first
    /// 4096 sets of nodes that were met.
    pub groups: Vec<(Vec<NodeId>, u64)>,
}

impl Census {
    /// Of stripes at these spots.
    pub fn of(spots: impl IntoIterator<Item = Spot>) -> Self {
        let mut count = CensusCount::default();
        spots.into_iter().for_each(|spot| count.note(spot));
        count.end()
    }
}

/// A census that is being taken.
#[derive(Debug, Default)]
pub struct CensusCount {
    stripes: u64,
    groups: BTreeMap<Vec<NodeId>, u64>,
}

impl CensusCount {
    /// Counts a stripe.
    pub fn note(&mut self, spot: Spot) {
        self.stripes += 1;
        let Spot { fragments, nodes } = spot;
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        let is_whole = nodes.len() == usize::from(fragments);
        if is_whole && (self.groups.len() < SPOTS_MAX || self.groups.contains_key(&nodes)) {
            *self.groups.entry(nodes).or_default() += 1;
        }
    }

    /// What was counted.
    pub fn end(self) -> Census {
        Census { stripes: self.stripes, groups: self.groups.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_that_lack_a_fragment_are_counted_and_of_no_group() {
        let spots = [&[Some(2), Some(1)][..], &[Some(1), Some(2)], &[Some(1), None]];
        let census = Census::of(spots.map(|nodes| Spot::new(2, nodes)));
        assert_eq!(census.stripes, 3);
        assert_eq!(census.groups, [([NodeId(1), NodeId(2)].into(), 2)]);
    }
}
