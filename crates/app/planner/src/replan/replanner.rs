//! Pools that plan themselves: from what their tasks took recently, every so often and when nodes
//! come and go.

use super::{
    attendance::Attendance,
    measurement::{Measuring, measure},
};
use crate::groups::{file_of, groups_of, placement};
use anyhow::{Result, ensure};
use ripstop_assembly::{
    PlannedPool, Planning,
    config::{AutoPlan, PlanFile, PoolConfig},
};
use ripstop_gateway::{NodeState, Placement, Selection};
use ripstop_keeper::{Census, Keeper};
use ripstop_model::NodeId;
use ripstop_placement::{Group, Plan, Renewal, is_exact};
use ripstop_roster::{PlanStanding, Roster};
use ripstop_runtime::Pool;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Stripes of a pool without any, and parts of a plan that is read.
pub(super) const FILES: u64 = 1000;
/// Stripes are counted again after this many times as long as counting took, and at most before
/// each plan.
const COUNT_EVERY: u32 = 50;
/// Groups that a log line names.
const GROUPS_SHOWN: usize = 8;
/// Nodes are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A node that comes or goes is planned for after this long: many are back before that.
const AWAY_AFTER: Duration = Duration::from_secs(30);

/// Plans one pool.
#[derive(Debug)]
pub struct Replanner {
    config: PoolConfig,
    auto: AutoPlan,
    pool: Pool,
    keeper: Keeper,
    roster: Arc<Roster>,
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

impl Planning for Replanner {
    fn goes_by(&self, auto: AutoPlan) -> bool {
        self.auto == auto
    }
}

impl Replanner {
    /// The plan in the data folder, if there is one that can be read.
    fn kept(&self) -> Option<PlanFile> {
        if !self.file.exists() {
            return None;
        }
        PlanFile::read(&self.file)
            .inspect_err(|error| tracing::warn!("planning from the start: {error:#}"))
            .ok()
    }

    /// Plans the pool until the last handle of this is dropped. It begins with the plan that is
    /// handed in, or else with that which is in its file.
    pub fn start(planned: PlannedPool) -> Arc<dyn Planning> {
        let PlannedPool { config, auto, pool, keeper, roster, file, former } = planned;
        let (followed, counted) = (Mutex::default(), Mutex::default());
        let this = Arc::new(Self { config, auto, pool, keeper, roster, file, followed, counted });
        let former = former.or_else(|| this.kept());
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
            this.keeper.follow(this.pool.id(), &Placement { selection, groups: Vec::new() });
        }
        ripstop_host::spawn(keep_planning(Arc::downgrade(&this), auto.every));
        this
    }

    fn names(&self) -> Vec<String> {
        self.roster.nodes().iter().map(|(_, name)| name.clone()).collect()
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

    /// Looks whether another plan is better by enough with these nodes in service, and follows it;
    /// what came of it.
    fn replan(&self, up: &BTreeMap<NodeId, bool>) -> Result<String> {
        let measuring = Measuring {
            config: &self.config,
            nodes: self.roster.nodes(),
            code: self.pool.code(),
            files: self.files(),
            auto: self.auto,
        };
        let measured = measure(&measuring, self.roster.task_log().records(), up)?;
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
        let plan = self.roster.plan().unwrap_or_default();
        self.roster.set_plan(Some(PlanStanding {
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
        let id = |node: u16| self.roster.nodes()[usize::from(node)].0;
        self.keeper.follow(self.pool.id(), &placement(groups, self.selection(), id));
    }

    /// Counts where stripes are, unless that was done not long ago.
    async fn count(&self) -> Result<()> {
        let is_fresh =
            |counted: &Counted| ripstop_host::since(counted.at) < counted.took * COUNT_EVERY;
        if self.counted().as_ref().is_some_and(is_fresh) {
            return Ok(());
        }
        let begun = ripstop_host::now();
        let census = self.keeper.census(self.pool.id()).await?;
        let counted = Counted { census, at: ripstop_host::now(), took: ripstop_host::since(begun) };
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

    /// The groups that a plan begins from: where stripes are, or, as long as they are on their way,
    /// where they are brought.
    fn former(&self, followed: Option<&[Vec<Group>]>) -> Option<Vec<Vec<Group>>> {
        let is_moving = self.keeper.moves_of(self.pool.id()).fragments_left > 0;
        let counted = self.counted();
        let groups = counted.as_ref().map_or(&[][..], |counted| &counted.census.groups);
        if followed.is_some() && (is_moving || groups.is_empty()) {
            return followed.map(<[_]>::to_vec);
        }
        let (n, k) = (self.pool.code().n(), self.pool.code().k());
        let number = |id: &NodeId| {
            let at = self.roster.nodes().iter().position(|(known, _)| known == id)?;
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
            let name = |&at: &u16| self.roster.nodes()[usize::from(at)].1.as_str();
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
        let solved = ripstop_host::spawn_blocking({
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
