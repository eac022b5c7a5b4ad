use alloc::collections::BTreeMap;
use core::time::Duration;
use ripstop_model::NodeId;

/// Which nodes are in service, those that went or came just now left as they were.
#[derive(Clone, Debug, Default)]
pub struct Attendance {
    /// What is gone by.
    pub settled: Option<BTreeMap<NodeId, bool>>,
    /// What was seen last, and for how long.
    seen: BTreeMap<NodeId, bool>,
    since: Duration,
}

impl Attendance {
    /// Takes in who is there; whether that has changed, `within` ago or earlier.
    pub fn look(&mut self, up: BTreeMap<NodeId, bool>, passed: Duration, within: Duration) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_node_that_is_away_for_a_moment_changes_nothing() {
        let up = |there| BTreeMap::from([(NodeId(1), true), (NodeId(2), there)]);
        let mut attendance = Attendance::default();
        let mut look = |there| attendance.look(up(there), SECOND, 3 * SECOND);
        assert!(!look(true));
        assert!([false, false, true, false, true].map(&mut look).iter().all(|changed| !changed));
        assert_eq!([false; 6].map(&mut look), [false, false, false, true, false, false]);
        assert_eq!([true; 5].map(&mut look), [false, false, false, true, false]);
    }
}
