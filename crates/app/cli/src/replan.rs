//! Pools that plan themselves: from what their tasks took of late, every so often and when nodes come and go.

mod attendance;
mod choice;
mod measurement;
#[cfg(test)]
mod tests;

use crate::{
    config::{PlanFile, PoolConfig},
    plan::{exactly, file_of, groups_of, is_exact},
};
use anyhow::{Result, ensure};
use attendance::Attendance;
use choice::{Choice, moved_part};
use ripstop_gateway::{NodeState, Placement, PlacementGroup, Selection, WHOLE_CHUNK};
use ripstop_model::NodeId;
use ripstop_placement::{Group, Plan};
use ripstop_runtime::Pool;
use ripstop_store::Store;
use ripstop_telemetry::{PlanStanding, PoolCounts};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

/// Stripes are planned as if they were so many: parts of them are what counts.
const FILES: u64 = 1000;
/// Groups that a log line names.
const GROUPS_SHOWN: usize = 8;
/// Nodes are looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A node that comes or goes is planned for after so long: many are back before that.
const AWAY_AFTER: Duration = Duration::from_secs(30);
/// What a pool that plans itself is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct AutoPlan {
    /// How often it plans anew.
    pub every: Duration,
    /// A new plan is followed if its bound on the mean latency is lower by this part.
    pub gain: f64,
    /// What a dollar a month is worth, seconds of mean latency.
    pub seconds_per_dollar: f64,
    /// Whole sites that stripes survive.
    pub survive_sites: u32,
}

/// Plans one pool.
#[derive(Debug)]
pub(crate) struct Replanner {
    config: PoolConfig,
    auto: AutoPlan,
    pool: Pool,
    store: Store,
    counts: Arc<PoolCounts>,
    /// Keeps the plan that is followed, so that the next start goes on with it.
    file: PathBuf,
    /// What is followed.
    followed: Mutex<Option<Vec<Vec<Group>>>>,
}

/// Where the plan of a pool that plans itself is kept.
pub(crate) fn plan_file(data: &Path, pool: &str) -> PathBuf {
    data.join(format!("plan-{pool}.toml"))
}

impl Replanner {
    /// Plans the pool until the last handle of this is dropped. It begins with the `former` plan, or else
    /// with that which is in its file in the `data` folder.
    pub(crate) fn start(
        config: PoolConfig,
        auto: AutoPlan,
        (pool, store): (Pool, Store),
        counts: Arc<PoolCounts>,
        data: &Path,
        former: Option<PlanFile>,
    ) -> Arc<Self> {
        let file = plan_file(data, &config.name);
        let followed = Mutex::default();
        let this = Arc::new(Self { config, auto, pool, store, counts, file, followed });
        let former =
            former.or_else(|| this.file.exists().then(|| PlanFile::read(&this.file).ok())?);
        let groups = former.and_then(|former| groups_of(&former, &this.names(), FILES).ok());
        let fits = |groups: &Vec<Group>| {
            let n = this.pool.code().n();
            !groups.is_empty() && groups.iter().all(|group| group.nodes.len() == n)
        };
        if let Some(groups) = groups.filter(fits) {
            this.follow(&groups);
            *this.followed.lock().unwrap_or_else(PoisonError::into_inner) = Some(vec![groups]);
        } else {
            let selection = this.selection();
            this.store.follow(this.pool.id(), &Placement { selection, groups: Vec::new() });
        }
        tokio::spawn(keep_planning(Arc::downgrade(&this), auto.every));
        this
    }

    /// Whether it was told this.
    pub(crate) fn goes_by(&self, auto: AutoPlan) -> bool {
        self.auto == auto
    }

    fn names(&self) -> Vec<String> {
        self.counts.nodes().iter().map(|(_, name)| name.clone()).collect()
    }

    fn selection(&self) -> Selection {
        match self.config.selection {
            Selection::Ready => Selection::LeastWorkPlanned,
            chosen @ (Selection::Probabilistic
            | Selection::LeastWork
            | Selection::LeastWorkPlanned) => chosen,
        }
    }

    /// Nodes in service, by number.
    fn up(&self) -> BTreeMap<NodeId, bool> {
        let state = |machine: &ripstop_gateway::Machine| {
            machine.nodes().map(|node| (node.id, node.state == NodeState::Up)).collect()
        };
        self.pool.inspect(state)
    }

    /// Looks whether another plan is better by enough with these nodes in service, and follows it; what
    /// came of it.
    fn replan(&self, up: &BTreeMap<NodeId, bool>) -> Result<String> {
        let measured = self.measure(up)?;
        let Some(measured) = measured else { return Ok("too little was measured".into()) };
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match followed.as_ref() {
            None => exactly(&measured.problem, None)?,
            Some(former) => {
                let (selection, gain) = (self.selection(), self.auto.gain);
                match measured.choose(&self.config, selection, former, gain)? {
                    Choice::Follow(plan) => *plan,
                    Choice::Keep { saved } => {
                        return Ok(format!("kept: another would save {:.1} %", saved * 100.0));
                    }
                }
            }
        };
        ensure!(
            is_exact(&measured.problem, &found),
            "with {} fragments a stripe cannot survive the loss of {} sites",
            self.pool.code().n(),
            self.auto.survive_sites
        );
        let groups = &found.classes[0];
        let names = self.names();
        let k = self.pool.code().k() as u32;
        // What is not kept is followed all the same.
        if let Err(error) =
            file_of(&self.config.name, self.selection(), &names, k, groups).write(&self.file)
        {
            tracing::warn!(pool = self.config.name, "plan not kept for the next start: {error:#}");
        }
        self.follow(groups);
        let moved = moved_part(&found);
        let plan = self.counts.plan().unwrap_or_default();
        self.counts.set_plan(Some(PlanStanding {
            plans: plan.plans + 1,
            moves_planned: plan.moves_planned + moved,
            groups: groups.len(),
            latency_bound_seconds: found.latency,
        }));
        let said = self.describe(&found, followed.is_some().then_some(moved));
        *followed = Some(found.classes);
        Ok(said)
    }

    /// Has the pool's stripes go, and be brought, to these groups.
    fn follow(&self, groups: &[Group]) {
        let id = |node: u16| self.counts.nodes()[usize::from(node)].0;
        self.store.follow(self.pool.id(), &placement(groups, self.selection(), id));
    }

    fn describe(&self, plan: &Plan, moved: Option<f64>) -> String {
        let groups = plan.classes[0].iter().map(|group| {
            let name = |&at: &u16| self.counts.nodes()[usize::from(at)].1.as_str();
            let names: Vec<&str> = group.nodes.iter().map(name).collect();
            format!("{} of {FILES} at {}", group.files, names.join(" "))
        });
        let (count, bound_ms) = (groups.len(), plan.latency * 1000.0);
        let shown: Vec<String> = groups.take(GROUPS_SHOWN).collect();
        let more = if count > GROUPS_SHOWN { " …" } else { "" };
        let moves = moved
            .map(|part| format!(", {:.1} % of fragments move", part * 100.0))
            .unwrap_or_default();
        let shown = shown.join("; ");
        format!("{count} groups, mean latency at most {bound_ms:.1} ms{moves}: {shown}{more}")
    }
}

/// Groups in the machine's terms; `id` numbers the planner's nodes.
fn placement(groups: &[Group], selection: Selection, id: impl Fn(u16) -> NodeId) -> Placement {
    let groups = groups.iter().map(|group| PlacementGroup {
        weight: group.files,
        nodes: group.nodes.iter().map(|&node| id(node)).collect(),
        dispatch: group
            .probabilities
            .iter()
            .map(|p| (p * f64::from(WHOLE_CHUNK)).round() as u32)
            .collect(),
    });
    Placement { selection, groups: groups.collect() }
}

async fn keep_planning(this: Weak<Replanner>, every: Duration) {
    let (mut attendance, mut waited) = (Attendance::default(), Duration::ZERO);
    let pause = LOOK_EVERY.min(every);
    loop {
        tokio::time::sleep(pause).await;
        let Some(planner) = this.upgrade() else { return };
        waited += pause;
        let changed = attendance.look(planner.up(), pause, AWAY_AFTER.min(every));
        if waited < every && !changed {
            continue;
        }
        waited = Duration::ZERO;
        let name = planner.config.name.clone();
        let up = attendance.settled.clone().unwrap_or_default();
        // Solving is for a thread that may take its time.
        let solved = tokio::task::spawn_blocking({
            let (planner, runtime) = (planner, tokio::runtime::Handle::current());
            move || {
                let _entered = runtime.enter();
                planner.replan(&up)
            }
        });
        match solved.await {
            Ok(Ok(said)) => tracing::info!(pool = name, "plan: {said}"),
            Ok(Err(error)) => tracing::warn!(pool = name, "no plan: {error:#}"),
            Err(error) => tracing::error!(pool = name, "planning broke off: {error}"),
        }
    }
}
