//! A short way to play events by hand and to read what the machine does about them.

use ripstop_gateway::{
    Action, Event, Machine, MachineSettings, NodeSpec, NodeState, Report, Request, RequestSpec,
    TaskEnd, TaskOutcome,
};
use ripstop_model::{NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_policy::{Policy, by_name};
use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

/// One machine over nodes 0.. and what was said, in text.
pub(crate) struct Scene {
    pub(crate) machine: Machine,
    now: Timestamp,
    tasks: BTreeMap<TaskId, (u64, u8)>,
    text: String,
    reports: bool,
}

impl Scene {
    /// Nodes 0.. with these lanes.
    pub(crate) fn new(settings: MachineSettings, lanes: &[u16]) -> Self {
        let nodes = lanes.iter().zip(0..).map(|(&lanes, id)| NodeSpec { id: NodeId(id), lanes });
        let policy =
            by_name("fixed", &ripstop_policy::PolicySettings::default()).expect("it is registered");
        Self::of(Machine::new(settings, nodes.collect(), policy))
    }

    /// One node with these lanes, under this policy.
    pub(crate) fn under(policy: Box<dyn Policy>, lanes: u16) -> Self {
        let node = NodeSpec { id: NodeId(0), lanes };
        Self::of(Machine::new(MachineSettings::default(), vec![node], policy))
    }

    fn of(machine: Machine) -> Self {
        Self {
            machine,
            now: Timestamp::ZERO,
            tasks: BTreeMap::new(),
            text: String::new(),
            reports: false,
        }
    }

    /// From here on reports are shown too.
    pub(crate) fn with_reports(mut self) -> Self {
        self.reports = true;
        self
    }

    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        self.now = Timestamp::ZERO + Duration::from_millis(ms);
        self
    }

    /// Sets the clock to the deadline and fires the timer.
    pub(crate) fn fire(&mut self) -> &mut Self {
        let (due, reason) = self.machine.deadline().expect("a timer runs");
        self.now = due;
        let what = format!("{reason} is over");
        self.send(&what, Event::TimerFired)
    }

    /// Fires the timer as often as is due before this one.
    pub(crate) fn fire_until(&mut self, reason: &str) -> &mut Self {
        while self.machine.deadline().expect("a timer runs").1 != reason {
            self.fire();
        }
        self.fire()
    }

    /// Reads a (6,4) stripe whose fragment i is at node i, bar the `missing`.
    pub(crate) fn read(&mut self, id: u64, wanted: &[usize], missing: &[u16]) -> &mut Self {
        let places =
            (0..6).map(|node| (!missing.contains(&node)).then_some(NodeId(node))).collect();
        let wanted: StripSet = wanted.iter().copied().collect();
        let operation = RequestSpec::Read { k: 4, wanted, places };
        let what = format!("read {id} wants {wanted:?}");
        self.request(id, &what, operation)
    }

    /// Writes a (6,4) stripe; its parity is computed at once.
    pub(crate) fn write(&mut self, id: u64) -> &mut Self {
        self.request(id, &format!("write {id}"), RequestSpec::Write { n: 6, k: 4 });
        self.encoded(id)
    }

    pub(crate) fn encoded(&mut self, id: u64) -> &mut Self {
        self.send(&format!("{id} is encoded"), Event::EncodeEnded(RequestId(id)))
    }

    pub(crate) fn mend(&mut self, id: u64, node: Option<u16>, taken: &[u16]) -> &mut Self {
        let taken = taken.iter().map(|&id| NodeId(id)).collect();
        let operation = RequestSpec::Mend { fragment: 1, node: node.map(NodeId), taken };
        self.request(id, &format!("mend {id}"), operation)
    }

    pub(crate) fn request(&mut self, id: u64, what: &str, operation: RequestSpec) -> &mut Self {
        let request =
            Request { id: RequestId(id), tenant: TenantId::ANYBODY, operation, strip_bytes: 1000 };
        self.send(what, Event::RequestArrived(request))
    }

    pub(crate) fn abandon(&mut self, id: u64) -> &mut Self {
        self.send(&format!("{id} is abandoned"), Event::RequestAbandoned(RequestId(id)))
    }

    pub(crate) fn decoded(&mut self, id: u64, computed: bool) -> &mut Self {
        let what = format!("{id} is decoded: {computed}");
        self.send(&what, Event::DecodeEnded(RequestId(id), computed))
    }

    pub(crate) fn node(&mut self, id: u16, state: NodeState) -> &mut Self {
        self.send(&format!("node {id} is {state:?}"), Event::NodeChanged(NodeId(id), state))
    }

    /// Ends the first task started for a fragment that has not ended.
    pub(crate) fn end(&mut self, id: u64, fragment: u8, outcome: TaskOutcome) -> &mut Self {
        let (&task, _) =
            self.tasks.iter().find(|(_, of)| **of == (id, fragment)).expect("it was started");
        self.tasks.remove(&task);
        let what = format!("{id}.{fragment} ends {outcome:?}");
        self.send(&what, Event::TaskEnded(task, outcome))
    }

    pub(crate) fn done(&mut self, id: u64, fragments: &[u8]) -> &mut Self {
        for &fragment in fragments {
            self.end(id, fragment, TaskOutcome::Done);
        }
        self
    }

    /// What was said so far, which is then forgotten.
    pub(crate) fn text(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    pub(crate) fn send(&mut self, what: &str, event: Event) -> &mut Self {
        let mut actions = Vec::new();
        self.machine.handle(self.now, event, &mut actions);
        self.machine.assert_invariants();
        let told: Vec<_> = actions.iter().filter_map(|action| self.tell(action)).collect();
        let ms = self.now.as_nanos() / 1_000_000;
        let arrow = if told.is_empty() { "" } else { " → " };
        writeln!(self.text, "{ms:<5} {what}{arrow}{}", told.join(", ")).expect("text takes text");
        self
    }

    fn name(&self, task: TaskId) -> String {
        self.tasks.get(&task).map_or("gone".into(), |(id, fragment)| format!("{id}.{fragment}"))
    }

    fn tell(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Encode { request, .. } => format!("encode {request}"),
            Action::StartTask(task) => {
                self.tasks.insert(task.id, (task.request.0, task.fragment));
                format!("start {}@{}", self.name(task.id), task.node)
            }
            Action::CancelTask(id) => format!("cancel {}", self.name(*id)),
            Action::Decode { request, from } => format!("decode {request} from {from:?}"),
            Action::Complete(id) => format!("complete {id}"),
            Action::Fail(id, cause) => format!("fail {id} {cause:?}"),
            Action::Reject { request, .. } => format!("reject {request}"),
            Action::Settle { request, stored } => {
                let places = stored.iter().map(|node| node.map_or("-".into(), |id| id.to_string()));
                format!("settle {request} [{}]", places.collect::<Vec<_>>().join(" "))
            }
            Action::Probe(id) => format!("probe {id}"),
            Action::Report(report) => match report {
                Report::Node { node, up } => {
                    format!("node {node} {}", if *up { "up" } else { "down" })
                }
                Report::FragmentLost { fragment, outcome, .. } => {
                    format!("lost {fragment} {outcome:?}")
                }
                Report::Refused { request, tenant } => format!("refused {request} of {tenant}"),
                Report::Started { .. }
                | Report::Task(_)
                | Report::Admitted { .. }
                | Report::Answered { .. } => {
                    return self.reports.then(|| tell_report(report));
                }
            },
        })
    }
}

fn tell_report(report: &Report) -> String {
    match report {
        Report::Started { request, code, waited, .. } => {
            format!("[{request} started {code} after {waited:?}]")
        }
        Report::Task(TaskEnd {
            task, write, outcome, bytes, waited, served, redundant, ..
        }) => format!(
            "[{}.{}@{} {outcome:?}, write {write}, {bytes} bytes, waited {waited:?}, \
             served {served:?}, redundant {redundant}]",
            task.request, task.fragment, task.node
        ),
        Report::Admitted { request, tenant, tier } => {
            format!("[{request} of {tenant} admitted to {tier:?}]")
        }
        Report::Answered { request, write, took, done, .. } => {
            format!("[{request} answered, write {write}, took {took:?}, done {done}]")
        }
        Report::FragmentLost { .. } | Report::Node { .. } | Report::Refused { .. } => {
            unreachable!("told elsewhere")
        }
    }
}
