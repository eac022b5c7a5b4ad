//! Pools that plan themselves: from what their tasks took of late, every so often and when nodes come and go.

use crate::{
    config::{PlanFile, PoolConfig},
    plan::{self, Measured, file_of, groups_of, needed_reads, since_change},
};
use anyhow::{Result, ensure};
use ripstop_estimator::parse_log;
use ripstop_gateway::{NodeState, Placement, PlacementGroup, Selection, WHOLE_CHUNK};
use ripstop_model::{NodeId, Operation};
use ripstop_placement::{self as placement, Class, Group, Node, Plan, Problem, Service};
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
/// The task log of the last so many seconds at most says how fast nodes are.
const RECENT_S: f64 = 600.0;
/// A node that comes or goes is planned for after so long: many are back before that.
const AWAY_AFTER: Duration = Duration::from_secs(30);
/// Part of the gain for which reads are led otherwise, if nothing is moved for it.
const LED_ANEW: f64 = 0.1;
/// Price of moving all stripes, in objectives, at which none is.
const DEAR: f64 = 1e6;

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
        let Some(problem) = self.problem(up)? else { return Ok("too little was measured".into()) };
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match followed.as_ref() {
            None => plan::exactly(&problem, None)?,
            Some(former) => match better(&problem, former, self.auto.gain)? {
                Better::Found(plan) => *plan,
                Better::Kept { saved } => {
                    return Ok(format!("kept: another would save {:.1} %", saved * 100.0));
                }
            },
        };
        ensure!(
            plan::is_exact(&problem, &found),
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
        let moved = moved_part(&problem, &found);
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
        self.store.follow(self.pool.id(), &self.placement(groups));
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

    fn placement(&self, groups: &[Group]) -> Placement {
        let ids: Vec<NodeId> = self.counts.nodes().iter().map(|(id, _)| *id).collect();
        let groups = groups.iter().map(|group| PlacementGroup {
            weight: group.files,
            nodes: group.nodes.iter().map(|&at| ids[usize::from(at)]).collect(),
            dispatch: group
                .probabilities
                .iter()
                .map(|p| (p * f64::from(WHOLE_CHUNK)).round() as u32)
                .collect(),
        });
        Placement { selection: self.selection(), groups: groups.collect() }
    }

    /// The pool as a planner sees it; none before enough nodes are known.
    fn problem(&self, up: &BTreeMap<NodeId, bool>) -> Result<Option<Problem>> {
        let text: String = self.counts.task_log().clone().pages().collect();
        let mut records = parse_log(&text)?;
        let Some(last) = records.last().map(|record| record.at) else { return Ok(None) };
        records.retain(|record| {
            record.operation == Operation::Read && last.since(record.at).as_secs_f64() < RECENT_S
        });
        let (reads, span_s) = needed_reads(&records);
        let code = self.pool.code();
        let known = self.counts.nodes();
        let services: Vec<Option<Service>> = known
            .iter()
            .map(|(id, _)| {
                let its: Vec<_> = records.iter().filter(|record| record.node == *id).collect();
                let lately = since_change(&its).iter().copied();
                Measured::of_records(lately).ok().map(|measured| measured.service)
            })
            .collect();
        let measured: Vec<Service> = services.iter().flatten().copied().collect();
        if measured.len() < code.k() || reads.is_empty() || span_s < 1.0 {
            return Ok(None);
        }
        // Of a node that serves nothing nobody knows: it is taken for one in the middle.
        let mut by_mean = measured.clone();
        by_mean.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
        let usual = by_mean[by_mean.len() / 2];
        let bytes = reads.iter().map(|record| record.bytes).sum::<u64>() / reads.len() as u64;
        let rate = reads.len() as f64 / code.k() as f64 / span_s;
        let sites = sites(&self.config);
        let nodes = known.iter().zip(services).zip(&self.config.nodes).zip(sites);
        let nodes = nodes.map(|((((id, _), service), config), site)| {
            // Of several lanes as one that is as many times faster.
            let service = service.unwrap_or(usual).with_lanes(config.lanes);
            Node {
                service,
                price_per_chunk: 0.0,
                price_per_byte: config.price.per_gb_month.unwrap_or(0.0) / 1e9,
                site,
                vendor: site,
                capacity_bytes: u64::MAX,
                state: if up.get(id) == Some(&false) {
                    placement::NodeState::Down
                } else {
                    placement::NodeState::Up
                },
            }
        });
        let class = Class {
            rate: rate.max(1e-6),
            files: FILES,
            k: code.k() as u32,
            chunk_bytes: bytes.max(1),
            survive_nodes: code.parity() as u32,
            survive_sites: self.auto.survive_sites,
            spread: false,
        };
        Ok(Some(Problem {
            nodes: nodes.collect(),
            classes: vec![class],
            seconds_per_money: self.auto.seconds_per_dollar,
            seconds_per_moved_byte: 0.0,
        }))
    }
}

/// The site of each node, as a number; nodes without one are sites of their own.
fn sites(config: &PoolConfig) -> Vec<u16> {
    let mut numbers = BTreeMap::new();
    let site = |node: &crate::config::NodeConfig| {
        let name = node.site.clone().unwrap_or_else(|| format!("of {}", node.name));
        let next = numbers.len() as u16;
        *numbers.entry(name).or_insert(next)
    };
    config.nodes.iter().map(site).collect()
}

/// A plan beside the one that is followed.
enum Better {
    /// One that is better by enough.
    Found(Box<Plan>),
    /// None; by which part the best would be.
    Kept { saved: f64 },
}

/// Whether another plan is better than these groups. Stripes are moved if that is better by `gain`, as a part of
/// the objective, than leading reads elsewhere; moving all of them counts as much as the gain, some of them as a
/// part of it. Reads are led elsewhere for a tenth of it. A plan some of whose nodes are down is worse than
/// any other.
fn better(problem: &Problem, former: &[Vec<Group>], gain: f64) -> Result<Better> {
    let now = Plan::new(problem, former.to_vec(), 0.0);
    let usual = plan::exactly(problem, None)?.certificate.value;
    let all_bytes: f64 = now.bytes.iter().sum();
    let with_moves_at = |objectives: f64| {
        let seconds_per_moved_byte = objectives * usual / all_bytes.max(1.0);
        plan::exactly(&Problem { seconds_per_moved_byte, ..problem.clone() }, Some(&now))
    };
    let saved = |plan: &Plan, than: &Plan| 1.0 - plan.certificate.value / than.certificate.value;
    let (moving, staying) = (with_moves_at(gain)?, with_moves_at(DEAR)?);
    let stays = staying.moves.is_empty() && plan::is_exact(problem, &staying);
    if !stays || !moving.moves.is_empty() && saved(&moving, &staying) >= gain {
        return Ok(Better::Found(Box::new(moving)));
    }
    if saved(&staying, &now) >= gain * LED_ANEW {
        return Ok(Better::Found(Box::new(staying)));
    }
    Ok(Better::Kept { saved: saved(&moving, &now).max(saved(&staying, &now)) })
}

/// Which part of all fragments is to be moved.
fn moved_part(problem: &Problem, plan: &Plan) -> f64 {
    let all: f64 = plan.bytes.iter().sum();
    debug_assert!(problem.classes.len() == 1, "a pool is one class");
    plan.moved_bytes() as f64 / all.max(1.0)
}

/// Which nodes are in service, those that went or came just now left as they were.
#[derive(Debug, Default)]
struct Attendance {
    /// What is gone by.
    settled: Option<BTreeMap<NodeId, bool>>,
    /// What was seen last, and for how long.
    seen: BTreeMap<NodeId, bool>,
    since: Duration,
}

impl Attendance {
    /// Takes in who is there; whether that has changed, `within` ago or earlier.
    fn look(&mut self, up: BTreeMap<NodeId, bool>, passed: Duration, within: Duration) -> bool {
        self.since = if self.seen == up { self.since + passed } else { Duration::ZERO };
        self.seen = up;
        let Some(settled) = &self.settled else {
            self.settled = Some(self.seen.clone());
            return false;
        };
        let changed = *settled != self.seen && self.since >= within;
        if changed {
            self.settled = Some(self.seen.clone());
        }
        changed
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

#[cfg(test)]
mod tests;
