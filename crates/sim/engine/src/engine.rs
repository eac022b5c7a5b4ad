use crate::Calendar;
use core::time::Duration;
use ripstop_gateway::{
    Action, Event, Machine, NodeState, Placement, Report, Request, RequestSpec, Shaping, Task,
    TaskOutcome,
};
use ripstop_model::{
    NodeId, Operation as Direction, RequestId, StripSet, TaskId, TenantId, Timestamp,
};
use ripstop_world::World;
use std::collections::{BTreeMap, VecDeque};

/// How long a node that is gone takes to say so.
const REFUSAL: Duration = Duration::from_millis(1);

/// A request to come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When; never earlier than the one before.
    pub at: Timestamp,
    /// Who wants it.
    pub tenant: TenantId,
    /// What is wanted.
    pub operation: RequestSpec,
    /// Bytes that a task moves for one strip.
    pub strip_bytes: u32,
    /// Whose luck its chunks have: in equal worlds, those of equal numbers are as lucky, whatever
    /// else arrives.
    pub luck: u64,
}

/// Sees all that is reported, in order.
pub trait Observer {
    /// Something happened at this time.
    fn report(&mut self, at: Timestamp, report: &Report);

    /// Nothing more comes of a request: where each fragment of a write is, by index; of a mend only
    /// the last says something.
    fn settled(&mut self, _: RequestId, _: &[Option<NodeId>]) {}
}

/// What a task on a lane is.
#[derive(Clone, Copy, Debug)]
struct Running {
    id: TaskId,
    node: NodeId,
    outcome: TaskOutcome,
}

/// What the engine knows of an open request: what its tasks move.
#[derive(Clone, Copy, Debug)]
struct Open {
    direction: Direction,
    strip_bytes: u32,
    payload: u64,
    luck: u64,
    /// Chunks that were asked for before.
    started: StripSet,
}

/// The machine, its world, and virtual time.
#[derive(Debug)]
pub struct Engine<O> {
    machine: Machine,
    world: World,
    /// Sees every report.
    pub observer: O,
    now: Timestamp,
    /// Tasks on lanes, by the slot in their id.
    calendar: Calendar,
    running: Vec<Option<Running>>,
    /// Events that are due at once.
    due: VecDeque<Event>,
    /// Other events, by time and number.
    later: BTreeMap<(Timestamp, u64), Event>,
    later_set: u64,
    /// Requests by id, from `first_open` on.
    open: VecDeque<Option<Open>>,
    first_open: u64,
    arrived: u64,
    /// Losses of nodes to come, latest first.
    losses: Vec<(Timestamp, NodeId)>,
    actions: Vec<Action>,
}

impl<O: Observer> Engine<O> {
    /// Everything idle at time zero.
    pub fn new(machine: Machine, world: World, observer: O) -> Self {
        let mut losses = world.losses();
        losses.reverse();
        Self {
            machine,
            world,
            observer,
            now: Timestamp::ZERO,
            calendar: Calendar::default(),
            running: Vec::new(),
            due: VecDeque::new(),
            later: BTreeMap::new(),
            later_set: 0,
            open: VecDeque::new(),
            first_open: 0,
            arrived: 0,
            losses,
            actions: Vec::new(),
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The machine that decides.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// From now on requests go where this says.
    pub fn place(&mut self, placement: Placement) {
        self.step(Event::PlacementChanged(placement));
    }

    /// From now on tenants are promised this.
    pub fn shape(&mut self, shaping: Shaping) {
        self.step(Event::ShapingChanged(shaping));
    }

    /// Plays all arrivals and what follows from them; ids count from 0 in the order of arrival.
    pub fn run(&mut self, arrivals: impl IntoIterator<Item = Arrival>) {
        let mut arrivals = arrivals.into_iter();
        let mut next = arrivals.next();
        loop {
            self.settle_due();
            if next.is_none() && self.machine.requests_open() == 0 && self.later.is_empty() {
                return;
            }
            let limit = next.as_ref().map_or(Timestamp::from_nanos(u64::MAX), |next| next.at);
            if self.advance(limit) {
                continue;
            }
            let Some(arrival) = next.take() else {
                unreachable!("what is open ends by a task, a computation or a timer")
            };
            next = arrivals.next();
            self.submit(arrival);
        }
    }

    /// Plays the next thing that happens by itself, if it does not happen after `limit`; whether
    /// there was one. What arrives is handed in between: who drives the engine so decides what.
    pub fn advance(&mut self, limit: Timestamp) -> bool {
        self.settle_due();
        let (ends, timer) = (self.calendar.due(), self.machine.deadline().map(|(at, _)| at));
        let (later, loss) =
            (self.later.keys().next().map(|key| key.0), self.losses.last().map(|loss| loss.0));
        let soonest = [ends, later, timer, loss].into_iter().flatten().min();
        let Some(soonest) = soonest.filter(|&soonest| soonest <= limit) else { return false };
        self.now = self.now.max(soonest);
        if ends == Some(soonest) {
            self.end_task();
        } else if later == Some(soonest) {
            let (_, event) = self.later.pop_first().expect("it was looked at");
            self.step(event);
        } else if timer == Some(soonest) {
            self.step(Event::TimerFired);
        } else {
            let (_, node) = self.losses.pop().expect("it was looked at");
            self.lose(node);
        }
        true
    }

    /// Lets time pass in which nothing happens.
    pub fn pass(&mut self, until: Timestamp) {
        self.now = self.now.max(until);
    }

    /// How long a node takes for something that is not asked of the machine, so that it takes no
    /// lane; `None` if the node is gone. It has the luck of a chunk of its own, by this number.
    pub fn aside(
        &mut self,
        node: NodeId,
        luck: u64,
        direction: Direction,
        bytes: u64,
    ) -> Option<Duration> {
        self.world.delay(self.now, node, (RequestId(luck), 0, true), direction, bytes)
    }

    /// What the next request to arrive will be called.
    pub fn next_request(&self) -> RequestId {
        RequestId(self.arrived)
    }

    /// Has a request arrive, at its time or now, whichever is later.
    pub fn submit(&mut self, arrival: Arrival) -> RequestId {
        self.now = self.now.max(arrival.at);
        let Arrival { tenant, operation, strip_bytes, luck, .. } = arrival;
        let id = RequestId(self.arrived);
        self.arrived += 1;
        let (direction, k) = match operation {
            RequestSpec::Read { k, .. } | RequestSpec::ReadShared { k, .. } => (Direction::Read, k),
            RequestSpec::Write { k, .. } | RequestSpec::WriteUnique { k, .. } => {
                (Direction::Write, k)
            }
            RequestSpec::Mend { .. } => (Direction::Write, 1),
        };
        let payload = u64::from(strip_bytes) * u64::from(k);
        self.open.push_back(Some(Open {
            direction,
            strip_bytes,
            payload,
            luck,
            started: StripSet::EMPTY,
        }));
        self.step(Event::RequestArrived(Request { id, tenant, operation, strip_bytes }));
        self.settle_due();
        id
    }

    /// Tells the machine what is due at once.
    fn settle_due(&mut self) {
        while let Some(event) = self.due.pop_front() {
            self.step(event);
        }
    }

    fn step(&mut self, event: Event) {
        let mut actions = core::mem::take(&mut self.actions);
        self.machine.handle(self.now, event, &mut actions);
        for action in actions.drain(..) {
            self.act(&action);
        }
        self.actions = actions;
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Report(report) => self.observer.report(self.now, report),
            Action::StartTask(task) => self.start(task),
            Action::CancelTask(id) => self.cancel(*id),
            Action::Encode { request, .. } => self.compute(*request, Event::EncodeEnded(*request)),
            Action::Decode { request, .. } => {
                self.compute(*request, Event::DecodeEnded(*request, true));
            }
            Action::Settle { request, stored } => {
                self.close(*request);
                self.observer.settled(*request, stored);
            }
            Action::Reject { request, .. } => {
                self.close(*request);
                self.observer.settled(*request, &[]);
            }
            Action::Probe(node) => {
                let lost = self.world.is_lost(self.now, *node);
                let state = if lost { NodeState::Down } else { NodeState::Up };
                self.set_later(self.now + REFUSAL, Event::NodeChanged(*node, state));
            }
            Action::Complete(_) | Action::Fail(..) => {}
        }
    }

    fn start(&mut self, task: &Task) {
        let at = (task.request.0 - self.first_open) as usize;
        let open = self.open[at].as_mut().expect("tasks are of requests that are open");
        let first = open.started.insert(usize::from(task.fragment));
        let open = *open;
        let bytes = u64::from(open.strip_bytes) * u64::from(task.strips);
        let chunk = (RequestId(open.luck), task.fragment, first);
        let delay = self.world.delay(self.now, task.node, chunk, open.direction, bytes);
        let outcome = if delay.is_some() { TaskOutcome::Done } else { TaskOutcome::Unavailable };
        let slot = slot(task.id);
        if self.running.len() <= slot as usize {
            self.running.resize(slot as usize + 1, None);
        }
        self.running[slot as usize] = Some(Running { id: task.id, node: task.node, outcome });
        self.calendar.set(slot, self.now + delay.unwrap_or(REFUSAL));
    }

    /// A task told to stop gives its lane back when the cancellation is paid for.
    fn cancel(&mut self, id: TaskId) {
        let slot = slot(id);
        let Some(running) = &mut self.running[slot as usize] else { return };
        if running.id != id {
            return;
        }
        running.outcome = TaskOutcome::Cancelled;
        if self.world.cancellation.is_zero() {
            self.calendar.remove(slot);
            self.running[slot as usize] = None;
            self.due.push_back(Event::TaskEnded(id, TaskOutcome::Cancelled));
        } else {
            self.calendar.set(slot, self.now + self.world.cancellation);
        }
    }

    fn end_task(&mut self) {
        let (_, slot) = self.calendar.pop().expect("it was looked at");
        let running = self.running[slot as usize].take().expect("what is due runs");
        self.step(Event::TaskEnded(running.id, running.outcome));
    }

    /// A node is gone: what runs there fails.
    fn lose(&mut self, node: NodeId) {
        let here =
            |slot: &u32| self.running[*slot as usize].is_some_and(|running| running.node == node);
        let mut slots: Vec<u32> = self.calendar.slots().filter(here).collect();
        slots.sort_unstable();
        for slot in slots {
            self.calendar.remove(slot);
            let running = self.running[slot as usize].take().expect("what is due runs");
            let cancelled = running.outcome == TaskOutcome::Cancelled;
            let outcome = if cancelled { TaskOutcome::Cancelled } else { TaskOutcome::Unavailable };
            self.due.push_back(Event::TaskEnded(running.id, outcome));
        }
    }

    /// Charges for an encode or decode.
    fn compute(&mut self, request: RequestId, ended: Event) {
        let payload = self.of(request).map_or(0, |open| open.payload);
        let takes = self.world.coding(payload);
        if takes.is_zero() {
            self.due.push_back(ended);
        } else {
            self.set_later(self.now + takes, ended);
        }
    }

    fn set_later(&mut self, at: Timestamp, event: Event) {
        self.later.insert((at, self.later_set), event);
        self.later_set += 1;
    }

    fn of(&self, request: RequestId) -> Option<Open> {
        let at = request.0.checked_sub(self.first_open)?;
        self.open.get(at as usize).copied().flatten()
    }

    fn close(&mut self, request: RequestId) {
        if let Some(at) = request.0.checked_sub(self.first_open)
            && let Some(open) = self.open.get_mut(at as usize)
        {
            *open = None;
        }
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first_open += 1;
        }
    }
}

/// Tasks that are open at the same time differ in the low half of their ids.
fn slot(id: TaskId) -> u32 {
    id.0 as u32
}
