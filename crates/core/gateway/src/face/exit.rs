use super::{action::Action, report::Report};
use alloc::vec::Vec;
use core::mem;
use ripstop_model::Timestamp;

/// The one ordered exit: what is said of the event at hand, and when that happened.
#[derive(Debug)]
pub(crate) struct Exit {
    /// Never runs backwards, whatever the driver says: queues and timeouts rely on it.
    now: Timestamp,
    /// The driver's own list while an event is handled, so that nothing is copied; else empty.
    actions: Vec<Action>,
}

impl Exit {
    pub(crate) const fn new() -> Self {
        Self { now: Timestamp::ZERO, actions: Vec::new() }
    }

    /// An event happened `now`: what is said of it goes to `actions`, until it is closed.
    pub(crate) fn open(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        mem::swap(&mut self.actions, actions);
    }

    pub(crate) fn close(&mut self, actions: &mut Vec<Action>) {
        mem::swap(&mut self.actions, actions);
    }

    /// When the event at hand happened.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn say(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn report(&mut self, report: Report) {
        self.actions.push(Action::Report(report));
    }
}
