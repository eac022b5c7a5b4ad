//! Pools that plan themselves: from what their tasks took of late, every so often and when nodes come and go.

use crate::{
    config::PoolConfig,
    plan::{self, Measured, needed_reads},
};
use anyhow::{Result, ensure};
use ripstop_estimator::parse_log;
use ripstop_gateway::{NodeState, Placement, PlacementGroup, Selection, WHOLE_CHUNK};
use ripstop_model::{NodeId, Operation};
use ripstop_placement::{self as placement, Class, Node, Plan, Problem, Service};
use ripstop_runtime::Pool;
use ripstop_store::Store;
use ripstop_telemetry::PoolCounts;
use std::{
    collections::BTreeMap,
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
    /// What is followed.
    followed: Mutex<Option<Plan>>,
}

impl Replanner {
    /// Plans the pool until the last handle of this is dropped.
    pub(crate) fn start(
        config: PoolConfig,
        auto: AutoPlan,
        pool: Pool,
        store: Store,
        counts: Arc<PoolCounts>,
    ) -> Arc<Self> {
        let followed = Mutex::default();
        let this = Arc::new(Self { config, auto, pool, store, counts, followed });
        this.pool.place(Placement { selection: this.selection(), groups: Vec::new() });
        tokio::spawn(keep_planning(Arc::downgrade(&this), auto.every));
        this
    }

    /// Whether it was told this.
    pub(crate) fn goes_by(&self, auto: AutoPlan) -> bool {
        self.auto == auto
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

    /// Looks whether another plan is better by enough, and follows it; what came of it.
    fn replan(&self) -> Result<String> {
        let Some(problem) = self.problem()? else { return Ok("too little was measured".into()) };
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = plan::exactly(&problem, followed.as_ref())?;
        ensure!(
            plan::is_exact(&problem, &found),
            "with {} fragments a stripe cannot survive the loss of {} sites",
            self.pool.code().n(),
            self.auto.survive_sites
        );
        if let Some(former) = &*followed {
            let now = Plan::new(&problem, former.classes.clone(), 0.0);
            let whole = former.classes[0].iter().all(|group| {
                group
                    .nodes
                    .iter()
                    .all(|&at| problem.nodes[usize::from(at)].state != placement::NodeState::Down)
            });
            let saved = 1.0 - found.certificate.value / now.certificate.value;
            if whole && saved < self.auto.gain {
                return Ok(format!("kept: another would save {:.1} %", saved * 100.0));
            }
        }
        let said = self.describe(&found);
        self.store.follow(self.pool.id(), &self.placement(&found));
        *followed = Some(found);
        Ok(said)
    }

    fn describe(&self, plan: &Plan) -> String {
        let groups = plan.classes[0].iter().map(|group| {
            let name = |&at: &u16| self.counts.nodes()[usize::from(at)].1.as_str();
            let names: Vec<&str> = group.nodes.iter().map(name).collect();
            format!("{} of {FILES} at {}", group.files, names.join(" "))
        });
        let (count, bound_ms) = (groups.len(), plan.latency * 1000.0);
        let shown: Vec<String> = groups.take(GROUPS_SHOWN).collect();
        let more = if count > GROUPS_SHOWN { " …" } else { "" };
        format!("{count} groups, mean latency at most {bound_ms:.1} ms: {}{more}", shown.join("; "))
    }

    fn placement(&self, plan: &Plan) -> Placement {
        let ids: Vec<NodeId> = self.counts.nodes().iter().map(|(id, _)| *id).collect();
        let groups = plan.classes[0].iter().map(|group| PlacementGroup {
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
    fn problem(&self) -> Result<Option<Problem>> {
        let text: String = self.counts.task_log().clone().pages().collect();
        let mut records = parse_log(&text)?;
        let Some(last) = records.last().map(|record| record.at) else { return Ok(None) };
        records.retain(|record| {
            record.operation == Operation::Read && last.since(record.at).as_secs_f64() < RECENT_S
        });
        let (reads, span_s) = needed_reads(&records);
        let (code, up) = (self.pool.code(), self.up());
        let known = self.counts.nodes();
        let services: Vec<Option<Service>> = known
            .iter()
            .map(|(id, _)| {
                let its = records.iter().filter(|record| record.node == *id);
                Measured::of_records(its).ok().map(|measured| measured.service)
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

async fn keep_planning(this: Weak<Replanner>, every: Duration) {
    let (mut seen, mut waited) = (None, Duration::ZERO);
    loop {
        tokio::time::sleep(LOOK_EVERY.min(every)).await;
        let Some(planner) = this.upgrade() else { return };
        waited += LOOK_EVERY.min(every);
        let up = planner.up();
        let changed = seen.as_ref().is_some_and(|seen| *seen != up);
        seen = Some(up);
        if waited < every && !changed {
            continue;
        }
        waited = Duration::ZERO;
        let name = planner.config.name.clone();
        // Solving is for a thread that may take its time.
        let solved = tokio::task::spawn_blocking({
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
