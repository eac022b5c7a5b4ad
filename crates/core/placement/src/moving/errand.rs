use super::{
    assignment::Goal,
    watch::{StrayWatch, Walked},
};
use alloc::collections::BTreeSet;
use ripstop_model::NodeId;

/// One stripe that is brought to its group, one fragment after the other. What belongs at a node
/// that is out of service stays until it is back.
#[derive(Clone, Debug)]
pub struct Errand {
    goal: Goal,
    /// Fragments that could not be moved: the next walk tries them again.
    failed: BTreeSet<u8>,
}

/// One fragment that is to be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentMove {
    /// Which.
    pub index: u8,
    /// Where.
    pub to: NodeId,
    /// Whether the stripe is in its group after that.
    pub is_last: bool,
}

impl Errand {
    /// To this group.
    pub fn new(goal: Goal) -> Self {
        Self { goal, failed: BTreeSet::new() }
    }

    /// What of the stripe, which should have this many fragments and has those at these nodes, is
    /// moved next. `None`: it is over; what stays away is counted as left.
    pub fn next(
        &self,
        watch: &StrayWatch,
        fragments: u8,
        nodes: &[Option<u16>],
        walked: &mut Walked,
    ) -> Option<FragmentMove> {
        let mut moves = self.goal.moves(fragments, nodes);
        moves.retain(|(index, _)| !self.failed.contains(index));
        let possible = moves.iter().find(|(_, to)| watch.is_up(*to));
        let Some(&(index, to)) = possible else {
            walked.left += moves.len() as u64;
            walked.waiting += moves.len() as u64;
            return None;
        };
        Some(FragmentMove { index, to, is_last: moves.len() == 1 })
    }

    /// A fragment could not be moved.
    pub fn failed(&mut self, index: u8, walked: &mut Walked) {
        self.failed.insert(index);
        walked.left += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use ripstop_model::Timestamp;

    #[test]
    fn what_fails_or_waits_for_a_node_is_left_and_the_others_go() {
        let nodes = [4, 5, 6, 7].map(NodeId).into();
        let mut errand = Errand::new(Goal { weight: 1, nodes });
        let mut watch = StrayWatch::new(Timestamp::ZERO, Duration::ZERO);
        watch.look(Timestamp::ZERO, [NodeId(5)].into());
        let (mut at, mut walked) = ([1, 2, 3, 7].map(Some), Walked::default());
        let step = |errand: &Errand, at: &[Option<u16>], walked: &mut Walked| {
            errand.next(&watch, 4, at, walked)
        };
        let first = step(&errand, &at, &mut walked).unwrap();
        assert_eq!(first, FragmentMove { index: 0, to: NodeId(4), is_last: false });
        at[0] = Some(4);
        let second = step(&errand, &at, &mut walked).unwrap();
        assert_eq!(second, FragmentMove { index: 2, to: NodeId(6), is_last: false });
        errand.failed(2, &mut walked);
        assert_eq!(step(&errand, &at, &mut walked), None);
        assert_eq!((walked.left, walked.waiting), (2, 1));
    }
}
