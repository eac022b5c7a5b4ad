#[cfg(test)]
mod tests;

use crate::{
    Setback, Spent, Witness,
    fragment::Chunk,
    job::{self, Job, ReadJob},
    task,
};
use ripstop_block::Blocks;
use ripstop_codec::Codec;
use ripstop_gateway::{
    Action, Event, Machine, NodeState, Report, Request, RequestSpec, Task, TaskOutcome,
};
use ripstop_model::{Code, NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_node::Node;
use std::{
    collections::{BTreeMap, HashMap},
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::{Notify, oneshot};

/// Longest that a node may take to say that it is well.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads what the machine reports. Called under the pool's lock: it must be quick and never block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Something happened `at` this time of the pool's clock.
    fn report(&self, at: Timestamp, report: &Report);

    /// The same of a mend's start and answer: a write of the gateway's own.
    fn report_mend(&self, at: Timestamp, report: &Report) {
        self.report(at, report);
    }

    /// The strips that a read lacked were computed, in so much time.
    fn decoded(&self, _took: Duration) {}
}

/// Everything that the tasks of a pool share.
#[derive(Debug)]
pub(crate) struct Shared {
    driver: Mutex<Driver>,
    nodes: BTreeMap<NodeId, Arc<dyn Node>>,
    /// Held while a node is asked how it is.
    probing: BTreeMap<NodeId, tokio::sync::Mutex<()>>,
    codecs: Mutex<BTreeMap<Code, Codec>>,
    pub spent: Arc<Spent>,
    /// What is computed goes there.
    pub blocks: Blocks,
    origin: Instant,
    /// The deadline has moved closer.
    alarm: Notify,
}

/// The machine, and the bytes and channels behind its ids.
struct Driver {
    machine: Machine,
    actions: Vec<Action>,
    jobs: HashMap<RequestId, Job>,
    /// Dropping the sender cancels the task.
    running: HashMap<TaskId, oneshot::Sender<()>>,
    requests_seen: u64,
    /// The machine was told nothing yet.
    is_new: bool,
    armed: Option<Timestamp>,
    observer: Arc<dyn Observer>,
    witness: Option<Arc<dyn Witness>>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("jobs", &self.jobs.len()).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        machine: Machine,
        nodes: BTreeMap<NodeId, Arc<dyn Node>>,
        observer: Arc<dyn Observer>,
        spent: Arc<Spent>,
        blocks: Blocks,
    ) -> Arc<Self> {
        let driver = Driver {
            machine,
            actions: Vec::new(),
            jobs: HashMap::new(),
            running: HashMap::new(),
            requests_seen: 0,
            is_new: true,
            armed: None,
            observer,
            witness: None,
        };
        let shared = Arc::new(Self {
            driver: Mutex::new(driver),
            probing: nodes.keys().map(|id| (*id, tokio::sync::Mutex::default())).collect(),
            nodes,
            codecs: Mutex::default(),
            spent,
            blocks,
            origin: ripstop_host::now(),
            alarm: Notify::new(),
        });
        ripstop_host::spawn(keep_time(Arc::downgrade(&shared)));
        shared
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + ripstop_host::since(self.origin)
    }

    fn driver(&self) -> MutexGuard<'_, Driver> {
        // A panic under the lock would be a bug in the machine; serving the rest beats stopping
        // all.
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Arc<dyn Node>> {
        self.nodes.get(&id)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Arc<dyn Node>)> {
        self.nodes.iter().map(|(id, node)| (*id, node))
    }

    pub(crate) fn codec(&self, code: Code) -> Codec {
        let mut codecs = self.codecs.lock().unwrap_or_else(PoisonError::into_inner);
        codecs.entry(code).or_insert_with(|| Codec::new(code)).clone()
    }

    /// Looks at the machine.
    pub(crate) fn inspect<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.driver().machine)
    }

    /// Lets `witness` see what the machine is told and says.
    ///
    /// # Panics
    /// If the machine was told something already: a witness sees all.
    pub(crate) fn attest(&self, witness: Arc<dyn Witness>) {
        let mut driver = self.driver();
        assert!(driver.is_new, "the pool has begun to serve");
        driver.witness = Some(witness);
    }

    /// Hands a request and its bytes over.
    pub(crate) fn arrive(
        self: &Arc<Self>,
        tenant: TenantId,
        operation: RequestSpec,
        strip_bytes: u32,
        job: Job,
    ) -> RequestId {
        let mut driver = self.driver();
        let id = RequestId(driver.requests_seen);
        driver.requests_seen += 1;
        driver.jobs.insert(id, job);
        driver.step(self, Event::RequestArrived(Request { id, tenant, operation, strip_bytes }));
        id
    }

    /// Tells the machine that something happened.
    pub(crate) fn tell(self: &Arc<Self>, event: Event) {
        self.driver().step(self, event);
    }

    /// Asks a node how it is, and tells the machine; once who asks already has done so.
    pub(crate) async fn probe(self: &Arc<Self>, node: NodeId) {
        let Some(probing) = self.probing.get(&node) else { return };
        let _alone = probing.lock().await;
        self.probe_alone(node).await;
    }

    /// The same, unless it is being asked: the machine will want to know again.
    async fn probe_if_nobody_does(self: &Arc<Self>, node: NodeId) {
        let Some(probing) = self.probing.get(&node) else { return };
        if let Ok(_alone) = probing.try_lock() {
            self.probe_alone(node).await;
        }
    }

    async fn probe_alone(self: &Arc<Self>, node: NodeId) {
        let Some(asked) = self.node(node) else { return };
        let health = tokio::time::timeout(PROBE_TIMEOUT, asked.health()).await;
        let state = if matches!(health, Ok(Ok(()))) { NodeState::Up } else { NodeState::Down };
        self.tell(Event::NodeChanged(node, state));
    }

    fn task_ended(self: &Arc<Self>, task: Task, outcome: TaskOutcome, chunks: Vec<(usize, Chunk)>) {
        let mut driver = self.driver();
        driver.running.remove(&task.id);
        if let Some(job) = driver.jobs.get_mut(&task.request) {
            job.task_ended(task.fragment, outcome, chunks);
        }
        driver.step(self, Event::TaskEnded(task.id, outcome));
    }
}

impl Driver {
    fn step(&mut self, shared: &Arc<Shared>, event: Event) {
        let now = shared.now();
        let mut actions = mem::take(&mut self.actions);
        self.is_new = false;
        if let Some(witness) = &self.witness {
            witness.told(now, &event);
        }
        self.machine.handle(now, event, &mut actions);
        if let Some(witness) = &self.witness {
            witness.said(&actions);
        }
        for action in actions.drain(..) {
            self.act(shared, now, action);
        }
        self.actions = actions;
        let deadline = self.machine.deadline().map(|(at, _)| at);
        if deadline.is_some_and(|at| self.armed.is_none_or(|armed| at < armed)) {
            self.armed = deadline;
            shared.alarm.notify_one();
        }
    }

    fn act(&mut self, shared: &Arc<Shared>, now: Timestamp, action: Action) {
        match action {
            Action::Encode { request, code } => self.encode(shared, request, code),
            Action::StartTask(task) => self.start(shared, task),
            Action::CancelTask(task) => drop(self.running.remove(&task)),
            Action::Decode { request, from } => self.decode(shared, request, &from),
            Action::Complete(request) => self.answer(request, Ok(())),
            Action::Fail(request, cause) => self.answer(request, Err(Setback::Failed(cause))),
            Action::Reject { request, retry_after } => {
                self.answer(request, Err(Setback::Rejected { retry_after }));
                self.jobs.remove(&request);
            }
            Action::Settle { request, stored } => {
                if let Some(job) = self.jobs.remove(&request) {
                    job.settle(stored);
                }
            }
            Action::Probe(node) => {
                let shared = shared.clone();
                ripstop_host::spawn(async move { shared.probe_if_nobody_does(node).await });
            }
            Action::Report(report) if self.is_of_mend(&report) => {
                self.observer.report_mend(now, &report);
            }
            Action::Report(report) => self.observer.report(now, &report),
        }
    }

    fn is_of_mend(&self, report: &Report) -> bool {
        match report {
            Report::Started { request, .. } | Report::Answered { request, .. } => {
                matches!(self.jobs.get(request), Some(Job::Mend(_)))
            }
            Report::Task(_)
            | Report::Admitted { .. }
            | Report::Refused { .. }
            | Report::FragmentLost { .. }
            | Report::Node { .. } => false,
        }
    }

    fn answer(&mut self, request: RequestId, result: Result<(), Setback>) {
        if let Some(job) = self.jobs.get_mut(&request) {
            job.answer(result);
        }
    }

    fn encode(&mut self, shared: &Arc<Shared>, request: RequestId, tasks: Code) {
        let Some(Job::Write(job)) = self.jobs.get_mut(&request) else { return };
        let Some((mut stripe, cut)) = job.begin(tasks) else { return };
        let (codec, shared) = (job.codec.clone(), shared.clone());
        ripstop_host::spawn(async move {
            let start = ripstop_host::now();
            stripe.encode(&codec, cut);
            Spent::add(&shared.spent.encode, start);
            let mut driver = shared.driver();
            if let Some(Job::Write(job)) = driver.jobs.get_mut(&request) {
                job.stripe = Some(stripe);
            }
            driver.step(&shared, Event::EncodeEnded(request));
        });
    }

    fn start(&mut self, shared: &Arc<Shared>, task: Task) {
        let node = shared.nodes.get(&task.node).cloned();
        let (Some(job), Some(node)) = (self.jobs.get_mut(&task.request), node) else {
            unreachable!("tasks are of requests and nodes that the driver gave to the machine")
        };
        let load = job.load(&task);
        let (cancel, cancelled) = oneshot::channel();
        self.running.insert(task.id, cancel);
        let shared = shared.clone();
        ripstop_host::spawn(async move {
            let (outcome, chunks) = tokio::select! {
                biased;
                _ = cancelled => (TaskOutcome::Cancelled, Vec::new()),
                ended = task::run(&*node, &task, load, &shared.spent, &shared.blocks) => ended,
            };
            shared.task_ended(task, outcome, chunks);
        });
    }

    fn decode(&mut self, shared: &Arc<Shared>, request: RequestId, from: &StripSet) {
        let Some(Job::Read(job)) = self.jobs.get_mut(&request) else { return };
        let (missing, sources) = job.gap(from);
        let codec = shared.codec(job.sought.shape.code());
        let shared = shared.clone();
        ripstop_host::spawn(async move {
            let start = ripstop_host::now();
            let computed = job::decode(&codec, &missing, &sources, &shared.blocks);
            Spent::add(&shared.spent.decode, start);
            let (done, took) = (computed.is_some(), ripstop_host::since(start));
            let mut driver = shared.driver();
            driver.observer.decoded(took);
            if let Some(Job::Read(ReadJob { arrived, .. })) = driver.jobs.get_mut(&request) {
                for (strip, chunk) in computed.into_iter().flatten() {
                    arrived[strip] = Some(chunk);
                }
            }
            driver.step(&shared, Event::DecodeEnded(request, done));
        });
    }
}

/// Sends `TimerFired` when the machine's deadline comes, until the pool is gone.
async fn keep_time(shared: Weak<Shared>) {
    /// How soon it notices that the pool is gone.
    const IDLE: Duration = Duration::from_secs(1);
    loop {
        let Some(pool) = shared.upgrade() else { return };
        let wait = {
            let mut driver = pool.driver();
            driver.armed = driver.machine.deadline().map(|(at, _)| at);
            driver.armed.map_or(IDLE, |at| at.since(pool.now()))
        };
        if wait.is_zero() {
            pool.tell(Event::TimerFired);
            // A deadline that the machine does not move must not become a busy loop.
            tokio::task::yield_now().await;
            continue;
        }
        let _ = tokio::time::timeout(wait.min(IDLE), pool.alarm.notified()).await;
    }
}
