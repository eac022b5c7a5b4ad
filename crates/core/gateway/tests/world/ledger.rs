use ripstop_gateway::{
    Action, Cause, MachineSettings, NodeSpec, NodeState, Report, Request, RequestSpec, Task,
    TaskOutcome,
};
use ripstop_model::{NodeId, RequestId, StripSet, TenantId, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// What is true of the requests and nodes, kept beside the machine in the plainest way.
pub(crate) struct Ledger {
    settings: MachineSettings,
    up: BTreeMap<NodeId, bool>,
    requests: BTreeMap<RequestId, Known>,
    open: usize,
}

struct Known {
    arrived: Timestamp,
    tenant: TenantId,
    operation: RequestSpec,
    /// Of the code it is served with; 0 before that is known.
    n: usize,
    k: usize,
    /// Strips in a chunk.
    strips: usize,
    abandoned: bool,
    encodes: usize,
    decodes: usize,
    decoded: Option<bool>,
    /// Fragments of each outcome.
    got: BTreeMap<u8, BTreeSet<NodeId>>,
    lost: BTreeSet<u8>,
    /// Every node a task was started at, and for which fragment.
    used: BTreeMap<NodeId, u8>,
    answer: Option<Result<(), Cause>>,
    settled: bool,
}

impl Ledger {
    pub(crate) fn new(settings: MachineSettings, nodes: &[NodeSpec]) -> Self {
        let up = nodes.iter().map(|spec| (spec.id, true)).collect();
        Self { settings, up, requests: BTreeMap::new(), open: 0 }
    }

    /// Requests that are not settled.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    pub(crate) fn arrived(&mut self, now: Timestamp, request: &Request) {
        self.open += 1;
        let known = Known {
            arrived: now,
            tenant: request.tenant,
            operation: request.operation.clone(),
            n: 0,
            k: 0,
            strips: 1,
            abandoned: false,
            encodes: 0,
            decodes: 0,
            decoded: None,
            got: BTreeMap::new(),
            lost: BTreeSet::new(),
            used: BTreeMap::new(),
            answer: None,
            settled: false,
        };
        self.requests.insert(request.id, known);
    }

    pub(crate) fn abandoned(&mut self, id: RequestId) {
        if let Some(known) = self.requests.get_mut(&id) {
            known.abandoned = true;
        }
    }

    pub(crate) fn decoded(&mut self, id: RequestId, computed: bool) {
        self.requests.get_mut(&id).expect("it arrived").decoded = Some(computed);
    }

    pub(crate) fn ended(&mut self, task: &Task, outcome: TaskOutcome) {
        let known = self.requests.get_mut(&task.request).expect("it arrived");
        match outcome {
            TaskOutcome::Done => {
                known.got.entry(task.fragment).or_default().insert(task.node);
            }
            TaskOutcome::Missing | TaskOutcome::Damaged => {
                known.lost.insert(task.fragment);
            }
            TaskOutcome::Unavailable | TaskOutcome::Refused | TaskOutcome::Cancelled => {}
        }
    }

    pub(crate) fn assert_all_settled(&self) {
        for (id, known) in &self.requests {
            assert!(known.settled && known.answer.is_some(), "{id:?}");
        }
    }

    fn live(&mut self, id: RequestId) -> &mut Known {
        let known = self.requests.get_mut(&id).expect("the machine invents no request");
        assert!(!known.settled, "nothing is said of {id:?} after it was settled");
        known
    }

    pub(crate) fn check(&mut self, now: Timestamp, action: &Action) {
        match action {
            Action::Encode { request, code } => {
                let known = self.live(*request);
                (known.n, known.k) = (code.n(), code.k());
                known.encodes += 1;
                assert!(known.encodes == 1 && known.answer.is_none());
                assert!(matches!(
                    known.operation,
                    RequestSpec::Write { .. } | RequestSpec::WriteUnique { .. }
                ));
            }
            Action::StartTask(task) => self.check_start(task),
            Action::CancelTask(_) => {}
            Action::Decode { request, from } => {
                let known = self.live(*request);
                known.decodes += 1;
                assert!(known.decodes == 1 && known.answer.is_none());
                known.check_decode(from);
            }
            Action::Complete(id) => {
                let settings = self.settings;
                let known = self.live(*id);
                assert_eq!(known.answer.replace(Ok(())), None, "{id:?} is answered once");
                known.check_complete(&settings);
            }
            Action::Fail(id, cause) => {
                let settings = self.settings;
                let known = self.live(*id);
                assert_eq!(known.answer.replace(Err(*cause)), None, "{id:?} is answered once");
                known.check_fail(*cause, now - known.arrived, &settings);
            }
            Action::Reject { request: id, .. } => {
                let known = self.live(*id);
                assert_eq!(known.answer.replace(Err(Cause::Unavailable)), None);
                assert!(known.arrived == now && known.used.is_empty());
                known.settled = true;
                self.open -= 1;
            }
            Action::Settle { request, stored } => {
                let known = self.live(*request);
                assert!(known.answer.is_some(), "{request:?} is answered before it is settled");
                known.check_settle(stored);
                known.settled = true;
                self.open -= 1;
            }
            Action::Probe(id) => assert!(!self.up[id], "only nodes that are down are probed"),
            Action::Report(report) => self.check_report(report),
        }
    }

    fn check_start(&mut self, task: &Task) {
        assert!(self.up[&task.node], "nothing starts at a node that is down");
        let known = self.live(task.request);
        let other = known.used.insert(task.node, task.fragment);
        known.strips = usize::from(task.strips);
        match &known.operation {
            RequestSpec::Read { places, .. } => {
                assert_eq!(known.answer, None, "an answered read starts nothing");
                assert_eq!(known.decodes, 0, "a read that decodes starts nothing");
                assert_eq!(places[usize::from(task.fragment)], Some(task.node));
                assert!(!known.got.contains_key(&task.fragment), "nothing is fetched twice");
            }
            RequestSpec::ReadShared { n, k, node } => {
                assert!(known.answer.is_none() && known.decodes == 0);
                assert_eq!(*node, Some(task.node));
                assert_eq!(known.k * known.strips, usize::from(*k));
                assert!((usize::from(task.fragment) + 1) * known.strips <= usize::from(*n));
                assert!(!known.got.contains_key(&task.fragment), "nothing is fetched twice");
            }
            RequestSpec::WriteUnique { .. } => {
                assert!(known.encodes == 1 && known.used.len() == 1, "all at one node");
                assert!(!matches!(known.answer, Some(Err(_))), "a failed write stores nothing");
                assert!(!known.got.contains_key(&task.fragment), "nothing is stored twice");
            }
            RequestSpec::Write { n, .. } => {
                let alone = other.is_none_or(|other| other == task.fragment);
                assert!(alone, "one fragment a node: {task:?}");
                assert!(known.encodes == 1 && task.fragment < *n);
                assert!(!matches!(known.answer, Some(Err(_))), "a failed write stores nothing");
                assert!(!known.got.contains_key(&task.fragment), "nothing is stored twice");
            }
            RequestSpec::Mend { fragment, node, taken } => {
                assert!(known.answer.is_none() && task.fragment == *fragment);
                assert!(node.is_none_or(|node| node == task.node) && !taken.contains(&task.node));
            }
        }
    }

    fn check_report(&mut self, report: &Report) {
        match report {
            Report::Node { node, up } => {
                let state = if *up { NodeState::Up } else { NodeState::Down };
                assert_ne!(
                    self.up.insert(*node, *up),
                    Some(*up),
                    "{node:?} became {state:?} twice"
                );
            }
            Report::Task(end) => {
                let known = self.live(end.task.request);
                assert_eq!(end.redundant, known.answer.is_some() || known.decodes > 0);
            }
            Report::Started { request, code, .. } => {
                let known = self.live(*request);
                assert_eq!(known.answer, None);
                (known.n, known.k) = (code.n(), code.k());
            }
            Report::Answered { request, done, .. } => {
                assert_eq!(self.live(*request).answer.map(|answer| answer.is_ok()), Some(*done));
            }
            Report::Admitted { request, tenant, .. } | Report::Refused { request, tenant } => {
                assert_eq!(self.live(*request).tenant, *tenant);
            }
            Report::FragmentLost { request, fragment, .. } => {
                assert!(self.live(*request).lost.contains(fragment));
            }
        }
    }
}

impl Known {
    fn check_decode(&self, from: &StripSet) {
        if let RequestSpec::ReadShared { k, .. } = self.operation {
            assert_eq!(from.len(), usize::from(k));
            let got = |strip: usize| self.got.contains_key(&((strip / self.strips) as u8));
            assert!(from.iter().all(got));
            assert!(!(0..self.k).all(|chunk| self.got.contains_key(&(chunk as u8))));
            return;
        }
        let RequestSpec::Read { k, wanted, .. } = &self.operation else {
            panic!("only reads are decoded")
        };
        assert_eq!(from.len(), usize::from(*k));
        assert!(from.iter().all(|strip| self.got.contains_key(&(strip as u8))));
        assert!(!wanted.iter().all(|strip| self.got.contains_key(&(strip as u8))));
    }

    fn check_complete(&self, settings: &MachineSettings) {
        match &self.operation {
            RequestSpec::Read { wanted, .. } => {
                let direct = wanted.iter().all(|strip| self.got.contains_key(&(strip as u8)));
                assert!(direct || self.decoded == Some(true));
            }
            RequestSpec::ReadShared { .. } => {
                let direct = (0..self.k).all(|chunk| self.got.contains_key(&(chunk as u8)));
                assert!(direct || self.decoded == Some(true));
            }
            RequestSpec::WriteUnique { .. } => {
                let least = self.k + usize::from(settings.answer_extra_min);
                assert!(self.got.len() >= least.min(self.n), "what is answered is durable");
            }
            RequestSpec::Write { n, k } => {
                let least = (*k + settings.answer_extra_min).min(*n);
                assert!(self.got.len() >= usize::from(least), "what is answered is durable");
            }
            RequestSpec::Mend { fragment, .. } => assert!(self.got.contains_key(fragment)),
        }
    }

    fn check_fail(&self, cause: Cause, took: Duration, settings: &MachineSettings) {
        match cause {
            Cause::TimedOut => {
                assert!(took >= settings.request_timeout);
                let extra = usize::from(settings.answer_extra_min);
                let least = match self.operation {
                    RequestSpec::Write { n, k } => usize::from(n).min(usize::from(k) + extra),
                    RequestSpec::WriteUnique { .. } if self.n > 0 => self.n.min(self.k + extra),
                    RequestSpec::WriteUnique { .. }
                    | RequestSpec::Read { .. }
                    | RequestSpec::ReadShared { .. }
                    | RequestSpec::Mend { .. } => usize::MAX,
                };
                assert!(self.got.len() < least, "a write that is durable enough does not fail");
            }
            Cause::Abandoned => assert!(self.abandoned),
            Cause::Lost => {
                if let RequestSpec::ReadShared { node, .. } = self.operation {
                    let lost = !self.lost.is_empty() || self.decoded == Some(false);
                    return assert!(node.is_none() || lost);
                }
                let RequestSpec::Read { k, places, .. } = &self.operation else {
                    panic!("only what is read can be lost")
                };
                let missing = places.iter().filter(|place| place.is_none()).count();
                let held = places.len() - missing - self.lost.len();
                assert!(held < usize::from(*k) || self.decoded == Some(false));
            }
            Cause::Unavailable => {
                if let RequestSpec::Read { k, .. } = &self.operation {
                    assert!(self.got.len() < usize::from(*k));
                }
            }
        }
    }

    fn check_settle(&self, stored: &[Option<NodeId>]) {
        match &self.operation {
            RequestSpec::Read { .. } | RequestSpec::ReadShared { .. } => assert!(stored.is_empty()),
            RequestSpec::WriteUnique { n, .. } => assert!(stored.len() <= usize::from(*n)),
            RequestSpec::Write { n, .. } => assert_eq!(stored.len(), usize::from(*n)),
            RequestSpec::Mend { fragment, .. } => {
                assert_eq!(stored.len(), usize::from(*fragment) + 1);
            }
        }
        let mut nodes = BTreeSet::new();
        for (index, place) in stored.iter().enumerate() {
            let truth = self.got.get(&(index as u8));
            match place {
                Some(node) => {
                    assert!(truth.is_some_and(|nodes| nodes.contains(node)));
                    let alone = nodes.insert(*node);
                    let unique = matches!(self.operation, RequestSpec::WriteUnique { .. });
                    assert!(alone || unique, "one fragment a node");
                }
                None => assert!(truth.is_none(), "what is stored is told"),
            }
        }
    }
}
