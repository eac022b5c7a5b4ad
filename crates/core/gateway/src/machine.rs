use crate::{
    Action, Event, NodeState, Settings,
    placement::Placed,
    request::{Progress, Requests, Work},
    selection::Weights,
    shaper::{AHEAD, Shaper},
    tasks::Tasks,
};
use alloc::{boxed::Box, vec::Vec};
use ripstop_model::Timestamp;
use ripstop_policy::Policy;
use ripstop_scheduling::{NodeSpec, Nodes, Paces, RequestQueue, Timeouts};

/// Decides everything about requests: when they start, on which nodes, when they are answered.
///
/// Events in, actions out, in order; equal events at equal times give equal actions. Time never runs
/// backwards: an earlier `now` counts as the latest one seen. Events about what is over (a task that
/// ended, a request that is settled) or never was are ignored: races make them normal.
#[derive(Debug)]
pub struct Machine {
    pub(crate) settings: Settings,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) now: Timestamp,
    pub(crate) nodes: Nodes,
    pub(crate) tasks: Tasks,
    pub(crate) paces: Paces,
    pub(crate) requests: Requests,
    pub(crate) queue: RequestQueue,
    pub(crate) mends: RequestQueue,
    /// The plan that it follows.
    pub(crate) placed: Placed,
    /// There as soon as there are tenants.
    pub(crate) shaper: Option<Box<Shaper>>,
    pub(crate) probes: Timeouts,
    /// Writes whose parity is being computed.
    pub(crate) encoding: usize,
    /// Reads and writes that have left the queue and are not answered.
    pub(crate) serving: usize,
    /// Numbers the looks at the queue.
    pub(crate) look: u64,
    /// When patience of a waiting request ends and a node is ready for it.
    pub(crate) patience_ends: Option<Timestamp>,
    /// Turns with each write, so that equal nodes take turns.
    pub(crate) turn: usize,
    /// Candidates of the choice at hand: kept to allocate once.
    pub(crate) candidates: Vec<u64>,
    pub(crate) weights: Weights,
    /// Lanes that needed work claims, by node: kept to allocate once.
    pub(crate) claims: Vec<u32>,
    /// Where actions gather while an event is handled.
    pub(crate) actions: Vec<Action>,
}

impl Machine {
    /// A machine whose nodes are all up and idle.
    ///
    /// # Panics
    /// If the settings are not valid ([`Settings::validate`]) or two nodes have the same id.
    #[expect(clippy::needless_pass_by_value, reason = "a machine keeps its nodes, in its own form")]
    pub fn new(settings: Settings, nodes: Vec<NodeSpec>, policy: Box<dyn Policy>) -> Self {
        if let Err(error) = settings.validate() {
            panic!("the machine's settings are not valid: {error}");
        }
        Self {
            settings,
            policy,
            now: Timestamp::ZERO,
            tasks: Tasks::new(&settings, nodes.len()),
            paces: Paces::new(nodes.len()),
            nodes: Nodes::new(&nodes),
            requests: Requests::new(&settings),
            queue: RequestQueue::new(settings.requests_waiting_max + AHEAD),
            mends: RequestQueue::new(settings.mends_waiting_max),
            placed: Placed::default(),
            weights: Weights::default(),
            shaper: None,
            probes: Timeouts::new(settings.probe_every),
            encoding: 0,
            serving: 0,
            look: 0,
            patience_ends: None,
            turn: 0,
            candidates: Vec::new(),
            claims: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// Takes in what happened `now` and adds what is to be done to `actions`.
    pub fn handle(&mut self, now: Timestamp, event: Event, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        core::mem::swap(&mut self.actions, actions);
        match event {
            Event::RequestArrived(request) => self.arrived(&request),
            Event::RequestAbandoned(id) => self.abandoned(id),
            Event::EncodeEnded(id) => self.encoded(id),
            Event::TaskEnded(id, outcome) => self.task_ended(id, outcome),
            Event::DecodeEnded(id, computed) => self.decoded(id, computed),
            Event::NodeChanged(id, state) => {
                if let Some(node) = self.nodes.find(id) {
                    match state {
                        NodeState::Up => self.node_up(node),
                        NodeState::Down => self.node_down(node),
                    }
                }
            }
            Event::ShapingChanged(shaping) => self.shaping_changed(&shaping),
            Event::PlacementChanged(placement) => self.placement_changed(&placement),
            Event::TimerFired => self.timer_fired(),
        }
        self.dispatch();
        self.preempt();
        core::mem::swap(&mut self.actions, actions);
        debug_assert_eq!(self.nodes.totals().lanes_busy, self.tasks.on_lanes());
    }

    /// What must hold between any two events; looks at everything, so for tests.
    ///
    /// # Panics
    /// If it does not hold.
    pub fn assert_invariants(&self) {
        self.tasks.assert_invariants(&self.nodes);
        let mut open = 0;
        let (mut encoding, mut waiting, mut mending, mut serving) = (0, 0, 0, 0);
        for (slot, entry) in self.requests.table.iter() {
            assert_eq!(self.requests.find(entry.id), Some(slot));
            assert!(!entry.is_answered() || entry.open > 0, "what is over is settled");
            assert_eq!(self.requests.timeouts.contains(slot), !entry.is_answered());
            open += entry.open as usize;
            match (entry.progress, &entry.work) {
                (Progress::Encoding, _) => encoding += 1,
                (Progress::Waiting, Work::Mend(_)) => mending += 1,
                (Progress::Waiting, Work::Read(_) | Work::Write(_)) => waiting += 1,
                (Progress::Serving | Progress::Decoding, Work::Read(_) | Work::Write(_)) => {
                    serving += 1;
                }
                (Progress::Serving | Progress::Decoding, Work::Mend(_))
                | (Progress::Answered { .. }, _) => {}
            }
            self.tasks.assert_fragments(slot, entry);
        }
        assert_eq!(open, self.tasks.table.len(), "each task is counted by its request");
        assert_eq!((encoding, serving), (self.encoding, self.serving));
        let turns = self.shaper.as_ref().map_or(0, |shaper| shaper.len());
        assert_eq!((waiting, mending), (self.queue.len() + turns, self.mends.len()));
    }
}
