use crate::{
    names::PoolNames,
    refusal::Refusal,
    standing::{PlanStanding, PoolGauges},
    task_log::TaskLog,
};
use ripstop_gateway::Report;
use ripstop_model::{NodeId, Timestamp};
use ripstop_runtime::Observer;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

type Look = Arc<dyn Fn() -> Option<PoolGauges> + Send + Sync>;

/// What is known of one pool and decisions depend on: its nodes, which of them refuse, what its
/// tasks took, and the plan that it follows. It hears what the pool's machine reports.
pub struct Roster {
    names: PoolNames,
    /// By number of the node: where it is among the names.
    places: Box<[u16]>,
    refusals: Box<[Refusal]>,
    task_log: Arc<TaskLog>,
    plan: Mutex<Option<PlanStanding>>,
    look: Mutex<Option<Look>>,
}

impl Roster {
    /// Of a pool whose clock starts now.
    pub fn new(names: PoolNames) -> Self {
        let ids = names.nodes.iter().map(|(id, _)| usize::from(id.0) + 1).max().unwrap_or(0);
        let mut places = vec![u16::MAX; ids];
        for (place, (id, _)) in names.nodes.iter().enumerate() {
            places[usize::from(id.0)] = place as u16;
        }
        Self {
            places: places.into(),
            refusals: names.nodes.iter().map(|_| Refusal::default()).collect(),
            task_log: Arc::new(TaskLog::new()),
            plan: Mutex::default(),
            look: Mutex::default(),
            names,
        }
    }

    /// The observer to make the pool with: this roster, and the observer that it is lent to.
    pub fn observer(self: &Arc<Self>, lent: Option<Arc<dyn Observer>>) -> Arc<dyn Observer> {
        match lent {
            None => self.clone(),
            Some(lent) => Arc::new(Lent { roster: self.clone(), lent }),
        }
    }

    /// How to ask how the pool stands: `roster.watch(move || PoolGauges::of(&weak.upgrade()?))`.
    /// What is asked must not keep the pool, which keeps its observer.
    pub fn watch<G>(&self, look: impl Fn() -> G + Send + Sync + 'static)
    where
        G: Into<Option<PoolGauges>>,
    {
        let look = move || look().into();
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(look));
    }

    /// How the pool stands now; `None` until it is watched, and once it is gone.
    pub fn now(&self) -> Option<PoolGauges> {
        // The pool's own lock is not taken under ours.
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner).clone();
        look.and_then(|look| look())
    }

    /// What the pool and its nodes are called.
    pub fn names(&self) -> &PoolNames {
        &self.names
    }

    /// The pool's name.
    pub fn name(&self) -> &str {
        &self.names.name
    }

    /// The pool's nodes: their numbers and names.
    pub fn nodes(&self) -> &[(NodeId, String)] {
        &self.names.nodes
    }

    /// Where a node is among [`Roster::nodes`].
    pub fn place(&self, id: NodeId) -> Option<usize> {
        let place = usize::from(*self.places.get(usize::from(id.0))?);
        (place < self.names.nodes.len()).then_some(place)
    }

    /// Whether a node refused, recently, the last fragment that it was to store.
    pub fn refuses(&self, id: NodeId) -> bool {
        self.place(id).is_some_and(|place| self.refusals[place].refuses())
    }

    /// The pool's recent tasks.
    pub fn task_log(&self) -> &Arc<TaskLog> {
        &self.task_log
    }

    /// How the pool stands as one that plans itself; `None` if it does not, or has no plan yet.
    pub fn plan(&self) -> Option<PlanStanding> {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What [`Roster::plan`] answers from now on.
    pub fn set_plan(&self, plan: Option<PlanStanding>) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}

impl Observer for Roster {
    fn report(&self, at: Timestamp, report: &Report) {
        self.task_log.report(at, report);
        if let Report::Task(end) = report
            && end.write
            && let Some(place) = self.place(end.task.node)
        {
            self.refusals[place].stored(end.outcome);
        }
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster").field("names", &self.names).finish_non_exhaustive()
    }
}

/// A roster, and another observer that hears the same.
#[derive(Debug)]
struct Lent {
    roster: Arc<Roster>,
    lent: Arc<dyn Observer>,
}

impl Observer for Lent {
    fn report(&self, at: Timestamp, report: &Report) {
        self.roster.report(at, report);
        self.lent.report(at, report);
    }

    fn report_mend(&self, at: Timestamp, report: &Report) {
        self.roster.report_mend(at, report);
        self.lent.report_mend(at, report);
    }

    fn decoded(&self, took: Duration) {
        self.lent.decoded(took);
    }
}
