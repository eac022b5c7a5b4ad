use super::tenant::{TenantNames, Tenants};
use ripstop_gateway::{Report, TaskEnd, TaskOutcome};
use ripstop_model::{Code, NodeId, Timestamp};
use ripstop_roster::{PoolGauges, Roster};
use ripstop_runtime::{Observer, TimeHistogram};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

pub(crate) const OPERATIONS: [&str; 2] = ["read", "write"];
/// What requests are; tasks of mends are writes.
pub(crate) const REQUESTS: [&str; 3] = ["read", "write", "mend"];
/// In the order of `outcome_index`.
pub(crate) const OUTCOMES: [&str; 6] =
    ["done", "missing", "damaged", "unavailable", "refused", "cancelled"];
pub(crate) const ANSWERS: [&str; 2] = ["failed", "done"];
pub(crate) const LOSSES: [&str; 2] = ["missing", "damaged"];
pub(crate) const WASTES: [&str; 2] = ["arrived", "cancelled"];
/// In the order of `Fate`.
pub(crate) const FATES: [&str; 6] =
    ["won", "late", "preempted", "cancelled", "unstarted", "failed"];

/// What becomes of a task beyond the k that its request needs.
#[derive(Clone, Copy)]
enum Fate {
    /// It was among the first k.
    Won,
    /// It came to its end when its request was decided.
    Late,
    /// It gave way to others before its request was decided.
    Preempted,
    /// It was stopped, its request being decided.
    Cancelled,
    /// It never had a lane.
    Unstarted,
    /// It failed.
    Failed,
}

impl Fate {
    fn of(outcome: TaskOutcome, served: Duration, redundant: bool) -> Self {
        match outcome {
            TaskOutcome::Done if redundant => Self::Late,
            TaskOutcome::Done => Self::Won,
            TaskOutcome::Cancelled if served.is_zero() => Self::Unstarted,
            TaskOutcome::Cancelled if redundant => Self::Cancelled,
            TaskOutcome::Cancelled => Self::Preempted,
            TaskOutcome::Missing
            | TaskOutcome::Damaged
            | TaskOutcome::Unavailable
            | TaskOutcome::Refused => Self::Failed,
        }
    }
}

/// Where a request is among [`REQUESTS`].
const fn request_index(write: bool, mend: bool) -> usize {
    write as usize + (write && mend) as usize
}

const fn outcome_index(outcome: TaskOutcome) -> usize {
    match outcome {
        TaskOutcome::Done => 0,
        TaskOutcome::Missing => 1,
        TaskOutcome::Damaged => 2,
        TaskOutcome::Unavailable => 3,
        TaskOutcome::Refused => 4,
        TaskOutcome::Cancelled => 5,
    }
}

/// A pool's counts, and how it stands (nothing until it is watched).
pub(crate) type Seen = (Arc<PoolCounts>, Option<PoolGauges>);

/// Counts what a pool's machine reports: atomic additions on counters found when it was made.
pub struct PoolCounts {
    pub(crate) roster: Arc<Roster>,
    pub(crate) nodes: Box<[NodeCounts]>,
    pub(crate) queueing: TimeHistogram,
    pub(crate) decode: TimeHistogram,
    /// Reads, writes, mends.
    pub(crate) operations: [OperationCounts; REQUESTS.len()],
    pub(crate) lost: [AtomicU64; LOSSES.len()],
    /// Bytes of redundant fetches.
    pub(crate) wasted: [AtomicU64; WASTES.len()],
    pub(crate) tenants: Tenants,
}

pub(crate) struct OperationCounts {
    pub codes: CodeCounts,
    pub answers: [AtomicU64; ANSWERS.len()],
    pub took: TimeHistogram,
    pub task_queueing: TimeHistogram,
    pub redundant: [AtomicU64; OUTCOMES.len()],
    pub extra: [AtomicU64; FATES.len()],
}

impl OperationCounts {
    fn new(n_max: usize) -> Self {
        Self {
            codes: CodeCounts::new(n_max),
            answers: Default::default(),
            took: TimeHistogram::default(),
            task_queueing: TimeHistogram::default(),
            redundant: Default::default(),
            extra: Default::default(),
        }
    }
}

#[derive(Default)]
pub(crate) struct NodeCounts {
    pub outages: AtomicU64,
    /// Fetches, stores.
    pub operations: [NodeOperationCounts; 2],
}

#[derive(Default)]
pub(crate) struct NodeOperationCounts {
    pub tasks: [AtomicU64; OUTCOMES.len()],
    pub bytes: AtomicU64,
    pub service: TimeHistogram,
}

/// Requests by code (n,k), up to n = N.
pub(crate) struct CodeCounts {
    /// (1,1), (2,1), (2,2), (3,1), …
    counts: Box<[AtomicU64]>,
    pub other: AtomicU64,
}

impl CodeCounts {
    fn new(n_max: usize) -> Self {
        let pairs = n_max * (n_max + 1) / 2;
        Self { counts: (0..pairs).map(|_| AtomicU64::new(0)).collect(), other: AtomicU64::new(0) }
    }

    fn of(&self, code: Code) -> &AtomicU64 {
        let before = code.n() * (code.n() - 1) / 2;
        self.counts.get(before + code.k() - 1).unwrap_or(&self.other)
    }

    /// Those that were used.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Code, &AtomicU64)> {
        let pairs = (1..=255).flat_map(|n| (1..=n).filter_map(move |k| Code::new(n, k).ok()));
        pairs.zip(&self.counts).filter(|(_, count)| count.load(Relaxed) > 0)
    }
}

impl PoolCounts {
    pub(crate) fn new(roster: Arc<Roster>) -> Self {
        Self {
            nodes: roster.nodes().iter().map(|_| NodeCounts::default()).collect(),
            queueing: TimeHistogram::default(),
            decode: TimeHistogram::default(),
            operations: REQUESTS.map(|_| OperationCounts::new(roster.names().code.n())),
            lost: Default::default(),
            wasted: Default::default(),
            tenants: Tenants::new(),
            roster,
        }
    }

    /// The pool whose reports are counted.
    pub fn roster(&self) -> &Arc<Roster> {
        &self.roster
    }

    /// The pool's name.
    pub fn name(&self) -> &str {
        self.roster.name()
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&NodeCounts> {
        self.nodes.get(self.roster.place(id)?)
    }

    fn task_ended(&self, end: &TaskEnd) {
        let TaskEnd { task, write, outcome, bytes, waited, served, extra, redundant } = *end;
        let operation = &self.operations[usize::from(write)];
        let cancelled = outcome == TaskOutcome::Cancelled;
        operation.task_queueing.add(waited);
        if let Some(node) = self.node(task.node) {
            let counts = &node.operations[usize::from(write)];
            counts.tasks[outcome_index(outcome)].fetch_add(1, Relaxed);
            // What was stopped, or never had a lane, says nothing of how fast the node serves.
            if !cancelled && !served.is_zero() {
                counts.service.add(served);
            }
            if outcome == TaskOutcome::Done {
                counts.bytes.fetch_add(bytes, Relaxed);
            }
        }
        if extra {
            let fate = Fate::of(outcome, served, redundant);
            operation.extra[fate as usize].fetch_add(1, Relaxed);
        }
        if redundant {
            operation.redundant[outcome_index(outcome)].fetch_add(1, Relaxed);
            // A fragment stored after the answer still adds to what survives: only fetches waste.
            let arrived = matches!(outcome, TaskOutcome::Done | TaskOutcome::Damaged);
            if !write && (arrived || cancelled && !served.is_zero()) {
                self.wasted[usize::from(cancelled)].fetch_add(bytes, Relaxed);
            }
        }
    }
}

impl PoolCounts {
    fn note(&self, at: Timestamp, report: &Report, mend: bool) {
        self.tenants.report(at, report);
        match *report {
            Report::Started { code, waited, write, .. } => {
                self.operations[request_index(write, mend)].codes.of(code).fetch_add(1, Relaxed);
                self.queueing.add(waited);
            }
            Report::Task(end) => self.task_ended(&end),
            Report::Answered { write, took, done, .. } => {
                let operation = &self.operations[request_index(write, mend)];
                operation.answers[usize::from(done)].fetch_add(1, Relaxed);
                operation.took.add(took);
            }
            Report::Admitted { .. } | Report::Refused { .. } => {}
            Report::FragmentLost { outcome, .. } => {
                let damaged = outcome == TaskOutcome::Damaged;
                self.lost[usize::from(damaged)].fetch_add(1, Relaxed);
            }
            Report::Node { node, up } => {
                if let Some(counts) = self.node(node).filter(|_| !up) {
                    counts.outages.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

impl Observer for PoolCounts {
    fn report(&self, at: Timestamp, report: &Report) {
        self.note(at, report, false);
    }

    fn report_mend(&self, at: Timestamp, report: &Report) {
        self.note(at, report, true);
    }

    fn decoded(&self, took: Duration) {
        self.decode.add(took);
    }
}

impl PoolCounts {
    /// From now on the pool's tenants are these. What is counted of a tenant goes on if one of its
    /// name was there before, though against a bound that is new from zero; the others disappear.
    /// Everybody else is shown as tenant `-`; without tenants, nobody is.
    pub fn set_tenants(&self, tenants: Vec<TenantNames>) {
        self.tenants.set(tenants);
    }
}

impl fmt::Debug for PoolCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolCounts").field("roster", &self.roster).finish_non_exhaustive()
    }
}
