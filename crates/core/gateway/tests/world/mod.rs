//! A fake world that answers the machine's actions, well or badly, and checks every one of them.
//! [`rehearse`] takes any bytes: a property test, and a fuzz target, is one call.

mod dice;
mod ledger;

use dice::Dice;
use ledger::Ledger;
use ripstop_gateway::{
    Action, AfterAnswer, Event, LANE, Machine, MachineSettings, NodeSpec, NodeState, Placement,
    PlacementGroup, ReadSelection, Recombination, Request, RequestSpec, Shaping, Task, TaskOutcome,
    TenantTerms, TierTerms,
};
use ripstop_model::{NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_policy::{Choice, Load, Policy, Redundancy, RequestClass};
use ripstop_shaping::Fraction;
use std::{collections::BTreeMap, time::Duration};

/// Most tenants that are promised something.
const TENANTS: usize = 3;

/// Everything the machine did, with when.
pub(crate) type Log = Vec<(Timestamp, Action)>;

/// Chooses any redundancy, by count.
#[derive(Debug)]
struct Erratic(usize);

impl Policy for Erratic {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, _load: Load) -> Choice {
        self.0 += 1;
        let k = class.k_below(1 + self.0 % class.code.k());
        let code = class.nearest(k + [0, 1, 0, 2][self.0 % 4], k);
        let redundancy = match self.0 % 5 {
            0 => Redundancy::Spare {
                at_once: 0,
                keep_idle: 0,
                spare_after: Duration::from_millis(6 * (self.0 % 2) as u64),
                rescue_after: None,
                preemptible: false,
            },
            1 => Redundancy::Spare {
                at_once: (self.0 % 4) as u8,
                keep_idle: (self.0 % 2) as u16,
                spare_after: Duration::from_millis(5 * (self.0 % 7) as u64 / 2),
                rescue_after: self.0.is_multiple_of(3).then_some(Duration::from_millis(9)),
                preemptible: true,
            },
            2 => Redundancy::After(Duration::from_millis(7)),
            _ => Redundancy::Eager,
        };
        Choice { code, redundancy }
    }
}

struct World<'a> {
    dice: Dice<'a>,
    machine: Machine,
    now: Timestamp,
    settings: MachineSettings,
    nodes: Vec<NodeSpec>,
    ledger: Ledger,
    /// What is on lanes, and whether it was told to stop.
    running: BTreeMap<TaskId, (Task, bool)>,
    encoding: Vec<RequestId>,
    decoding: Vec<RequestId>,
    probed: Vec<NodeId>,
    next_id: u64,
    log: Log,
}

fn settings(dice: &mut Dice) -> MachineSettings {
    let least = dice.below(2) as u8;
    MachineSettings {
        requests_waiting_max: 1 + dice.below(8),
        mends_waiting_max: 1 + dice.below(3),
        tasks_waiting_max: 1 + dice.below(4),
        patience: Duration::from_millis(5 * dice.below(3) as u64),
        late_after: Duration::from_millis(20 << dice.below(8)),
        tries_max: 1 + dice.below(3) as u8,
        answer_extra_min: least,
        answer_extra: least + dice.below(2) as u8,
        after_answer: [
            AfterAnswer::Continue,
            AfterAnswer::Background,
            AfterAnswer::Cancel,
            AfterAnswer::Leave,
        ][dice.below(4)],
        left_bytes_max: [0, 1 << 16, 1 << 40][dice.below(3)],
        failures_to_down: 1 + dice.below(3) as u32,
        ..MachineSettings::default()
    }
}

/// Plays `bytes` as the course of events, then lets the world answer everything.
///
/// # Panics
/// If the machine does what it must not, or leaves something undone.
pub(crate) fn rehearse(bytes: &[u8]) -> Log {
    let mut dice = Dice::new(bytes);
    let settings = settings(&mut dice);
    let count = 1 + dice.below(8) as u16;
    let nodes: Vec<_> = (0..count)
        .map(|id| NodeSpec { id: NodeId(3 * id), lanes: 1 + dice.below(3) as u16 })
        .collect();
    let mut world = World {
        dice,
        machine: Machine::new(settings, nodes.clone(), Box::new(Erratic(0))),
        now: Timestamp::ZERO,
        settings,
        ledger: Ledger::new(settings, &nodes),
        nodes,
        running: BTreeMap::new(),
        encoding: Vec::new(),
        decoding: Vec::new(),
        probed: Vec::new(),
        next_id: 0,
        log: Vec::new(),
    };
    while !world.dice.is_empty() {
        world.step();
    }
    world.answer_everything();
    world.log
}

impl World<'_> {
    fn step(&mut self) {
        match self.dice.below(18) {
            0..=2 => self.arrive(),
            3..=7 => self.end_a_task(),
            8 | 9 => self.end_a_computation(),
            10 => {
                let id = RequestId(self.dice.below(self.next_id as usize + 1) as u64);
                self.ledger.abandoned(id);
                self.send(Event::RequestAbandoned(id));
            }
            11 => {
                let id = self.a_node();
                let state = if self.dice.one_in(2) { NodeState::Down } else { NodeState::Up };
                self.send(Event::NodeChanged(id, state));
            }
            12 => self.now = self.now + Duration::from_millis(1 << self.dice.below(15)),
            13 => self.send(Event::TimerFired),
            14 => self.wait_for_the_deadline(),
            15 => self.say_nonsense(),
            _ if self.dice.one_in(4) => self.promise(),
            _ if self.dice.one_in(4) => self.place(),
            _ if self.dice.one_in(6) => self.divide_lanes(),
            _ => self.arrive(),
        }
    }

    /// Another plan: some of its nodes are not there.
    fn place(&mut self) {
        let group = |world: &mut Self| {
            let count = 1 + world.dice.below(6);
            let nodes: Vec<_> = (0..count).map(|_| NodeId(world.dice.below(27) as u16)).collect();
            let dispatch = (0..count).map(|_| world.dice.below(1_000_001) as u32).collect();
            PlacementGroup { weight: world.dice.below(5) as u64, nodes, dispatch }
        };
        let groups = (0..self.dice.below(4)).map(|_| group(self)).collect();
        let selection = [
            ReadSelection::Ready,
            ReadSelection::Probabilistic,
            ReadSelection::LeastWork,
            ReadSelection::LeastWorkPlanned,
        ][self.dice.below(4)];
        self.send(Event::PlacementChanged(Placement { selection, groups }));
    }

    /// Others take lanes of some nodes, or give them back.
    fn divide_lanes(&mut self) {
        let count = 1 + self.dice.below(self.nodes.len());
        let lanes = |world: &mut Self| {
            let spec = world.nodes[world.dice.below(world.nodes.len())];
            NodeSpec { lanes: world.dice.below(usize::from(spec.lanes) + 1) as u16, ..spec }
        };
        let nodes = (0..count).map(|_| lanes(self)).collect();
        self.send(Event::LanesChanged(nodes));
    }

    /// Other tenants, other promises, another way to share the lanes.
    fn promise(&mut self) {
        let mut tenants: Vec<TenantTerms> = Vec::new();
        for tenant in 1..=self.dice.below(TENANTS + 1) {
            let tiers = 1 + self.dice.below(3);
            let tier = |index: usize| TierTerms {
                fraction: Fraction::from_billionths(900_000_000 + 10_000_000 * index as u32)
                    .expect("it is between none and all"),
                bound: Duration::from_millis(20 << index),
                capacity: LANE / (1 << self.dice.below(8)),
            };
            let tiers = (0..tiers).map(tier).collect();
            tenants.push(TenantTerms { tenant: TenantId(tenant as u16), tiers });
        }
        let recombination = [
            Recombination::Fifo,
            Recombination::Split,
            Recombination::Fair,
            Recombination::PClock,
            Recombination::Miser,
        ][self.dice.below(5)];
        self.send(Event::ShapingChanged(Shaping { recombination, tenants }));
    }

    fn a_node(&mut self) -> NodeId {
        self.nodes[self.dice.below(self.nodes.len())].id
    }

    fn arrive(&mut self) {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let operation = match self.dice.below(8) {
            5 => RequestSpec::WriteUnique { n: 6 + self.dice.below(3) as u8, k: 6 },
            6 | 7 => {
                let node = (!self.dice.one_in(12)).then(|| self.a_node());
                RequestSpec::ReadShared { n: 6 + self.dice.below(7) as u8, k: 6, node }
            }
            0 | 1 => {
                let k = 1 + self.dice.below(4) as u8;
                RequestSpec::Write { n: k + self.dice.below(3) as u8, k }
            }
            2 | 3 => self.a_read(),
            _ => {
                let taken = (0..self.dice.below(3)).map(|_| self.a_node()).collect::<Vec<_>>();
                let node = self.dice.one_in(2).then(|| self.a_node());
                let node = node.filter(|node| !taken.contains(node));
                RequestSpec::Mend { fragment: self.dice.below(6) as u8, node, taken }
            }
        };
        let tenant = TenantId(self.dice.below(TENANTS + 2) as u16);
        let request = Request { id, tenant, operation, strip_bytes: 100 };
        self.ledger.arrived(self.now, &request);
        self.send(Event::RequestArrived(request));
    }

    fn a_read(&mut self) -> RequestSpec {
        let k = 1 + self.dice.below(4);
        let n = k + self.dice.below(3);
        let first = self.dice.below(self.nodes.len());
        let shared = self.dice.one_in(8);
        let places = (0..n)
            .map(|index| {
                let spread = self.nodes.get((first + index) % self.nodes.len().max(n));
                let node = if shared { self.nodes.get(first) } else { spread };
                node.map(|node| node.id).filter(|_| !self.dice.one_in(12))
            })
            .collect();
        let mut wanted: StripSet = (0..k).filter(|_| !self.dice.one_in(3)).collect();
        if wanted.is_empty() {
            wanted.insert(self.dice.below(k));
        }
        RequestSpec::Read { k: k as u8, wanted, places }
    }

    fn end_a_task(&mut self) {
        let Some(&id) = self.running.keys().nth(self.dice.below(self.running.len().max(1))) else {
            return;
        };
        let cancelled = self.running[&id].1;
        let outcome = match self.dice.below(12) {
            0 => TaskOutcome::Missing,
            1 => TaskOutcome::Damaged,
            2 | 3 => TaskOutcome::Unavailable,
            4 => TaskOutcome::Refused,
            5..=7 if cancelled => TaskOutcome::Cancelled,
            _ => TaskOutcome::Done,
        };
        self.end(id, outcome);
    }

    fn end(&mut self, id: TaskId, outcome: TaskOutcome) {
        let (task, _) = self.running.remove(&id).expect("it runs");
        self.ledger.ended(&task, outcome);
        self.send(Event::TaskEnded(id, outcome));
    }

    fn end_a_computation(&mut self) {
        if let Some(id) = self.decoding.pop() {
            let computed = !self.dice.one_in(8);
            self.ledger.decoded(id, computed);
            self.send(Event::DecodeEnded(id, computed));
        } else if let Some(id) = self.encoding.pop() {
            self.send(Event::EncodeEnded(id));
        } else if let Some(id) = self.probed.pop() {
            let state = if self.dice.one_in(3) { NodeState::Down } else { NodeState::Up };
            self.send(Event::NodeChanged(id, state));
        }
    }

    fn wait_for_the_deadline(&mut self) {
        if let Some((due, _)) = self.machine.deadline() {
            self.now = self.now.max(due);
            self.send(Event::TimerFired);
        }
    }

    /// Events that mean nothing, or nothing any more.
    fn say_nonsense(&mut self) {
        let old = self.dice.below(self.next_id as usize + 2) as u64;
        let event = match self.dice.below(6) {
            5 if !self.running.contains_key(&TaskId(old)) => {
                Event::TaskEnded(TaskId(old), TaskOutcome::Done)
            }
            0 => Event::TaskEnded(TaskId(1 << 60 | old), TaskOutcome::Done),
            1 => Event::EncodeEnded(RequestId(u64::MAX)),
            2 => Event::DecodeEnded(RequestId(u64::MAX - old), true),
            3 => Event::NodeChanged(NodeId(60_000), NodeState::Down),
            _ => Event::RequestAbandoned(RequestId(u64::MAX - old)),
        };
        let before = self.log.len();
        self.send(event);
        // Patience may have run out meanwhile, which any event lets the machine notice.
        let noticed = |action: &Action| match action {
            Action::StartTask(_) | Action::Report(_) | Action::CancelTask(_) => true,
            Action::Encode { .. }
            | Action::Decode { .. }
            | Action::Reject { .. }
            | Action::Probe(_)
            | Action::Complete(_)
            | Action::Fail(..)
            | Action::Settle { .. } => false,
        };
        assert!(self.log[before..].iter().all(|(_, action)| noticed(action)));
    }

    /// From here on every node serves, every task is done and every timer fires: all must end.
    fn answer_everything(&mut self) {
        for node in self.nodes.clone() {
            self.send(Event::NodeChanged(node.id, NodeState::Up));
        }
        let mut rounds = 0;
        while self.machine.requests_open() > 0 {
            rounds += 1;
            assert!(rounds < 100_000, "what the world answers comes to an end");
            if !self.encoding.is_empty() || !self.decoding.is_empty() {
                self.end_a_computation();
            } else if let Some((&id, &(_, cancelled))) = self.running.first_key_value() {
                self.now = self.now + Duration::from_millis(1);
                self.end(id, if cancelled { TaskOutcome::Cancelled } else { TaskOutcome::Done });
            } else {
                let (due, reason) = self.machine.deadline().expect("a timer runs for what waits");
                let patient = ["patience", "degraded_after", "hedge"].contains(&reason);
                assert!(patient, "nothing waits for {reason} when every node serves");
                self.now = self.now.max(due);
                self.send(Event::TimerFired);
            }
        }
        self.ledger.assert_all_settled();
        assert!(self.running.is_empty(), "what runs belongs to a request");
    }

    fn send(&mut self, event: Event) {
        let fired = event == Event::TimerFired;
        let mut actions = Vec::new();
        self.machine.handle(self.now, event, &mut actions);
        for action in actions {
            self.ledger.check(self.now, &action);
            self.carry_out(&action);
            self.log.push((self.now, action));
        }
        self.machine.assert_invariants();
        let load = self.machine.load();
        let most = (TENANTS + 2) * self.settings.requests_waiting_max;
        assert!(load.backlog + self.machine.encoding() <= most);
        assert!(self.machine.mends_waiting() <= self.settings.mends_waiting_max);
        assert_eq!(self.machine.requests_open(), self.ledger.open());
        let due = self.machine.deadline();
        assert!(!fired || due.is_none_or(|(due, _)| due > self.now), "{due:?} at {:?}", self.now);
    }

    fn carry_out(&mut self, action: &Action) {
        match action {
            Action::Encode { request, .. } => self.encoding.push(*request),
            Action::Decode { request, .. } => self.decoding.push(*request),
            Action::StartTask(task) => {
                assert!(self.running.insert(task.id, (*task, false)).is_none(), "ids are unique");
                let here = self.running.values().filter(|(other, _)| other.node == task.node);
                let spec = self.nodes.iter().find(|spec| spec.id == task.node).expect("known");
                assert!(here.count() <= usize::from(spec.lanes), "one task a lane");
            }
            Action::CancelTask(id) => {
                let (_, cancelled) = self.running.get_mut(id).expect("only what runs is cancelled");
                assert!(!core::mem::replace(cancelled, true), "nothing is cancelled twice");
            }
            Action::Probe(id) => self.probed.push(*id),
            Action::Settle { request, .. } => {
                let runs = |(task, _): &(Task, bool)| task.request == *request;
                assert!(!self.running.values().any(runs), "nothing is left of what is settled");
            }
            Action::Complete(_) | Action::Fail(..) | Action::Reject { .. } | Action::Report(_) => {}
        }
    }
}
