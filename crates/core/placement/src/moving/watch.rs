//! When a mover walks through a pool's stripes.

use alloc::collections::BTreeSet;
use core::time::Duration;
use ripstop_model::{NodeId, Timestamp};

/// How often stripes are walked through once all are where they belong, if nothing calls for it
/// before: groups lose their parts as objects come and go.
const WALK_EVERY: Duration = Duration::from_hours(1);
/// How long after a walk that could not move everything the next one begins; twice as long after
/// each that moved nothing, up to the second.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// How often a mover that waits looks whether it is still wanted, and at its nodes.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What came of a walk, in fragments.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Walked {
    /// Moved.
    pub moved: u64,
    /// Elsewhere than the plan wants them.
    pub left: u64,
    /// Those of them whose node is out of service: trying before it is back is of no use.
    pub waiting: u64,
}

/// What a mover knows of its plan's nodes, and of stripes written since its last walk.
///
/// Before its time it is woken by a node of the plan that came back into service: others may have
/// stood in for it, and nothing could be moved to it. And by stripes that strayed although all of
/// the plan's nodes are in service: one may have refused, or have been slow. What strays while one
/// is out of service waits for that one. Neither wakes it before the nodes have been as they are,
/// and the last walk has been over, for a set time: while nodes flap it waits.
#[derive(Clone, Debug)]
pub struct StrayWatch {
    /// How long nothing must have changed.
    home_after: Duration,
    /// Nodes of the plan that are out of service.
    down: BTreeSet<NodeId>,
    /// When that changed last, or the last walk ended.
    calm_since: Timestamp,
    /// A node of the plan came back since the last walk began.
    returned: bool,
    /// Stripes that had strayed when it began.
    strays: u64,
    /// What was left when it ended.
    last: Walked,
    /// When the next walk begins if nothing calls for it before.
    next: Timestamp,
    /// How long after a walk that left some the next one begins.
    retry_after: Duration,
}

impl StrayWatch {
    /// One whose first walk is due.
    pub fn new(now: Timestamp, home_after: Duration) -> Self {
        Self {
            home_after,
            down: BTreeSet::new(),
            calm_since: now,
            returned: false,
            strays: 0,
            last: Walked { left: 1, waiting: 1, ..Walked::default() },
            next: now,
            retry_after: RETRY_AFTER.0,
        }
    }

    /// Takes in which nodes of the plan are out of service.
    pub fn look(&mut self, now: Timestamp, down: BTreeSet<NodeId>) {
        if down != self.down {
            self.returned |= !self.down.is_subset(&down);
            self.down = down;
            self.calm_since = now;
        }
    }

    /// A walk begins that sees all stripes of before.
    pub fn walk_began(&mut self, now: Timestamp, strays: u64) {
        self.returned = false;
        self.strays = strays;
        let is_called = now < self.next;
        let is_first = is_called || self.last.left == self.last.waiting;
        self.retry_after =
            if is_first { RETRY_AFTER.0 } else { (self.retry_after * 2).min(RETRY_AFTER.1) };
    }

    /// It is over.
    pub fn walk_ended(&mut self, now: Timestamp, walked: Walked) {
        self.calm_since = now;
        self.last = walked;
        if walked.moved > 0 {
            self.retry_after = RETRY_AFTER.0;
        }
        let may_rest = walked.left == walked.waiting;
        self.next = now + if may_rest { WALK_EVERY } else { self.retry_after };
    }

    /// Whether a node of the plan is in service.
    pub fn is_up(&self, node: NodeId) -> bool {
        !self.down.contains(&node)
    }

    /// When the next walk begins if nothing calls for it before.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// Whether the next walk begins now.
    pub fn is_due(&self, now: Timestamp, strays: u64) -> bool {
        now >= self.next || self.is_called(now, strays)
    }

    /// Whether another walk may bring stripes home that the last could not, or did not see.
    fn is_called(&self, now: Timestamp, strays: u64) -> bool {
        // After a walk that left some, those that strayed since do not hasten the next.
        let strayed = self.last.left == 0 && self.down.is_empty() && strays > self.strays;
        let is_calm = now.since(self.calm_since) >= self.home_after;
        (self.returned || strayed) && is_calm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watch after a walk that ended at second 0.
    fn watch(is_clean: bool) -> StrayWatch {
        let mut watch = StrayWatch::new(at(0), Duration::from_secs(10));
        watch.walk_began(at(0), 3);
        watch.walk_ended(at(0), if is_clean { CLEAN } else { AWAY });
        watch
    }

    const CLEAN: Walked = Walked { moved: 0, left: 0, waiting: 0 };
    /// What is left waits for a node that is out of service.
    const AWAY: Walked = Walked { moved: 0, left: 2, waiting: 2 };
    const STUCK: Walked = Walked { moved: 0, left: 2, waiting: 1 };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    fn nodes(ids: &[u16]) -> BTreeSet<NodeId> {
        ids.iter().map(|&id| NodeId(id)).collect()
    }

    #[test]
    fn nothing_wakes_it_while_nothing_changes() {
        let watch = watch(true);
        assert!(!watch.is_due(at(3000), 3));
    }

    #[test]
    fn a_node_that_comes_back_wakes_it_once_it_has_stayed_and_one_that_goes_does_not() {
        let mut watch = watch(true);
        watch.look(at(100), nodes(&[1, 2]));
        assert!(!watch.is_due(at(500), 9));
        watch.look(at(600), nodes(&[1]));
        assert!(!watch.is_due(at(609), 9));
        assert!(watch.is_due(at(610), 3));
        watch.walk_began(at(611), 9);
        watch.walk_ended(at(620), CLEAN);
        assert!(!watch.is_due(at(3000), 9));
    }

    #[test]
    fn while_nodes_flap_it_waits() {
        let mut watch = watch(true);
        for at_s in (100..200).step_by(5) {
            let down: &[u16] = if at_s % 2 == 0 { &[1] } else { &[] };
            watch.look(at(at_s), nodes(down));
            assert!(!watch.is_due(at(at_s + 4), 9));
        }
        assert!(watch.is_due(at(205), 9));
    }

    #[test]
    fn strays_wake_it_after_a_clean_walk_with_all_nodes_in_service_only() {
        let mut watch = watch(true);
        assert!(!watch.is_due(at(9), 4));
        assert!(watch.is_due(at(10), 4));
        watch.look(at(20), nodes(&[1]));
        assert!(!watch.is_due(at(50), 4));
        let watch = self::watch(false);
        assert!(!watch.is_due(at(50), 4));
    }

    #[test]
    fn a_node_that_comes_back_during_a_walk_wakes_it_after() {
        let mut watch = watch(true);
        watch.look(at(100), nodes(&[1]));
        watch.walk_began(at(105), 3);
        watch.look(at(110), nodes(&[]));
        watch.walk_ended(at(200), AWAY);
        assert!(!watch.is_due(at(209), 3));
        assert!(watch.is_due(at(210), 3));
    }

    #[test]
    fn it_walks_at_once_then_every_hour_and_what_waits_for_a_node_hastens_nothing() {
        let mut watch = StrayWatch::new(at(5), Duration::from_secs(10));
        assert!(watch.is_due(at(5), 0));
        for walked in [CLEAN, AWAY, CLEAN] {
            watch.walk_began(watch.next(), 0);
            let ended = watch.next() + Duration::from_secs(7);
            watch.walk_ended(ended, walked);
            assert_eq!(watch.next(), ended + WALK_EVERY);
        }
    }

    #[test]
    fn what_could_not_be_moved_is_tried_again_ever_more_rarely_until_something_moves() {
        let mut watch = StrayWatch::new(at(0), Duration::from_secs(10));
        let mut pause = |walked| {
            let began = watch.next();
            watch.walk_began(began, 0);
            watch.walk_ended(began, walked);
            watch.next().since(began).as_secs()
        };
        assert_eq!([STUCK; 11].map(&mut pause), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let moved = Walked { moved: 1, ..STUCK };
        assert_eq!([moved, STUCK, STUCK].map(&mut pause), [1, 2, 4]);
    }

    #[test]
    fn a_walk_that_was_called_for_is_tried_again_soon() {
        let mut watch = StrayWatch::new(at(0), Duration::from_secs(10));
        for _ in 0..6 {
            watch.walk_began(watch.next(), 0);
            watch.walk_ended(watch.next(), STUCK);
        }
        watch.walk_began(watch.next(), 0);
        let (ended, called) = (watch.next(), watch.next());
        watch.walk_ended(ended, STUCK);
        assert!(watch.next().since(called) > Duration::from_secs(30));
        watch.walk_began(called, 0);
        watch.walk_ended(called, STUCK);
        assert_eq!(watch.next().since(called), RETRY_AFTER.0);
    }
}
