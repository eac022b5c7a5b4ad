//! Which nodes fragments are stored at.

use super::{
    Chooser,
    candidate::{Candidate, Rank, keep_best},
};
use crate::floor::{Floor, Look};
use ripstop_model::Timestamp;
use ripstop_scheduling::{FragmentIndex, NodeIndex};

/// Nodes that can be given a task to store.
pub(crate) struct Storable<'a> {
    /// How many are ready, chosen or not.
    pub ready: usize,
    /// The chosen ones, best first.
    pub best: &'a [Candidate],
}

impl Chooser {
    /// At most `want` usable nodes that can be given a task to store: first those that do not
    /// refuse, then ready ones, then least work for each lane; equals take turns.
    pub(crate) fn nodes(
        &mut self,
        floor: &Floor,
        now: Timestamp,
        look: Look,
        want: usize,
        usable: impl Fn(NodeIndex) -> bool,
    ) -> Storable<'_> {
        let (count, mut ready) = (floor.node_count(), 0);
        let turned = self.turn % count.max(1);
        self.candidates.clear();
        for (index, node) in floor.nodes() {
            if !floor.is_open(index, look) || !usable(index) {
                continue;
            }
            let is_ready = node.is_ready();
            ready += usize::from(is_ready);
            let turn = (index.get() + count - turned) % count;
            let rank = Rank::default()
                .then_not(node.refuses(now))
                .then_not(!is_ready)
                .then(u64::from(node.load()), 30)
                .then(turn as u64, 16);
            let fragment = FragmentIndex::new(0);
            self.candidates.push(Candidate { rank, fragment, node: index, is_ready });
        }
        keep_best(&mut self.candidates, want);
        Storable { ready, best: &self.candidates }
    }

    /// The same, those of a group before all others, so that others only stand in for what the
    /// group cannot take. Says how many of the chosen are ready.
    pub(crate) fn group_nodes(
        &mut self,
        floor: &Floor,
        now: Timestamp,
        look: Look,
        want: usize,
        group: u16,
    ) -> Storable<'_> {
        self.nodes(floor, now, look, usize::MAX, |_| true);
        let members = self.plan.nodes(group);
        // A member that refuses is no better than others that do.
        let stands_in = |candidate: &Candidate| {
            members.binary_search(&candidate.node).is_err()
                || floor.node(candidate.node).refuses(now)
        };
        self.candidates.sort_unstable_by_key(|candidate| (stands_in(candidate), candidate.rank));
        self.candidates.truncate(want);
        let ready = self.candidates.iter().filter(|candidate| candidate.is_ready).count();
        Storable { ready, best: &self.candidates }
    }
}
