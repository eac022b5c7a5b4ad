use crate::{
    Arrivals, Delays, Load, PolicyChoice, Setting, TenantOutcome, Tenants,
    stripe_pool::stripe_pool, tenant::Tally,
};
use ripstop_engine::{Engine, Observer};
use ripstop_gateway::{Machine, NodeSpec, Report, TaskEnd, TaskOutcome as Ended};
use ripstop_model::{NodeId, RequestId, Timestamp};
use ripstop_policy::Limits;
use ripstop_rehearsal::PlanCourse;
use std::cell::RefCell;

/// One run: a pool, a load, a policy, a seed.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The pool.
    pub setting: &'a Setting,
    /// What arrives.
    pub load: &'a Load,
    /// Who decides.
    pub policy: &'a PolicyChoice,
    /// What an adaptive policy does not exceed.
    pub limits: Limits,
    /// TOFEC's memory factor.
    pub memory: f64,
    /// All luck of the run.
    pub seed: u64,
    /// Requests at the beginning that do not count.
    pub warmup: u64,
    /// Whether each request's course is kept.
    pub keep_courses: bool,
}

/// What came of a run, the warm-up left out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// From arrival to answer, nanoseconds, in the order of the answers; requests that were done.
    pub took_ns: Vec<u64>,
    /// The class of each of them.
    pub classes: Vec<u16>,
    /// Requests that were rejected or failed.
    pub failed: u64,
    /// Time in the request queue, all together, seconds.
    pub waited_s: f64,
    /// Requests that began, by n and k: `codes[n][k]`.
    pub codes: Codes,
    /// Tasks that ended on a lane or were dropped before.
    pub tasks: Tasks,
    /// The same by node, as far as its price depends on it; nodes that had none may be missing.
    pub nodes: Vec<NodeTasks>,
    /// Virtual time from the first counted arrival to the last answer, seconds.
    pub span_s: f64,
    /// If asked for: of each request that was done, by arrival.
    pub courses: Vec<Course>,
    /// If asked for: when requests were refused as they came, and their class.
    pub refusals: Vec<(Timestamp, u16)>,
    /// What came of each tenant's requests, if the pool has tenants; the recombination of their
    /// tiers does not matter to what is counted.
    pub tenants: Vec<TenantOutcome>,
    /// What planning came to, if stripes were known one by one.
    pub plan: Option<PlanCourse>,
}

/// How often each code was chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Codes(Vec<Vec<u64>>);

impl Codes {
    fn count(&mut self, n: usize, k: usize) {
        if self.0.len() <= n {
            self.0.resize(n + 1, Vec::new());
        }
        let of_n = &mut self.0[n];
        if of_n.len() <= k {
            of_n.resize(k + 1, 0);
        }
        of_n[k] += 1;
    }

    /// (n, k, how often), ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        let all = self.0.iter().enumerate();
        let each = all.flat_map(|(n, of_n)| of_n.iter().enumerate().map(move |(k, &c)| (n, k, c)));
        each.filter(|&(.., count)| count > 0)
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.iter().map(|(.., count)| count).sum()
    }
}

/// What became of the tasks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tasks {
    /// Had a lane.
    pub served: u64,
    /// Of them beyond the k needed.
    pub extra: u64,
    /// Of them done before their request was answered.
    pub won: u64,
    /// Lane time of all, seconds.
    pub lane_s: f64,
    /// Lane time of those whose request was answered without them, seconds.
    pub wasted_s: f64,
    /// Bytes that all were to move.
    pub bytes: u64,
    /// Bytes of those whose request was answered without them.
    pub wasted_bytes: u64,
}

/// One request's way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Course {
    /// When it arrived.
    pub arrived: Timestamp,
    /// From arrival to answer, nanoseconds.
    pub took_ns: u64,
    /// Its code.
    pub n: u8,
    /// Its code.
    pub k: u8,
    /// Its number, in the order of arrival from 0.
    pub request: u64,
    /// Its class.
    pub class: u16,
}

/// What one node was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeTasks {
    /// Tasks that fetched and had a lane.
    pub reads: u64,
    /// Tasks that stored and had a lane.
    pub writes: u64,
    /// Bytes that the reads were to move.
    pub bytes_read: u64,
    /// Bytes that the writes were to move.
    pub bytes_written: u64,
}

struct Recorder<'a> {
    outcome: Outcome,
    warmup: u64,
    keep_courses: bool,
    classes: &'a RefCell<Vec<u16>>,
    began: Option<Timestamp>,
    /// (n,k) by request.
    codes: Vec<(u8, u8)>,
    tally: Tally<'a>,
}

impl<'a> Recorder<'a> {
    fn new(
        warmup: u64,
        keep_courses: bool,
        classes: &'a RefCell<Vec<u16>>,
        tenants: &'a Tenants,
    ) -> Self {
        let (outcome, began, codes) = (Outcome::default(), None, Vec::new());
        let tally = Tally::new(tenants);
        Self { outcome, warmup, keep_courses, classes, began, codes, tally }
    }

    fn class(&self, request: RequestId) -> u16 {
        self.classes.borrow().get(request.0 as usize).copied().unwrap_or(0)
    }

    fn outcome(self) -> Outcome {
        let mut outcome = self.outcome;
        outcome.courses.sort_by_key(|course| course.arrived);
        outcome.tenants = self.tally.outcomes();
        outcome
    }
}

impl Observer for Recorder<'_> {
    fn report(&mut self, at: Timestamp, report: &Report) {
        match *report {
            Report::Started { request, code, waited, .. } => {
                if request.0 < self.warmup {
                    return;
                }
                self.outcome.codes.count(code.n(), code.k());
                self.outcome.waited_s += waited.as_secs_f64();
                if self.keep_courses {
                    let index = request.0 as usize;
                    self.codes.resize(self.codes.len().max(index + 1), (0, 0));
                    self.codes[index] = (code.n() as u8, code.k() as u8);
                }
            }
            Report::Answered { request, tenant, tier, took, done, .. } => {
                if request.0 < self.warmup {
                    return;
                }
                let arrived = Timestamp::from_nanos(at.as_nanos() - took.as_nanos() as u64);
                let began = *self.began.get_or_insert(arrived);
                self.outcome.span_s = at.since(began).as_secs_f64();
                self.tally.answered(tenant, tier, done.then_some(took));
                if !done {
                    self.outcome.failed += 1;
                    return;
                }
                let took_ns = took.as_nanos() as u64;
                self.outcome.took_ns.push(took_ns);
                let class = self.class(request);
                self.outcome.classes.push(class);
                if self.keep_courses {
                    let (n, k) = self.codes.get(request.0 as usize).copied().unwrap_or((0, 0));
                    let request = request.0;
                    self.outcome.courses.push(Course { arrived, took_ns, n, k, request, class });
                }
            }
            Report::Task(TaskEnd {
                task, write, outcome, bytes, served, extra, redundant, ..
            }) => {
                if served.is_zero() || task.request.0 < self.warmup {
                    return;
                }
                self.outcome.count_at_node(task.node, write, bytes);
                let tasks = &mut self.outcome.tasks;
                tasks.served += 1;
                tasks.extra += u64::from(extra);
                tasks.won += u64::from(extra && !redundant && outcome == Ended::Done);
                tasks.lane_s += served.as_secs_f64();
                tasks.bytes += bytes;
                if redundant || outcome == Ended::Cancelled {
                    tasks.wasted_s += served.as_secs_f64();
                    tasks.wasted_bytes += bytes;
                }
            }
            Report::Refused { request, tenant } => {
                if request.0 < self.warmup {
                    return;
                }
                self.outcome.failed += 1;
                self.tally.refused(tenant);
                if self.keep_courses {
                    let class = self.class(request);
                    self.outcome.refusals.push((at, class));
                }
            }
            Report::FragmentLost { .. } | Report::Node { .. } | Report::Admitted { .. } => {}
        }
    }
}

impl Run<'_> {
    /// Plays it. Equal runs have equal outcomes.
    pub fn play(&self) -> Outcome {
        let classes = RefCell::new(Vec::new());
        let tenants = &self.setting.tenants;
        let recorder = Recorder::new(self.warmup, self.keep_courses, &classes, tenants);
        let world = self.setting.world(self.seed);
        let arrivals = Arrivals::new(self.setting, self.load, self.seed);
        let arrivals = arrivals.map(|(class, arrival)| {
            classes.borrow_mut().push(class);
            arrival
        });
        let policy = || self.policy.policy(self.setting, self.load, self.limits, self.memory);
        if let Some(plan) = &self.setting.plan {
            let places = plan.places(self.setting.code.n(), self.setting.nodes.len());
            let pool = stripe_pool(self.setting, plan, &policy, &places, self.seed);
            let (recorder, course) = pool.play(world, recorder, arrivals);
            return Outcome { plan: Some(course), ..recorder.outcome() };
        }
        let specs = self.setting.nodes.iter().enumerate();
        let specs = specs.map(|(id, node)| NodeSpec { id: NodeId(id as u16), lanes: node.lanes });
        let machine = Machine::new(self.setting.machine, specs.collect(), policy());
        let mut engine = Engine::new(machine, world, recorder);
        if let Some(shaping) = tenants.shaping() {
            engine.shape(shaping);
        }
        engine.run(arrivals);
        engine.observer.outcome()
    }
}

impl Outcome {
    /// What came of the reports of a pool whose requests are all of one class, the first `warmup`
    /// requests left out: a live pool's count as a simulated one's do.
    pub fn of_reports<'a>(
        reports: impl IntoIterator<Item = (Timestamp, &'a Report)>,
        warmup: u64,
    ) -> Self {
        let (classes, tenants) = (RefCell::new(Vec::new()), Tenants::default());
        let mut recorder = Recorder::new(warmup, false, &classes, &tenants);
        for (at, report) in reports {
            recorder.report(at, report);
        }
        recorder.outcome()
    }

    pub(crate) fn count_at_node(&mut self, node: NodeId, write: bool, bytes: u64) {
        let index = usize::from(node.0);
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, NodeTasks::default());
        }
        let node = &mut self.nodes[index];
        let (tasks, moved) = if write {
            (&mut node.writes, &mut node.bytes_written)
        } else {
            (&mut node.reads, &mut node.bytes_read)
        };
        *tasks += 1;
        *moved += bytes;
    }

    /// Mean, deviation and percentiles of what took this long, milliseconds; 0 if nothing was done.
    pub fn delay(&self) -> Delays {
        Delays::of(&mut self.took_ns.clone())
    }

    /// The same for one class.
    pub fn delay_of(&self, class: u16) -> Delays {
        let of_class = self.took_ns.iter().zip(&self.classes).filter(|&(_, &c)| c == class);
        Delays::of(&mut of_class.map(|(&took, _)| took).collect::<Vec<_>>())
    }
}
