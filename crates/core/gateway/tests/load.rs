//! What the machine makes of its lanes under load, in a small simulation of its own.

use ripstop_delay::Dice;
use ripstop_gateway::{
    Action, Event, Machine, MachineSettings, NodeSpec, Request, RequestSpec, Task, TaskOutcome,
};
use ripstop_model::{NodeId, RequestId, StripSet, TenantId, Timestamp};
use ripstop_policy::by_name;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

/// Six nodes whose tasks take 20 ms on average, bar one that may be slower.
struct Simulation {
    machine: Machine,
    lanes: u16,
    slow: Option<(NodeId, Duration)>,
    dice: Dice,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, usize)>>,
    payload: Vec<Event>,
    arrived: BTreeMap<RequestId, Timestamp>,
    /// How long each request took, in order of the answers; failures separately.
    took: Vec<Duration>,
    failed: usize,
    busy: Duration,
}

const MEAN: Duration = Duration::from_millis(20);

impl Simulation {
    fn new(lanes: u16, slow: Option<(NodeId, Duration)>) -> Self {
        let nodes = (0..6).map(|id| NodeSpec { id: NodeId(id), lanes }).collect();
        let policy =
            by_name("fixed", &ripstop_policy::PolicySettings::default()).expect("it is registered");
        Self {
            machine: Machine::new(MachineSettings::default(), nodes, policy),
            lanes,
            slow,
            dice: Dice::new(1),
            now: Timestamp::ZERO,
            events: BinaryHeap::new(),
            payload: Vec::new(),
            arrived: BTreeMap::new(),
            took: Vec::new(),
            failed: 0,
            busy: Duration::ZERO,
        }
    }

    fn schedule(&mut self, at: Timestamp, event: Event) {
        self.payload.push(event);
        let number = self.payload.len();
        self.events.push(Reverse((at, number as u64, number - 1)));
    }

    fn read(&mut self, id: u64, at: Timestamp, strips: usize) {
        let places = (0..6).map(|index| Some(NodeId(((id + index) % 6) as u16))).collect();
        let operation = RequestSpec::Read { k: 4, wanted: StripSet::first(strips), places };
        let request = Request {
            id: RequestId(id),
            tenant: TenantId::ANYBODY,
            operation,
            strip_bytes: 1 << 20,
        };
        self.schedule(at, Event::RequestArrived(request));
    }

    fn write(&mut self, id: u64, at: Timestamp) {
        let operation = RequestSpec::Write { n: 6, k: 4 };
        let request = Request {
            id: RequestId(id),
            tenant: TenantId::ANYBODY,
            operation,
            strip_bytes: 1 << 20,
        };
        self.schedule(at, Event::RequestArrived(request));
    }

    fn start(&mut self, task: &Task) {
        let mean = match self.slow {
            Some((node, mean)) if node == task.node => mean,
            Some(_) | None => MEAN,
        };
        let span = mean.mul_f64(self.dice.exponential());
        self.busy += span;
        self.schedule(self.now + span, Event::TaskEnded(task.id, TaskOutcome::Done));
    }

    fn run(&mut self) {
        let mut actions = Vec::new();
        loop {
            let timer = self.machine.deadline().map(|(due, _)| due);
            let next = self.events.peek().map(|Reverse((at, ..))| *at);
            let event = match (next, timer) {
                (Some(at), timer) if timer.is_none_or(|due| at <= due) => {
                    let Reverse((_, _, index)) = self.events.pop().expect("one was seen");
                    self.now = at;
                    self.payload[index].clone()
                }
                (_, Some(due)) => {
                    self.now = self.now.max(due);
                    Event::TimerFired
                }
                (_, None) => break,
            };
            if let Event::RequestArrived(request) = &event {
                self.arrived.insert(request.id, self.now);
            }
            self.machine.handle(self.now, event, &mut actions);
            for action in std::mem::take(&mut actions) {
                self.carry_out(&action);
            }
        }
    }

    fn carry_out(&mut self, action: &Action) {
        match action {
            Action::StartTask(task) => self.start(task),
            Action::Encode { request, .. } => self.schedule(self.now, Event::EncodeEnded(*request)),
            Action::Decode { request, .. } => {
                self.schedule(self.now, Event::DecodeEnded(*request, true));
            }
            Action::Complete(id) => self.took.push(self.now - self.arrived[id]),
            Action::Fail(..) | Action::Reject { .. } => self.failed += 1,
            Action::CancelTask(_)
            | Action::Settle { .. }
            | Action::Probe(_)
            | Action::Report(_) => {}
        }
    }

    /// Share of the lanes' time that tasks took.
    fn use_of_lanes(&self) -> f64 {
        self.busy.as_secs_f64() / (6.0 * f64::from(self.lanes) * self.now.as_nanos() as f64 / 1e9)
    }

    fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort();
        sorted[((sorted.len() - 1) as f64 * share) as usize]
    }
}

#[test]
fn with_a_standing_queue_lanes_hardly_idle() {
    for lanes in [1, 2, 4, 16] {
        let mut simulation = Simulation::new(lanes, None);
        for id in 0..1000 {
            simulation.read(id, Timestamp::ZERO, 4);
        }
        simulation.run();
        assert_eq!((simulation.took.len(), simulation.failed), (1000, 0));
        let share = simulation.use_of_lanes();
        assert!(share > 0.9, "{lanes} lanes: {share:.3}");
    }
}

/// p50, p99 and maximum of mixed requests at a third of capacity.
fn tail(slow: Option<(NodeId, Duration)>) -> [Duration; 3] {
    let mut simulation = Simulation::new(8, slow);
    let mut at = Timestamp::ZERO;
    for id in 0..3000 {
        at = at + Duration::from_micros(5500).mul_f64(simulation.dice.exponential());
        match id % 3 {
            0 => simulation.write(id, at),
            1 => simulation.read(id, at, 4),
            _ => simulation.read(id, at, 1),
        }
    }
    simulation.run();
    assert_eq!((simulation.took.len(), simulation.failed), (3000, 0));
    [0.5, 0.99, 1.0].map(|share| simulation.quantile(share))
}

#[test]
fn a_slow_node_holds_up_only_what_it_holds() {
    let healthy = tail(None);
    let slow = tail(Some((NodeId(2), 100 * MEAN)));
    // The median rises a little: writes have five nodes left for their K + f = 5 fragments.
    assert!(slow[0] < healthy[0] * 15 / 10, "{healthy:?} {slow:?}");
    assert!(slow[1] < healthy[1] * 13 / 10, "{healthy:?} {slow:?}");
}
