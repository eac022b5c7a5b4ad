use crate::{
    book::Book,
    choose::Chooser,
    face::{Exit, MachineSettings},
    floor::Floor,
    line::Line,
};
use alloc::boxed::Box;
use ripstop_policy::{Load, Policy};
use ripstop_scheduling::NodeSpec;

/// What the machine is made of. Each part keeps its own state to itself.
#[derive(Debug)]
pub(crate) struct Parts {
    pub settings: MachineSettings,
    pub policy: Box<dyn Policy>,
    pub book: Book,
    pub floor: Floor,
    pub line: Line,
    pub chooser: Chooser,
    pub exit: Exit,
}

impl Parts {
    pub(crate) fn new(
        settings: MachineSettings,
        nodes: &[NodeSpec],
        policy: Box<dyn Policy>,
    ) -> Self {
        Self {
            policy,
            book: Book::new(&settings),
            floor: Floor::new(&settings, nodes),
            line: Line::new(&settings),
            chooser: Chooser::default(),
            exit: Exit::new(),
            settings,
        }
    }

    /// What a policy may know of the load.
    pub(crate) fn load(&self) -> Load {
        let totals = self.floor.totals();
        Load {
            backlog: self.line.backlog(),
            lanes: totals.lanes_up,
            lanes_idle: totals.lanes_up.saturating_sub(totals.lanes_up_busy),
            lanes_redundant: self.floor.redundant(),
            tasks_waiting: self.floor.needed(),
            serving: self.book.serving(),
        }
    }
}
