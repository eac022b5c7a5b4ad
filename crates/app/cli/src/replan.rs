//! Pools that plan themselves: from what their tasks took of late, every so often and when nodes come and go.

mod attendance;
mod choice;
mod measurement;
#[cfg(test)]
mod tests;

use crate::{
    config::{PlanFile, PoolConfig},
    plan::{file_of, groups_of, is_exact},
};
use anyhow::{Result, ensure};
use attendance::Attendance;
use ripstop_gateway::{NodeState, Placement, PlacementGroup, Selection, WHOLE_CHUNK};
use ripstop_model::NodeId;
use ripstop_placement::{Group, Plan, Renewal};
use ripstop_runtime::Pool;
use ripstop_store::{Census, Store};
use ripstop_telemetry::{PlanStanding, PoolCounts};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Stripes of a pool without any, and parts of a plan that is read.
const FILES: u64 = 1000;
/// Stripes are counted anew after so many times as long as counting took, and before each plan at most.
const COUNT_EVERY: u32 = 50;
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
    /// Where stripes were when they were counted last.
    counted: Mutex<Option<Counted>>,
}

/// Where stripes are.
#[derive(Debug)]
struct Counted {
    census: Census,
    /// When counting ended, and how long it took.
    at: Instant,
    took: Duration,
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
        let (followed, counted) = (Mutex::default(), Mutex::default());
        let this = Arc::new(Self { config, auto, pool, store, counts, file, followed, counted });
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
        let (former, gain) = (self.former(followed.as_deref()), self.auto.gain);
        let found =
            match measured.choose(&self.config, self.selection(), former.as_deref(), gain)? {
                Renewal::Follow(plan) => *plan,
                Renewal::Keep { saved } => {
                    return Ok(format!("kept: another would save {:.1} %", saved * 100.0));
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
        let moved = found.moved_part();
        if moved > 0.0 {
            *self.counted() = None;
        }
        let plan = self.counts.plan().unwrap_or_default();
        self.counts.set_plan(Some(PlanStanding {
            plans: plan.plans + 1,
            moves_planned: plan.moves_planned + moved,
            groups: groups.len(),
            latency_bound_seconds: found.latency,
        }));
        let said = self.describe(&found, moved);
        *followed = Some(found.classes);
        Ok(said)
    }

    /// Has the pool's stripes go, and be brought, to these groups.
    fn follow(&self, groups: &[Group]) {
        let id = |node: u16| self.counts.nodes()[usize::from(node)].0;
        self.store.follow(self.pool.id(), &placement(groups, self.selection(), id));
    }

    /// Counts where stripes are, unless that was done not long ago.
    async fn count(&self) -> Result<()> {
        let is_fresh = |counted: &Counted| counted.at.elapsed() < counted.took * COUNT_EVERY;
        if self.counted().as_ref().is_some_and(is_fresh) {
            return Ok(());
        }
        let begun = Instant::now();
        let census = self.store.census(self.pool.id()).await?;
        let counted = Counted { census, at: Instant::now(), took: begun.elapsed() };
        *self.counted() = Some(counted);
        Ok(())
    }

    fn counted(&self) -> MutexGuard<'_, Option<Counted>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stripes that are planned for.
    fn files(&self) -> u64 {
        let stripes = self.counted().as_ref().map_or(0, |counted| counted.census.stripes);
        if stripes > 0 { stripes } else { FILES }
    }

    /// The groups that a plan begins from: where stripes are, or, as long as they are on their way, where
    /// they are brought.
    fn former(&self, followed: Option<&[Vec<Group>]>) -> Option<Vec<Vec<Group>>> {
        let is_moving = self.store.moves_of(self.pool.id()).fragments_left > 0;
        let counted = self.counted();
        let groups = counted.as_ref().map_or(&[][..], |counted| &counted.census.groups);
        if followed.is_some() && (is_moving || groups.is_empty()) {
            return followed.map(<[_]>::to_vec);
        }
        let (n, k) = (self.pool.code().n(), self.pool.code().k());
        let number = |id: &NodeId| {
            let at = self.counts.nodes().iter().position(|(known, _)| known == id)?;
            Some(at as u16)
        };
        let group = |(nodes, files): &(Vec<NodeId>, u64)| {
            let mut nodes = nodes.iter().map(number).collect::<Option<Vec<u16>>>()?;
            nodes.sort_unstable();
            let known = followed.into_iter().flatten().flatten().find(|group| group.nodes == nodes);
            let probabilities = known
                .map_or_else(|| vec![k as f64 / n as f64; n], |group| group.probabilities.clone());
            (nodes.len() == n).then_some(Group { files: *files, nodes, probabilities })
        };
        let groups: Vec<Group> = groups.iter().filter_map(group).collect();
        (!groups.is_empty()).then(|| vec![groups])
    }

    fn describe(&self, plan: &Plan, moved: f64) -> String {
        let files: u64 = plan.classes[0].iter().map(|group| group.files).sum();
        let groups = plan.classes[0].iter().map(|group| {
            let name = |&at: &u16| self.counts.nodes()[usize::from(at)].1.as_str();
            let names: Vec<&str> = group.nodes.iter().map(name).collect();
            format!("{} of {files} at {}", group.files, names.join(" "))
        });
        let (count, bound_ms) = (groups.len(), plan.latency * 1000.0);
        let shown: Vec<String> = groups.take(GROUPS_SHOWN).collect();
        let more = if count > GROUPS_SHOWN { " …" } else { "" };
        let (moved, shown) = (moved * 100.0, shown.join("; "));
        format!(
            "{count} groups, mean latency at most {bound_ms:.1} ms, {moved:.1} % of fragments move: {shown}{more}"
        )
    }
}

/// Groups in the machine's terms; `id` numbers the planner's nodes.
pub(crate) fn placement(
    groups: &[Group],
    selection: Selection,
    id: impl Fn(u16) -> NodeId,
) -> Placement {
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
        if let Err(error) = planner.count().await {
            tracing::warn!(pool = name, "no plan: stripes could not be counted: {error:#}");
            continue;
        }
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
