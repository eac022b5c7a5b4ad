use ripstop_model::Timestamp;
use ripstop_placement::moving::MovePace;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How fast a round may store bytes, and how it gives way: by the rule that plays in the simulator
/// too.
#[derive(Debug)]
pub(crate) struct Pace {
    rule: Mutex<MovePace>,
    /// When its clock shows zero.
    begun: Instant,
}

impl Pace {
    /// As fast as it goes.
    pub(crate) fn free() -> Self {
        Self::of(u64::MAX)
    }

    /// This many bytes each second, of which there is at least one.
    pub(crate) fn of(rate: u64) -> Self {
        let rule = Mutex::new(MovePace::new(Timestamp::ZERO, rate.max(1)));
        Self { rule, begun: ripstop_host::now() }
    }

    fn with<T>(&self, ask: impl FnOnce(&mut MovePace, Timestamp) -> T) -> T {
        let now = Timestamp::ZERO + ripstop_host::since(self.begun);
        ask(&mut self.rule.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// Counts bytes that were stored now.
    pub(super) fn pay(&self, bytes: u64) {
        self.with(|rule, now| rule.moved(now, bytes));
    }

    /// How long to wait before asking again; `None`: the round may go on.
    pub(super) fn wait(&self, has_backlog: bool) -> Option<Duration> {
        self.with(|rule, now| rule.wait(now, has_backlog))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_paid_for_unless_it_may_go_as_fast_as_it_goes() {
        let (pace, free) = (Pace::of(1 << 20), Pace::free());
        pace.pay(1 << 30);
        free.pay(1 << 40);
        assert!(pace.wait(false).is_some_and(|left| left > Duration::from_mins(10)));
        assert_eq!(free.wait(false), None);
        assert!(free.wait(true).is_some(), "a backlog comes first all the same");
    }
}
