use ripstop_model::NodeId;
use std::{collections::BTreeMap, time::Duration};

/// Which nodes are in service, those that went or came just now left as they were.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    /// What is gone by.
    pub settled: Option<BTreeMap<NodeId, bool>>,
    /// What was seen last, and for how long.
    seen: BTreeMap<NodeId, bool>,
    since: Duration,
}

impl Attendance {
    /// Takes in who is there; whether that has changed, `within` ago or earlier.
    pub(super) fn look(
        &mut self,
        up: BTreeMap<NodeId, bool>,
        passed: Duration,
        within: Duration,
    ) -> bool {
        self.since = if self.seen == up { self.since + passed } else { Duration::ZERO };
        self.seen = up;
        let Some(settled) = &self.settled else {
            self.settled = Some(self.seen.clone());
            return false;
        };
        let changed = *settled != self.seen && self.since >= within;
        if changed {
            self.settled = Some(self.seen.clone());
        }
        changed
    }
}
