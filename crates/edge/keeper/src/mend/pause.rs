use ripstop_model::NodeId;
use std::time::{Duration, Instant};

/// How often the mender looks for something to mend, and the first pause after a pass in which
/// nothing could be mended.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The longest such pause: each is twice as long as the one before.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);

/// When stripes that could not be mended are tried again: later and later as long as nothing
/// changes, at once when a node goes or comes, or more stripes wait.
#[derive(Debug)]
pub(super) struct Pause {
    len: Duration,
    until: Instant,
    /// How things stood at the last pass.
    seen: Option<Seen>,
}

/// What decides whether another pass could do better than the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) waiting: usize,
    pub(super) nodes_up: Vec<NodeId>,
}

impl Pause {
    pub(super) fn new() -> Self {
        Self { len: RETRY_AFTER, until: ripstop_host::now(), seen: None }
    }

    pub(super) fn is_over(&self, now: Instant, seen: &Seen) -> bool {
        seen.waiting > 0 && (now >= self.until || self.seen.as_ref() != Some(seen))
    }

    /// A pass ended `now`, after which things stand like this.
    pub(super) fn passed(&mut self, now: Instant, mended: usize, seen: Seen) {
        let as_before = self.seen.as_ref().is_some_and(|before| before.nodes_up == seen.nodes_up);
        self.len =
            if mended > 0 || !as_before { RETRY_AFTER } else { RETRY_AFTER_MAX.min(self.len * 2) };
        (self.until, self.seen) = (now + self.len, Some(seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(waiting: usize, up: &[u16]) -> Seen {
        Seen { waiting, nodes_up: up.iter().copied().map(NodeId).collect() }
    }

    #[test]
    fn pauses_grow_while_nothing_changes_and_end_when_a_node_comes_back() {
        let (mut pause, mut now) = (Pause::new(), Instant::now());
        let down = seen(7, &[1, 2]);
        let mut pauses_s = Vec::new();
        for _ in 0..9 {
            while !pause.is_over(now, &down) {
                now += Duration::from_secs(1);
            }
            pause.passed(now, 0, down.clone());
            pauses_s.push(pause.len.as_secs());
        }
        assert_eq!(pauses_s, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert!(pause.is_over(now, &seen(7, &[1, 2, 3])), "a node came back");
        assert!(pause.is_over(now, &seen(8, &[1, 2])), "one more stripe waits");
        assert!(!pause.is_over(now, &down));
        pause.passed(now, 1, down.clone());
        assert_eq!(pause.len, RETRY_AFTER, "some could be mended");
        assert!(!Pause::new().is_over(now, &seen(0, &[1])), "there is nothing to mend");
    }
}
