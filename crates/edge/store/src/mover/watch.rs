//! When a mover that waits walks again before its time.

use ripstop_model::NodeId;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// What a mover knows of its plan's nodes, and of stripes written since its last walk.
///
/// It is woken by a node of the plan that came back into service: others may have stood in for it, and
/// nothing could be moved to it. And by stripes that strayed although all of the plan's nodes
/// are in service: one may have refused, or have been slow. What strays while one is out of service
/// waits for that one. Neither wakes it before the nodes have been as they are, and the last walk
/// has been over, for [`Settings::home_after`](crate::Settings): while nodes flap it waits.
#[derive(Debug)]
pub(super) struct Watch {
    /// How long nothing must have changed.
    home_after: Duration,
    /// Nodes of the plan that are out of service.
    down: BTreeSet<NodeId>,
    /// When that changed last, or the last walk ended.
    calm_since: Instant,
    /// A node of the plan came back since the last walk began.
    returned: bool,
    /// Stripes that had strayed when it began.
    strays: u64,
    /// Nothing was left to move when it ended.
    is_clean: bool,
}

impl Watch {
    pub(super) fn new(now: Instant, home_after: Duration) -> Self {
        let (down, calm_since) = (BTreeSet::new(), now);
        Self { home_after, down, calm_since, returned: false, strays: 0, is_clean: false }
    }

    /// Takes in which nodes of the plan are out of service.
    pub(super) fn look(&mut self, now: Instant, down: BTreeSet<NodeId>) {
        if down != self.down {
            self.returned |= !self.down.is_subset(&down);
            self.down = down;
            self.calm_since = now;
        }
    }

    /// A walk begins that sees all stripes of before.
    pub(super) fn walk_began(&mut self, strays: u64) {
        self.returned = false;
        self.strays = strays;
    }

    /// It is over.
    pub(super) fn walk_ended(&mut self, now: Instant, is_clean: bool) {
        self.calm_since = now;
        self.is_clean = is_clean;
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        !self.down.contains(&node)
    }

    /// Whether another walk may bring stripes home that the last could not, or did not see.
    pub(super) fn is_due(&self, now: Instant, strays: u64) -> bool {
        // After a walk that left some, those that strayed since do not hasten the next.
        let strayed = self.is_clean && self.down.is_empty() && strays > self.strays;
        let is_calm = now.saturating_duration_since(self.calm_since) >= self.home_after;
        (self.returned || strayed) && is_calm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watch after a walk that ended at second 0, and the clock to ask it by.
    fn watch(is_clean: bool) -> (Watch, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let mut watch = Watch::new(start, Duration::from_secs(10));
        watch.walk_began(3);
        watch.walk_ended(start, is_clean);
        (watch, move |at_s| start + Duration::from_secs(at_s))
    }

    fn nodes(ids: &[u16]) -> BTreeSet<NodeId> {
        ids.iter().map(|&id| NodeId(id)).collect()
    }

    #[test]
    fn nothing_wakes_it_while_nothing_changes() {
        let (watch, at) = watch(true);
        assert!(!watch.is_due(at(3000), 3));
    }

    #[test]
    fn a_node_that_comes_back_wakes_it_once_it_has_stayed_and_one_that_goes_does_not() {
        let (mut watch, at) = watch(true);
        watch.look(at(100), nodes(&[1, 2]));
        assert!(!watch.is_due(at(500), 9));
        watch.look(at(600), nodes(&[1]));
        assert!(!watch.is_due(at(609), 9));
        assert!(watch.is_due(at(610), 3));
        watch.walk_began(9);
        watch.walk_ended(at(620), true);
        assert!(!watch.is_due(at(3000), 9));
    }

    #[test]
    fn while_nodes_flap_it_waits() {
        let (mut watch, at) = watch(true);
        for at_s in (100..200).step_by(5) {
            let down: &[u16] = if at_s % 2 == 0 { &[1] } else { &[] };
            watch.look(at(at_s), nodes(down));
            assert!(!watch.is_due(at(at_s + 4), 9));
        }
        assert!(watch.is_due(at(205), 9));
    }

    #[test]
    fn strays_wake_it_after_a_clean_walk_with_all_nodes_in_service_only() {
        let (mut watch, at) = watch(true);
        assert!(!watch.is_due(at(9), 4));
        assert!(watch.is_due(at(10), 4));
        watch.look(at(20), nodes(&[1]));
        assert!(!watch.is_due(at(50), 4));
        let (watch, at) = self::watch(false);
        assert!(!watch.is_due(at(50), 4));
    }

    #[test]
    fn a_node_that_comes_back_during_a_walk_wakes_it_after() {
        let (mut watch, at) = watch(true);
        watch.look(at(100), nodes(&[1]));
        watch.walk_began(3);
        watch.look(at(110), nodes(&[]));
        watch.walk_ended(at(200), false);
        assert!(!watch.is_due(at(209), 3));
        assert!(watch.is_due(at(210), 3));
    }
}
