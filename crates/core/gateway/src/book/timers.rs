use crate::face::MachineSettings;
use ripstop_model::Timestamp;
use ripstop_scheduling::{Alarms, NodeIndex, RequestSlot, TaskSlot, Timeouts};

/// What runs out, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// A task is too long on its lane: its request does without it. The floor sets it when a task
    /// gets a lane, and stops it when the task ends or is told to.
    Task(TaskSlot),
    /// A read is late by its policy's choice: redundant tasks start, or become needed. Reads set it
    /// when they begin, and once more each time that more may be done.
    Hedge(RequestSlot),
    /// A read waits long for what it fetches: it fetches other fragments too, lest a stalled node
    /// hold it up. Reads set it when they begin, and again whenever it runs out.
    Late(RequestSlot),
    /// A write has enough durable fragments and has waited for more: it is answered. Writes set it
    /// when they come that far; it is also due when the request's own time is over, since what is
    /// durable enough must not fail for want of more.
    Degraded(RequestSlot),
    /// A request took longer than any may: it fails, unless it is a write that has all that it
    /// must. The book sets it at arrival; the answer stops it.
    Request(RequestSlot),
    /// A node that is down is probed. Set when it goes down and each time it is asked,
    /// until it is up.
    Probe(NodeIndex),
    /// A waiting request has waited for a full set of nodes for long enough: one is enough now.
    /// Each look at the queue sets it again, if a node is ready; the look after the event does all
    /// that is due.
    Patience,
}

/// All timers that run. Most are of a span that is the same for all of their kind, so that starting
/// and stopping them is O(1).
#[derive(Debug)]
pub(crate) struct Timers {
    tasks: Timeouts<TaskSlot>,
    hedges: Alarms<RequestSlot>,
    late: Timeouts<RequestSlot>,
    degraded: Timeouts<RequestSlot>,
    requests: Timeouts<RequestSlot>,
    probes: Timeouts<NodeIndex>,
    patience: Option<Timestamp>,
}

impl Timers {
    pub(super) fn new(settings: &MachineSettings) -> Self {
        Self {
            tasks: Timeouts::new(settings.task_timeout),
            hedges: Alarms::default(),
            late: Timeouts::new(settings.late_after),
            degraded: Timeouts::new(settings.degraded_after),
            requests: Timeouts::new(settings.request_timeout),
            probes: Timeouts::new(settings.probe_every),
            patience: None,
        }
    }

    /// Starts a timer that does not run, at this time; hedges and patience, whose spans differ, are
    /// due at it. Patience that ends first counts.
    #[inline]
    pub(crate) fn start(&mut self, at: Timestamp, timer: Timer) {
        match timer {
            Timer::Task(task) => self.tasks.start(at, task),
            Timer::Hedge(slot) => self.hedges.set(at, slot),
            Timer::Late(slot) => self.late.start(at, slot),
            Timer::Degraded(slot) => self.degraded.start(at, slot),
            Timer::Request(slot) => self.requests.start(at, slot),
            Timer::Probe(node) => self.probes.start(at, node),
            Timer::Patience => {
                self.patience = Some(self.patience.map_or(at, |first| first.min(at)));
            }
        }
    }

    /// Stops a timer, if it runs.
    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        match timer {
            Timer::Task(task) => self.tasks.stop(task),
            Timer::Hedge(slot) => self.hedges.stop(slot),
            Timer::Late(slot) => self.late.stop(slot),
            Timer::Degraded(slot) => self.degraded.stop(slot),
            Timer::Request(slot) => self.requests.stop(slot),
            Timer::Probe(node) => self.probes.stop(node),
            Timer::Patience => self.patience = None,
        }
    }

    /// Stops all timers of a request that is answered.
    #[inline]
    pub(crate) fn stop_all(&mut self, slot: RequestSlot) {
        self.requests.stop(slot);
        self.degraded.stop(slot);
        self.late.stop(slot);
        self.hedges.stop(slot);
    }

    /// Whether a write waits for more than it needs.
    pub(crate) fn is_degraded(&self, slot: RequestSlot) -> bool {
        self.degraded.contains(slot)
    }

    /// Whether a request may run out of time.
    pub(super) fn runs_for_request(&self, slot: RequestSlot) -> bool {
        self.requests.contains(slot)
    }

    /// When the first timer is due, and what its span is called in the settings.
    pub(crate) fn deadline(&self) -> Option<(Timestamp, &'static str)> {
        let mut first = None;
        let mut consider = |due: Option<Timestamp>, reason: &'static str| {
            if let Some(due) = due
                && first.is_none_or(|(earliest, _)| due < earliest)
            {
                first = Some((due, reason));
            }
        };
        consider(self.tasks.earliest(), "task_timeout");
        let waits_for_more = self.requests.first().is_some_and(|slot| self.is_degraded(slot));
        let reason = if waits_for_more { "degraded_after" } else { "request_timeout" };
        consider(self.requests.earliest(), reason);
        consider(self.late.earliest(), "late_after");
        consider(self.degraded.earliest(), "degraded_after");
        consider(self.hedges.earliest(), "hedge");
        consider(self.probes.earliest(), "probe_every");
        consider(self.patience, "patience");
        first
    }

    /// Takes out a timer that is due by `now`: by kind, in the order of [`Timer`], so that what
    /// ends tasks and starts others comes before what gives requests up.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Option<Timer> {
        let kinds = self.tasks.expire(now).map(Timer::Task);
        let kinds = kinds.or_else(|| self.hedges.expire(now).map(Timer::Hedge));
        let kinds = kinds.or_else(|| self.late.expire(now).map(Timer::Late));
        let kinds = kinds.or_else(|| self.degraded.expire(now).map(Timer::Degraded));
        let kinds = kinds.or_else(|| self.expire_request(now));
        let kinds = kinds.or_else(|| self.probes.expire(now).map(Timer::Probe));
        kinds.or_else(|| {
            let due = self.patience.is_some_and(|ends| ends <= now);
            due.then(|| self.patience = None).map(|()| Timer::Patience)
        })
    }

    /// Takes out a request whose time is over: one that only waits for more has waited for it.
    fn expire_request(&mut self, now: Timestamp) -> Option<Timer> {
        let slot = self.requests.expire(now)?;
        if self.is_degraded(slot) {
            self.degraded.stop(slot);
            return Some(Timer::Degraded(slot));
        }
        Some(Timer::Request(slot))
    }
}
