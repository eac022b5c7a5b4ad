use ripstop_gateway::{
    Action, Event, Machine, MachineSettings, NodeSpec, Request, RequestSpec, TaskOutcome,
};
use ripstop_model::{NodeId, RequestId, StripSet, TenantId, Timestamp};
use ripstop_policy::by_name;
use std::{collections::VecDeque, time::Duration};

/// This many requests under way in the layout spread, code (6,4), policy fixed; tasks end in the
/// order in which they were started.
pub(crate) struct Closed {
    machine: Machine,
    nodes: u16,
    writes: bool,
    events: VecDeque<Event>,
    actions: Vec<Action>,
    now: Timestamp,
    arrived: u64,
}

impl Closed {
    /// All arrive at once.
    pub(crate) fn new(nodes: u16, lanes: u16, clients: u64, writes: bool) -> Self {
        let specs = (0..nodes).map(|id| NodeSpec { id: NodeId(id), lanes }).collect();
        let policy = by_name("fixed", &ripstop_policy::PolicySettings::default());
        let machine =
            Machine::new(MachineSettings::default(), specs, policy.expect("it is registered"));
        let (events, actions) = (VecDeque::new(), Vec::new());
        let (now, arrived) = (Timestamp::ZERO, 0);
        let mut closed = Self { machine, nodes, writes, events, actions, now, arrived };
        for _ in 0..clients {
            closed.arrive();
        }
        closed
    }

    fn arrive(&mut self) {
        let id = RequestId(self.arrived);
        self.arrived += 1;
        let operation = if self.writes {
            RequestSpec::Write { n: 6, k: 4 }
        } else {
            let place = |index: u64| Some(NodeId(((id.0 + index) % u64::from(self.nodes)) as u16));
            let places = (0..6).map(place).collect();
            RequestSpec::Read { k: 4, wanted: StripSet::first(4), places }
        };
        let request = Request { id, tenant: TenantId::ANYBODY, operation, strip_bytes: 1 << 20 };
        self.events.push_back(Event::RequestArrived(request));
    }

    /// Goes on until this many more tasks have started.
    pub(crate) fn tasks(&mut self, tasks: u64) {
        let mut started = 0;
        while started < tasks {
            let event = self.events.pop_front().expect("the loop is closed");
            self.now = self.now + Duration::from_micros(1);
            self.machine.handle(self.now, event, &mut self.actions);
            let mut actions = core::mem::take(&mut self.actions);
            for action in actions.drain(..) {
                match action {
                    Action::StartTask(task) => {
                        started += 1;
                        self.events.push_back(Event::TaskEnded(task.id, TaskOutcome::Done));
                    }
                    Action::Encode { request, .. } => {
                        self.events.push_back(Event::EncodeEnded(request));
                    }
                    Action::Decode { request, .. } => {
                        self.events.push_back(Event::DecodeEnded(request, true));
                    }
                    Action::Settle { .. } => self.arrive(),
                    Action::CancelTask(_)
                    | Action::Complete(_)
                    | Action::Fail(..)
                    | Action::Reject { .. }
                    | Action::Probe(_)
                    | Action::Report(_) => {}
                }
            }
            self.actions = actions;
        }
    }
}
