use ripstop_engine::Observer;
use ripstop_estimator::{LogRecord, TASK_LOG_MAX};
use ripstop_gateway::{Report, TaskEnd};
use ripstop_model::{NodeId, RequestId, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// Stands between a pool and who watches its requests: keeps the task log, hears of what was
/// stored, and keeps to itself what moving stripes asks for.
pub(crate) struct Watcher<O> {
    /// Sees requests as if nothing were moved, numbered from 0.
    pub inner: O,
    /// The last tasks, as a live pool keeps them.
    pub log: VecDeque<LogRecord>,
    /// Requests of movers, ascending: one at a time for each.
    moves: Vec<u64>,
    /// Requests of which it is to be heard what they stored.
    awaited: BTreeMap<RequestId, Awaited>,
    /// What was heard and not yet taken.
    pub stored: Vec<Stored>,
    /// Fragments that movers stored, and for how long: not yet taken.
    pub move_tasks: Vec<(NodeId, f64)>,
}

/// Whose request it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    /// Somebody's who writes this stripe.
    Write(usize),
    /// A mover's.
    Move,
}

/// What a request stored where.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub request: RequestId,
    pub by: Awaited,
    /// By fragment; empty if the request was refused.
    pub nodes: Vec<Option<NodeId>>,
}

impl<O> Watcher<O> {
    pub(crate) fn new(inner: O) -> Self {
        Self {
            inner,
            log: VecDeque::new(),
            moves: Vec::new(),
            awaited: BTreeMap::new(),
            stored: Vec::new(),
            move_tasks: Vec::new(),
        }
    }

    /// It is to be heard what this request, the next to come, stores.
    pub(crate) fn await_stored(&mut self, request: RequestId, by: Awaited) {
        self.awaited.insert(request, by);
        if by == Awaited::Move {
            self.moves.push(request.0);
        }
    }

    /// What a request is called that is not a mover's.
    fn number(&self, request: RequestId) -> Option<RequestId> {
        match self.moves.binary_search(&request.0) {
            Ok(_) => None,
            Err(before) => Some(RequestId(request.0 - before as u64)),
        }
    }

    /// The report as one sees it to whom movers are nobody; `None` if it is about them.
    fn seen(&self, report: &Report) -> Option<Report> {
        let mut seen = report.clone();
        match &mut seen {
            Report::Started { request, .. }
            | Report::Task(TaskEnd { task: ripstop_gateway::Task { request, .. }, .. })
            | Report::Admitted { request, .. }
            | Report::Refused { request, .. }
            | Report::Answered { request, .. }
            | Report::FragmentLost { request, .. } => *request = self.number(*request)?,
            Report::Node { .. } => {}
        }
        Some(seen)
    }
}

impl<O: Observer> Observer for Watcher<O> {
    fn report(&mut self, at: Timestamp, report: &Report) {
        if let Report::Task(end) = report
            && let Some(record) = end.log_record(at)
        {
            if self.log.len() == TASK_LOG_MAX {
                self.log.pop_front();
            }
            self.log.push_back(record);
        }
        if self.moves.is_empty() {
            return self.inner.report(at, report);
        }
        match (self.seen(report), report) {
            (Some(seen), _) => self.inner.report(at, &seen),
            (None, Report::Task(end)) if !end.served.is_zero() => {
                self.move_tasks.push((end.task.node, end.served.as_secs_f64()));
            }
            (None, _) => {}
        }
    }

    fn settled(&mut self, request: RequestId, stored: &[Option<NodeId>]) {
        if let Some(by) = self.awaited.remove(&request) {
            self.stored.push(Stored { request, by, nodes: stored.to_vec() });
        }
    }
}
