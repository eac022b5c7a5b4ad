use super::Fragment;
use alloc::vec::Vec;
use ripstop_model::StripSet;
use ripstop_scheduling::{FragmentIndex, NodeIndex};

/// What kinds of request need to know beyond what all do.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Read(Read),
    Write(Write),
    Mend(Mend),
}

/// A read: of strips at nodes of their own, or of runs of strips of a shared fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// What it is answered with.
    pub wanted: StripSet,
    /// What arrived.
    pub have: StripSet,
}

/// A write of a stripe.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Where the plan wants it.
    pub group: Option<u16>,
    /// Fragments that are stored: counted here, since each end of a task asks.
    pub durable: usize,
    /// Whether those that no node took were tried once more after a wait.
    pub retried: bool,
    /// Nodes that fragments were tried at before: one that did not answer may hold a fragment all
    /// the same, and no node is to hold two.
    pub former: Vec<NodeIndex>,
}

impl Write {
    pub(crate) const fn new(group: Option<u16>) -> Self {
        Self { group, durable: 0, retried: false, former: Vec::new() }
    }

    /// Every node at which some fragment is or may be.
    pub(crate) fn used(&self, fragments: &[Fragment]) -> Vec<NodeIndex> {
        let places = fragments.iter().filter_map(|fragment| fragment.place());
        places.chain(self.former.iter().copied()).collect()
    }
}

/// The mending of one fragment.
#[derive(Clone, Debug)]
pub(crate) struct Mend {
    pub fragment: FragmentIndex,
    /// Whether the machine chooses the node.
    pub anywhere: bool,
    /// Nodes that hold other fragments, or at which this one was tried.
    pub former: Vec<NodeIndex>,
}
