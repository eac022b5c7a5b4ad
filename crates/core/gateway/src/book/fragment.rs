use ripstop_scheduling::{NodeIndex, TaskSlot};

/// Where a fragment of a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FragmentState {
    /// No task was made for it.
    Untried,
    /// A task for it waits or runs.
    Open,
    /// It arrived, or is stored.
    Done,
    /// The last task for it did not get through; another may.
    Unavailable,
    /// This request cannot get it, or store it.
    Refused,
    /// It is missing or damaged.
    Lost,
}

/// One fragment of a request's stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    /// The node that holds it, or is to.
    place: Option<NodeIndex>,
    tries: u8,
    state: FragmentState,
    /// Its last task, which exists only while the fragment is open.
    task: Option<TaskSlot>,
}

impl Fragment {
    pub(crate) const fn new(place: Option<NodeIndex>, state: FragmentState) -> Self {
        Self { place, tries: 0, state, task: None }
    }

    pub(crate) fn is(self, state: FragmentState) -> bool {
        self.state == state
    }

    pub(crate) fn state(self) -> FragmentState {
        self.state
    }

    pub(crate) fn place(self) -> Option<NodeIndex> {
        self.place
    }

    /// The node of a fragment that has one: each that was tried, and each that a read may try.
    pub(crate) fn node(self) -> NodeIndex {
        self.place.expect("a fragment that is tried is at a node")
    }

    /// The task of a fragment that is open.
    pub(crate) fn task(self) -> TaskSlot {
        self.task.expect("a fragment that is open has a task")
    }

    /// Whether it may be tried once more.
    pub(crate) fn has_tries_left(self, tries_max: u8) -> bool {
        self.tries < tries_max
    }

    pub(crate) fn tries(self) -> u8 {
        self.tries
    }

    pub(crate) fn set(&mut self, state: FragmentState) {
        self.state = state;
    }

    /// Gives it another place; returns the former, if it had one.
    pub(super) fn move_to(&mut self, node: NodeIndex) -> Option<NodeIndex> {
        self.place.replace(node).filter(|&former| former != node)
    }

    pub(super) fn set_place(&mut self, node: NodeIndex) {
        self.place = Some(node);
    }

    pub(super) fn open(&mut self, task: TaskSlot) {
        debug_assert!(!self.is(FragmentState::Open) && !self.is(FragmentState::Done));
        self.state = FragmentState::Open;
        self.tries += 1;
        self.task = Some(task);
    }

    pub(super) fn forget_try(&mut self) {
        self.tries -= 1;
    }
}
