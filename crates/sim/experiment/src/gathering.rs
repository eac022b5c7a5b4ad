//! A log's small writes, gathered by the batcher that serves before the machine that serves sees
//! them: one loop in virtual time, since when a batch departs depends on how long others took.

use crate::{
    Arrivals, ClassSetting, Delays, NodeTasks, Outcome, Run, Workload, arrivals::write_arrival,
};
use core::iter::{Enumerate, Peekable};
use ripstop_batching::{
    BatchAction, BatchEnd, BatchEvent, BatchId, BatchMember, Batcher, Departure, Fate, KeyMark,
    WriteTicket,
};
use ripstop_engine::{Engine, Observer};
use ripstop_gateway::{Machine, NodeSpec, Report, TaskEnd};
use ripstop_model::{NodeId, Operation, RequestId, TenantId, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of its pack that what is told of a member takes, names and etag included, about.
const ENTRY_BYTES: u64 = 128;

/// How small writes are gathered.
#[derive(Clone, Copy)]
pub struct Gathering<'a> {
    /// Writes shorter than this are, in bytes.
    pub below: u32,
    /// A new batcher, in which nothing waits.
    pub batcher: &'a (dyn Fn() -> Batcher + Sync),
    /// What it is called.
    pub batching: &'a str,
}

impl core::fmt::Debug for Gathering<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { below, batching, .. } = self;
        f.debug_struct("Gathering").field("below", below).field("batching", batching).finish()
    }
}

/// What came of the small writes of a log.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SmallWrites {
    /// From the coming of each that was answered to its answer, in nanoseconds.
    pub(crate) took_ns: Vec<u64>,
    /// Those that failed or were refused.
    pub(crate) failed: u64,
    /// Those of which a later one took the place.
    pub(crate) collapsed: u64,
    /// Stripes that the others were.
    pub(crate) stripes: u64,
    /// What the nodes were asked for, by whatever the log asks.
    pub(crate) nodes: Vec<NodeTasks>,
}

impl SmallWrites {
    pub(crate) fn delays(&self) -> Delays {
        Delays::of(&mut self.took_ns.clone())
    }

    /// Requests at nodes for all that the log asks.
    pub(crate) fn node_requests(&self) -> u64 {
        self.nodes.iter().map(|node| node.reads + node.writes).sum()
    }

    /// As they are where each is a stripe of its own.
    pub(crate) fn alone(workload: &Workload, outcome: &Outcome, below: u32) -> Self {
        let mut took = vec![None; workload.stripes.len()];
        for course in &outcome.courses {
            took[course.request as usize] = Some(course.took_ns);
        }
        let mut writes = Self { nodes: outcome.nodes.clone(), ..Self::default() };
        for object in (0..workload.objects.len()).filter(|at| workload.is_small(*at, below)) {
            writes.stripes += 1;
            match took[workload.objects[object].first as usize] {
                Some(took_ns) => writes.took_ns.push(took_ns),
                None => writes.failed += 1,
            }
        }
        writes
    }

    /// As they are where they are gathered.
    pub(crate) fn gathered(run: &Run<'_>, workload: &Workload, gathering: Gathering<'_>) -> Self {
        let specs = run.setting.nodes.iter().enumerate();
        let specs = specs.map(|(id, node)| NodeSpec { id: NodeId(id as u16), lanes: node.lanes });
        let policy = run.policy.policy(run.setting, run.load, run.limits, run.memory);
        let machine = Machine::new(run.setting.machine, specs.collect(), policy);
        let engine = Engine::new(machine, run.setting.world(run.seed), Seen::default());
        let gatherer = Gatherer {
            run,
            workload,
            below: gathering.below,
            batcher: (gathering.batcher)(),
            engine,
            under_way: BTreeMap::new(),
            writes: Self::default(),
        };
        gatherer.play()
    }
}

/// What became of requests, until it is asked.
#[derive(Default)]
struct Seen {
    outcome: Outcome,
    ended: Vec<(RequestId, bool)>,
}

impl Observer for Seen {
    fn report(&mut self, _: Timestamp, report: &Report) {
        match *report {
            Report::Task(TaskEnd { task, write, bytes, served, .. }) => {
                if !served.is_zero() {
                    self.outcome.count_at_node(task.node, write, bytes);
                }
            }
            Report::Answered { request, done, .. } => self.ended.push((request, done)),
            Report::Refused { request, .. } => self.ended.push((request, false)),
            Report::Started { .. }
            | Report::FragmentLost { .. }
            | Report::Node { .. }
            | Report::Admitted { .. } => {}
        }
    }
}

/// A batcher, and the engine that its batches go to.
struct Gatherer<'a> {
    run: &'a Run<'a>,
    workload: &'a Workload,
    below: u32,
    batcher: Batcher,
    engine: Engine<Seen>,
    /// Which batch a request is.
    under_way: BTreeMap<RequestId, BatchId>,
    writes: SmallWrites,
}

type Coming<'a> = Peekable<Enumerate<Arrivals<'a>>>;

impl<'a> Gatherer<'a> {
    fn play(mut self) -> SmallWrites {
        let arrivals = Arrivals::new(self.run.setting, self.run.load, self.run.seed);
        let mut coming: Coming<'a> = arrivals.enumerate().peekable();
        // Which object the next stripe is of.
        let mut object = 0;
        loop {
            self.take_note();
            let next = coming.peek().map(|(_, (_, arrival))| arrival.at);
            let due = self.batcher.deadline();
            let soonest = next.into_iter().chain(due).min();
            if soonest.is_none() && self.engine.machine().requests_open() == 0 {
                self.writes.nodes = self.engine.observer.outcome.nodes;
                return self.writes;
            }
            if self.engine.advance(soonest.unwrap_or(Timestamp::from_nanos(u64::MAX))) {
                continue;
            }
            if let Some(due) = due.filter(|due| Some(*due) == soonest) {
                self.engine.pass(due);
                self.handle(BatchEvent::TimerFired);
            } else if let Some((stripe, (_, arrival))) = coming.next() {
                let next_begins =
                    |at: usize| self.workload.objects.get(at + 1).map(|next| next.first as usize);
                while next_begins(object).is_some_and(|begins| begins <= stripe) {
                    object += 1;
                }
                if self.workload.is_small(object, self.below) {
                    self.engine.pass(arrival.at);
                    self.handle(BatchEvent::MemberCame(self.member(object)));
                } else {
                    self.engine.submit(arrival);
                }
            }
        }
    }

    fn member(&self, object: usize) -> BatchMember {
        let bytes = self.workload.bytes_of(object) + ENTRY_BYTES;
        BatchMember {
            ticket: WriteTicket(object as u64),
            key: self.workload.objects[object].key.map(|key| KeyMark(key.into())),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            tenant: TenantId::ANYBODY,
            is_conditional: false,
        }
    }

    /// Tells the batcher which of its batches have ended.
    fn take_note(&mut self) {
        let ended = core::mem::take(&mut self.engine.observer.ended);
        for (request, done) in ended {
            let Some(batch) = self.under_way.remove(&request) else { continue };
            self.handle(if done {
                BatchEvent::BatchStored(batch)
            } else {
                BatchEvent::BatchEnded(batch, BatchEnd::Failed)
            });
        }
    }

    fn handle(&mut self, event: BatchEvent) {
        let now = self.engine.now();
        let (mut events, mut actions) = (VecDeque::from([event]), Vec::new());
        while let Some(event) = events.pop_front() {
            self.batcher.handle(now, event, &mut actions);
            for action in actions.drain(..) {
                match action {
                    BatchAction::Depart(departure) => self.depart(now, &departure),
                    BatchAction::Commit(batch) => {
                        events.push_back(BatchEvent::BatchEnded(batch, BatchEnd::Committed));
                    }
                    BatchAction::Answer { ticket, fate } => self.answer(now, ticket, fate),
                    BatchAction::Refuse { .. } => self.writes.failed += 1,
                    BatchAction::Drop(_) => {}
                }
            }
        }
    }

    fn depart(&mut self, now: Timestamp, departure: &Departure) {
        let Departure { batch, tickets, bytes } = departure;
        // A lone one is a stripe as any, without a directory.
        let bytes = if tickets.len() < 2 { bytes - ENTRY_BYTES } else { *bytes };
        let class = ClassSetting::new(Operation::Write, bytes, 1.0);
        let first = tickets.first().map_or(0, |first| first.0 as usize);
        let luck = u64::from(self.workload.objects[first].first);
        let arrival = write_arrival(self.run.setting, &class, now, luck);
        self.writes.stripes += 1;
        let request = self.engine.submit(arrival);
        self.under_way.insert(request, *batch);
    }

    fn answer(&mut self, now: Timestamp, ticket: WriteTicket, fate: Fate) {
        match fate {
            Fate::Failed => {
                self.writes.failed += 1;
                return;
            }
            Fate::Collapsed => self.writes.collapsed += 1,
            Fate::Committed => {}
        }
        let came = self.workload.stripes[self.workload.objects[ticket.0 as usize].first as usize].0;
        self.writes.took_ns.push(now.since(came).as_nanos() as u64);
    }
}
