use ripstop_delay::{Dice, Preset, StorageOperation};
use ripstop_gateway::{Action, Event, Machine, NodeSpec, Request, RequestSpec, TaskOutcome};
use ripstop_model::{Code, NodeId, RequestId, TaskId, TenantId, Timestamp};
use ripstop_policy::{Limits, PolicySettings, by_name};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    time::Duration,
};

const NODE: NodeId = NodeId(0);
const LANES: u16 = 16;
/// The storage code (N,K).
const CODE: (u8, u8) = (24, 12);
/// Bytes of a strip: 1 MiB in twelve.
const STRIP_BYTES: u32 = 87_398;
const RUN_MAX: usize = 12;
/// Delays and gaps drawn beforehand, so that drawing is not measured.
const DRAWN: usize = 1 << 16;

/// Reads from one fragment at one node that is as slow as S3, arriving at a share of its capacity:
/// what the machine sees of a live pool, the policy learning as it goes.
pub(crate) struct Open {
    machine: Machine,
    actions: Vec<Action>,
    now: Timestamp,
    /// Of tasks that move this many strips, milliseconds.
    delays: Vec<Vec<f32>>,
    gaps_ns: Vec<u64>,
    drawn: usize,
    next_arrival: Timestamp,
    arrived: u64,
    /// When tasks end, those that were cancelled meanwhile included.
    ends: BinaryHeap<Reverse<(Timestamp, TaskId)>>,
    running: Vec<Option<TaskId>>,
    due: VecDeque<Event>,
}

impl Open {
    /// Nothing has arrived yet.
    pub(crate) fn new(policy: &str, load: f64) -> Self {
        let limits = Limits { k_max: 6, r_max: 2.0 };
        let code = (policy == "fixed").then(|| Code::new(1, 1).expect("1 of 1 is a code"));
        let policy = by_name(policy, &PolicySettings { limits, code, ..PolicySettings::default() });
        let specs = vec![NodeSpec { id: NODE, lanes: LANES }];
        let machine = Machine::new(
            ripstop_gateway::MachineSettings::default(),
            specs,
            policy.expect("it is registered"),
        );
        let (mut model, mut dice) = (Preset::S3In2025.model(), Dice::new(1));
        let get = StorageOperation::Get;
        let mut delays_of = |strips: usize| {
            let bytes = u64::from(STRIP_BYTES) * strips as u64;
            (0..DRAWN).map(|_| model.sample(get, bytes, &mut dice).as_secs_f32() * 1e3).collect()
        };
        let delays = (0..=RUN_MAX).map(&mut delays_of).collect();
        let whole = u64::from(STRIP_BYTES) * u64::from(CODE.1);
        let mean_ms = model.mean_ms(get, whole) / f64::from(LANES) / load;
        let gaps_ns = (0..DRAWN).map(|_| (dice.exponential() * mean_ms * 1e6) as u64).collect();
        Self {
            machine,
            actions: Vec::new(),
            now: Timestamp::ZERO,
            delays,
            gaps_ns,
            drawn: 0,
            next_arrival: Timestamp::ZERO,
            arrived: 0,
            ends: BinaryHeap::new(),
            running: Vec::new(),
            due: VecDeque::new(),
        }
    }

    /// Goes on until this many more tasks have started.
    pub(crate) fn tasks(&mut self, tasks: u64) {
        let mut started = 0;
        while started < tasks {
            started += self.step();
        }
    }

    /// The next event; returns how many tasks it started.
    fn step(&mut self) -> u64 {
        let event = self.due.pop_front().unwrap_or_else(|| self.later());
        self.machine.handle(self.now, event, &mut self.actions);
        let mut started = 0;
        let mut actions = core::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::StartTask(task) => {
                    started += 1;
                    let drawn = self.delays[usize::from(task.strips)][self.drawn % DRAWN];
                    self.drawn += 1;
                    let slot = slot(task.id);
                    if self.running.len() <= slot {
                        self.running.resize(slot + 1, None);
                    }
                    self.running[slot] = Some(task.id);
                    let end = self.now + Duration::from_nanos((drawn * 1e6) as u64);
                    self.ends.push(Reverse((end, task.id)));
                }
                Action::CancelTask(task) => {
                    if self.running[slot(task)].take_if(|running| *running == task).is_some() {
                        self.due.push_back(Event::TaskEnded(task, TaskOutcome::Cancelled));
                    }
                }
                Action::Decode { request, .. } => {
                    self.due.push_back(Event::DecodeEnded(request, true));
                }
                Action::Encode { .. }
                | Action::Settle { .. }
                | Action::Complete(_)
                | Action::Fail(..)
                | Action::Reject { .. }
                | Action::Probe(_)
                | Action::Report(_) => {}
            }
        }
        self.actions = actions;
        started
    }

    /// What happens when time goes on.
    fn later(&mut self) -> Event {
        loop {
            let timer = self.machine.deadline().map(|(at, _)| at);
            let end = self.ends.peek().map(|Reverse((at, _))| *at);
            if timer.is_some_and(|at| at <= self.next_arrival && end.is_none_or(|end| at < end)) {
                self.now = self.now.max(timer.expect("it was looked at"));
                return Event::TimerFired;
            }
            if end.is_none_or(|end| self.next_arrival < end) {
                return self.arrive();
            }
            let Reverse((at, task)) = self.ends.pop().expect("it was looked at");
            if self.running[slot(task)].take_if(|running| *running == task).is_some() {
                self.now = self.now.max(at);
                return Event::TaskEnded(task, TaskOutcome::Done);
            }
        }
    }

    fn arrive(&mut self) -> Event {
        self.now = self.now.max(self.next_arrival);
        let gap = self.gaps_ns[self.arrived as usize % DRAWN];
        self.next_arrival = self.now + Duration::from_nanos(gap);
        let id = RequestId(self.arrived);
        self.arrived += 1;
        let operation = RequestSpec::ReadShared { n: CODE.0, k: CODE.1, node: Some(NODE) };
        Event::RequestArrived(Request {
            id,
            tenant: TenantId::ANYBODY,
            operation,
            strip_bytes: STRIP_BYTES,
        })
    }
}

/// Tasks that are open at the same time differ in the low half of their ids.
fn slot(id: TaskId) -> usize {
    id.0 as u32 as usize
}
