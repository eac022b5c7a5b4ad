//! Pools that plan themselves: from what their tasks took recently, every so often and when nodes
//! come and go.

use crate::groups::{file_of, groups_of};
use anyhow::Result;
use ripstop_assembly::{
    PlannedPool, Planning,
    config::{AutoPlan, NodeConfig, PlanFile, PoolConfig},
};
use ripstop_gateway::{NodeState, Placement, ReadSelection};
use ripstop_keeper::Keeper;
use ripstop_model::{Code, NodeId};
use ripstop_placement::{
    Group, Plan,
    moving::Census,
    planning::{PlanSubject, PlannedNode, Replanned, Replanning, STRIPES_IF_NONE, site_numbers},
};
use ripstop_rehearsal::Stage;
use ripstop_roster::{PlanStanding, Roster};
use ripstop_runtime::Pool;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};

/// Stripes are counted again after this many times as long as counting took, and at most before
/// each plan.
const COUNT_EVERY: u32 = 50;
/// Groups that a log line names.
const GROUPS_SHOWN: usize = 8;

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
    /// Decides.
    planning: Mutex<Replanning>,
    /// Where stripes were when they were counted last.
    counted: Mutex<Option<Counted>>,
}

/// Where stripes are.
#[derive(Debug)]
struct Counted {
    census: Census,
    /// When counting ended, and how long it took.
    at: Instant,
    took: std::time::Duration,
}

impl Planning for Replanner {
    fn goes_by(&self, auto: AutoPlan) -> bool {
        self.auto == auto
    }
}

/// What is planned for: a pool of this configuration, whose nodes have these numbers.
pub(super) fn subject(
    config: &PoolConfig,
    nodes: &[(NodeId, String)],
    code: Code,
    auto: AutoPlan,
) -> PlanSubject {
    let sites = site_numbers(config.nodes.iter().map(|node| node.site.as_deref()));
    let node = |((config, site), (id, _)): ((&NodeConfig, u16), &(NodeId, String))| PlannedNode {
        id: *id,
        lanes: config.lanes,
        site,
        price_per_byte: config.price.per_gb_month.unwrap_or(0.0) / 1e9,
    };
    PlanSubject { nodes: config.nodes.iter().zip(sites).zip(nodes).map(node).collect(), code, auto }
}

/// What rehearses plans for such a pool, by `act`, which is handed that.
pub(super) fn on_stage<T>(
    config: &PoolConfig,
    selection: ReadSelection,
    act: impl FnOnce(&Stage<'_>) -> T,
) -> T {
    let lanes: Vec<u16> = config.nodes.iter().map(|node| node.lanes).collect();
    let policy = || {
        ripstop_policy::by_name(&config.policy, &config.policy_settings)
            .expect("the configuration was resolved")
    };
    act(&Stage { settings: config.machine, policy: &policy, lanes: &lanes, selection })
}

impl Replanner {
    /// The plan in the data folder, if there is one that can be read.
    fn kept(file: &std::path::Path) -> Option<PlanFile> {
        if !file.exists() {
            return None;
        }
        PlanFile::read(file)
            .inspect_err(|error| tracing::warn!("planning from scratch: {error:#}"))
            .ok()
    }

    /// Plans the pool until the last handle of this is dropped. It begins with the plan that is
    /// handed in, or else with that which is in its file.
    pub fn start(planned: PlannedPool) -> Arc<dyn Planning> {
        let PlannedPool { config, auto, pool, keeper, roster, file, former } = planned;
        let former = former.or_else(|| Self::kept(&file));
        let names = names(&roster);
        let groups = former.and_then(|former| groups_of(&former, &names, STRIPES_IF_NONE).ok());
        let planning = Replanning::new(subject(&config, roster.nodes(), pool.code(), auto), groups);
        let (planning, counted) = (Mutex::new(planning), Mutex::default());
        let this = Arc::new(Self { config, auto, pool, keeper, roster, file, planning, counted });
        let groups = this.planning().followed().map(<[Group]>::to_vec);
        this.follow(&groups.unwrap_or_default());
        ripstop_host::spawn(keep_planning(Arc::downgrade(&this)));
        this
    }

    fn planning(&self) -> MutexGuard<'_, Replanning> {
        self.planning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn selection(&self) -> ReadSelection {
        self.config.selection.under_own_plan()
    }

    /// Nodes in service, by number.
    fn up(&self) -> BTreeMap<NodeId, bool> {
        let state = |machine: &ripstop_gateway::Machine| {
            machine.nodes().map(|node| (node.id, node.state == NodeState::Up)).collect()
        };
        self.pool.inspect(state)
    }

    /// Looks whether another plan is better by enough, and follows it; what came of it.
    fn replan(&self) -> Result<String> {
        let census = self.counted().as_ref().map(|counted| counted.census.clone());
        let is_moving = self.keeper.moves_of(self.pool.id()).fragments_left > 0;
        let records = self.roster.task_log().records();
        let replanned = on_stage(&self.config, self.selection(), |stage| {
            let value = |measured: &_, plan: &_| stage.value(measured, plan);
            self.planning().plan(records, &census.unwrap_or_default(), is_moving, value)
        });
        let plan = match replanned? {
            Replanned::Unknown => return Ok("too little was measured".into()),
            Replanned::Kept { saved, .. } => {
                return Ok(format!("kept: another would save {:.1} %", saved * 100.0));
            }
            Replanned::Followed { plan, .. } => plan,
        };
        let groups = &plan.classes[0];
        let k = self.pool.code().k() as u32;
        // What is not kept is followed all the same.
        if let Err(error) =
            file_of(&self.config.name, self.selection(), &names(&self.roster), k, groups)
                .write(&self.file)
        {
            tracing::warn!(pool = self.config.name, "plan not saved for the next start: {error:#}");
        }
        self.follow(groups);
        let moved = plan.moved_part();
        if moved > 0.0 {
            *self.counted() = None;
        }
        let standing = self.roster.plan().unwrap_or_default();
        self.roster.set_plan(Some(PlanStanding {
            plans: standing.plans + 1,
            moves_planned: standing.moves_planned + moved,
            groups: groups.len(),
            latency_bound_seconds: plan.latency,
        }));
        Ok(self.describe(&plan, moved))
    }

    /// Has the pool's stripes go, and be brought, to these groups; wherever there is least work if
    /// there are none.
    fn follow(&self, groups: &[Group]) {
        let id = |node: u16| self.roster.nodes()[usize::from(node)].0;
        self.keeper.follow(self.pool.id(), &Placement::of(groups, self.selection(), id));
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

fn names(roster: &Roster) -> Vec<String> {
    roster.nodes().iter().map(|(_, name)| name.clone()).collect()
}

async fn keep_planning(this: Weak<Replanner>) {
    loop {
        let Some(pause) = this.upgrade().map(|planner| planner.planning().pause()) else { return };
        tokio::time::sleep(pause).await;
        let Some(planner) = this.upgrade() else { return };
        let up = planner.up();
        if !planner.planning().look(up) {
            continue;
        }
        let name = planner.config.name.clone();
        if let Err(error) = planner.count().await {
            tracing::warn!(pool = name, "no plan: stripes could not be counted: {error:#}");
            continue;
        }
        // Solving is for a thread that may take its time.
        let solved = ripstop_host::spawn_blocking({
            let (planner, runtime) = (planner, tokio::runtime::Handle::current());
            move || {
                let _entered = runtime.enter();
                planner.replan()
            }
        });
        match solved.await {
            Ok(Ok(said)) => tracing::info!(pool = name, "plan: {said}"),
            Ok(Err(error)) => tracing::warn!(pool = name, "no plan: {error:#}"),
            Err(error) => tracing::error!(pool = name, "planning broke off: {error}"),
        }
    }
}
