use crate::{
    book::Timer,
    face::{Action, Event, MachineSettings, NodeGauge, NodeState, TenantGauge, TierGauge},
    serve::{self, Parts},
};
use alloc::{boxed::Box, vec::Vec};
use ripstop_delay::ShiftedExponential;
use ripstop_model::{Operation, Timestamp};
use ripstop_policy::{Load, Policy};
use ripstop_scheduling::NodeSpec;

/// Decides everything about requests: when they start, on which nodes, when they are answered.
///
/// Events in, actions out, in order; equal events at equal times give equal actions. Time never
/// runs backwards: an earlier `now` counts as the latest one seen. Events about what is over (a
/// task that ended, a request that is settled) or never was are ignored: races make them normal.
#[derive(Debug)]
pub struct Machine {
    parts: Parts,
}

impl Machine {
    /// A machine whose nodes are all up and idle.
    ///
    /// # Panics
    /// If the settings are not valid ([`MachineSettings::validate`]) or two nodes have the same id.
    #[expect(clippy::needless_pass_by_value, reason = "a machine keeps its nodes, in its own form")]
    pub fn new(settings: MachineSettings, nodes: Vec<NodeSpec>, policy: Box<dyn Policy>) -> Self {
        if let Err(error) = settings.validate() {
            panic!("the machine's settings are not valid: {error}");
        }
        Self { parts: Parts::new(settings, &nodes, policy) }
    }

    /// Takes in what happened `now` and adds what is to be done to `actions`.
    pub fn handle(&mut self, now: Timestamp, event: Event, actions: &mut Vec<Action>) {
        let parts = &mut self.parts;
        parts.exit.open(now, actions);
        match event {
            Event::RequestArrived(request) => serve::arrived(parts, &request),
            Event::RequestAbandoned(id) => serve::abandoned(parts, id),
            Event::EncodeEnded(id) => serve::encoded(parts, id),
            Event::TaskEnded(id, outcome) => serve::task_ended(parts, id, outcome),
            Event::DecodeEnded(id, computed) => serve::decoded(parts, id, computed),
            Event::NodeChanged(id, NodeState::Up) => serve::node_up(parts, id),
            Event::NodeChanged(id, NodeState::Down) => serve::node_down(parts, id),
            Event::LanesChanged(nodes) => serve::lanes_changed(parts, &nodes),
            Event::ShapingChanged(shaping) => {
                parts.line.set_shaping(parts.exit.now(), &shaping, parts.floor.lanes());
            }
            Event::PlacementChanged(placement) => {
                let floor = &parts.floor;
                parts.chooser.follow(&placement, |id| floor.find(id));
            }
            Event::TimerFired => self.timer_fired(),
        }
        let parts = &mut self.parts;
        serve::dispatch(parts);
        serve::preempt(parts);
        parts.exit.close(actions);
        parts.floor.debug_assert_lanes();
    }

    fn timer_fired(&mut self) {
        let parts = &mut self.parts;
        while let Some(timer) = parts.book.timers_mut().expire(parts.exit.now()) {
            match timer {
                Timer::Task(task) => serve::task_timed_out(parts, task),
                Timer::Hedge(slot) => serve::read_is_hedged(parts, slot),
                Timer::Late(slot) => serve::read_is_late(parts, slot),
                Timer::Degraded(slot) => serve::write_waited(parts, slot),
                Timer::Request(slot) => serve::timed_out(parts, slot),
                Timer::Probe(node) => serve::probe(parts, node),
                Timer::Patience => {}
            }
        }
    }

    /// When to send `TimerFired`, and which timer asked for it; `None` while none runs.
    pub fn deadline(&self) -> Option<(Timestamp, &'static str)> {
        self.parts.book.timers().deadline()
    }

    /// What a policy may know of the load.
    pub fn load(&self) -> Load {
        self.parts.load()
    }

    /// How the nodes stand, in the order they were given.
    pub fn nodes(&self) -> impl Iterator<Item = NodeGauge> {
        self.parts.floor.gauges()
    }

    /// How the tenants' tiers stand.
    pub fn tiers(&self) -> impl Iterator<Item = TierGauge> {
        self.parts.line.gauges()
    }

    /// What tenants asked for.
    pub fn tenants(&self) -> impl Iterator<Item = TenantGauge> {
        self.parts.line.tenants()
    }

    /// The delay model that the policy goes by, if it has one.
    pub fn delay_model(&self, operation: Operation) -> Option<ShiftedExponential> {
        self.parts.policy.delay_model(operation)
    }

    /// Requests that are not settled, rejected ones not counted.
    pub fn requests_open(&self) -> usize {
        self.parts.book.len()
    }

    /// Writes whose parity is being computed.
    pub fn encoding(&self) -> usize {
        self.parts.book.encoding()
    }

    /// Mends that wait.
    pub fn mends_waiting(&self) -> usize {
        self.parts.line.mends_waiting()
    }

    /// What must hold between any two events; looks at everything, so for tests.
    ///
    /// # Panics
    /// If it does not hold.
    pub fn assert_invariants(&self) {
        let Parts { floor, book, line, .. } = &self.parts;
        book.assert_invariants();
        floor.assert_invariants(book);
        let waits = |mend: bool| {
            let waiting = book.iter().filter(|(_, entry)| entry.is_waiting());
            waiting.filter(|(_, entry)| entry.is_mend() == mend).count()
        };
        assert_eq!((waits(false), waits(true)), (line.backlog(), line.mends_waiting()));
    }
}
