use alloc::vec::Vec;
use ripstop_scheduling::{FragmentIndex, NodeIndex};

/// A node that a request may use, and for which of its fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    /// No two of a choice have the same.
    pub rank: Rank,
    /// The fragment to fetch. What is stored is not bound to a node: then without meaning.
    pub fragment: FragmentIndex,
    pub node: NodeIndex,
    /// Whether the node could start a needed task right away.
    pub is_ready: bool,
}

/// Where a candidate stands among others, the least first: numbers by weight, packed into one so
/// that sorting compares once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Rank(u64);

impl Rank {
    /// Of those that are alike so far, those with less of this come first. All numbers of a rank
    /// have 64 bits together; one beyond its own counts by its lowest.
    pub(super) const fn then(self, number: u64, bits: u32) -> Self {
        Self(self.0 << bits | number & ((1 << bits) - 1))
    }

    /// Those for which it is true come last.
    pub(super) const fn then_not(self, behind: bool) -> Self {
        self.then(behind as u64, 1)
    }
}

/// Puts candidates in order.
pub(super) fn sort(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| candidate.rank);
}

/// Keeps the best, in order.
pub(super) fn keep_best(candidates: &mut Vec<Candidate>, count: usize) {
    if candidates.len() > count {
        candidates.select_nth_unstable_by_key(count, |candidate| candidate.rank);
        candidates.truncate(count);
    }
    sort(candidates);
}

#[cfg(test)]
mod tests {
    use super::Rank;

    #[test]
    fn what_is_said_first_weighs_most() {
        let rank = |slow, load| Rank::default().then_not(slow).then(load, 8).then(3, 8);
        assert!(rank(false, 255) < rank(true, 0));
        assert!(rank(true, 4) < rank(true, 5));
        assert_eq!(rank(false, 256), rank(false, 0), "beyond its bits");
    }
}
