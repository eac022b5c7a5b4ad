use ripstop_delay::Dice;
use ripstop_model::FragmentId;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Fragments that are remembered, to be given out in place of another.
const SEEN_MAX: usize = 32;

/// How often which fault happens; probabilities between 0 and 1, drawn for each operation. The
/// default is none at all.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FaultSettings {
    /// Whether every operation fails at once.
    pub down: bool,
    /// An operation fails as unavailable without reaching the node.
    pub error: f64,
    /// An operation reaches the node, and fails as unavailable all the same.
    pub lost_answer: f64,
    /// An operation stalls before it reaches the node.
    pub stall: f64,
    /// How long it stalls; without end if none is given.
    pub stall_for: Option<Duration>,
    /// A get returns fewer bytes than were asked for.
    pub truncate: f64,
    /// A get returns one bit flipped.
    pub flip: f64,
    /// A get returns the same range of another fragment, if one that is long enough was seen.
    pub swap: f64,
}

/// How often which fault has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Injected {
    /// Operations failed before they reached the node; not those while it was down.
    pub errors: u64,
    /// Operations failed after the node had done them.
    pub lost_answers: u64,
    /// Operations stalled.
    pub stalls: u64,
    /// Gets cut short.
    pub truncations: u64,
    /// Gets with a flipped bit.
    pub flips: u64,
    /// Gets answered with another fragment.
    pub swaps: u64,
}

/// Changes a [`super::Fault`]'s faults while it is in use; clones change the same one.
#[derive(Clone, Debug)]
pub struct FaultHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    plan: Mutex<Plan>,
    counters: Counters,
}

#[derive(Debug)]
struct Plan {
    settings: FaultSettings,
    dice: Dice,
    seen: VecDeque<FragmentId>,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) errors: AtomicU64,
    pub(super) lost_answers: AtomicU64,
    pub(super) stalls: AtomicU64,
    pub(super) truncations: AtomicU64,
    pub(super) flips: AtomicU64,
    pub(super) swaps: AtomicU64,
}

/// What was drawn for one operation.
#[expect(clippy::struct_excessive_bools, reason = "independent faults, any of which may combine")]
pub(super) struct Luck {
    pub(super) down: bool,
    pub(super) error: bool,
    pub(super) lost_answer: bool,
    pub(super) stall: bool,
    pub(super) stall_for: Option<Duration>,
    pub(super) truncate: bool,
    pub(super) flip: bool,
    pub(super) swap: bool,
    /// Which bit, which length, which other fragment.
    pub(super) point: u64,
}

impl FaultHandle {
    pub(super) fn new(settings: FaultSettings, seed: u64) -> Self {
        let plan = Plan { settings, dice: Dice::new(seed), seen: VecDeque::new() };
        Self(Arc::new(Shared { plan: Mutex::new(plan), counters: Counters::default() }))
    }

    /// From now on, these faults.
    pub fn set(&self, settings: FaultSettings) {
        self.plan().settings = settings;
    }

    /// The faults of now.
    pub fn settings(&self) -> FaultSettings {
        self.plan().settings
    }

    /// Takes the node down, or up again with the faults it had.
    pub fn down(&self, down: bool) {
        self.plan().settings.down = down;
    }

    /// How often which fault has happened.
    pub fn injected(&self) -> Injected {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = self.counters();
        Injected {
            errors: count(&counters.errors),
            lost_answers: count(&counters.lost_answers),
            stalls: count(&counters.stalls),
            truncations: count(&counters.truncations),
            flips: count(&counters.flips),
            swaps: count(&counters.swaps),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(super) fn draw(&self) -> Luck {
        let mut plan = self.plan();
        let settings = plan.settings;
        let dice = &mut plan.dice;
        // Always as many throws, so that changing one fault leaves the others' luck alone.
        Luck {
            down: settings.down,
            error: dice.uniform() < settings.error,
            lost_answer: dice.uniform() < settings.lost_answer,
            stall: dice.uniform() < settings.stall,
            stall_for: settings.stall_for,
            truncate: dice.uniform() < settings.truncate,
            flip: dice.uniform() < settings.flip,
            swap: dice.uniform() < settings.swap,
            point: dice.next_u64(),
        }
    }

    pub(super) fn seen(&self, name: FragmentId) {
        let mut plan = self.plan();
        if plan.seen.contains(&name) {
            return;
        }
        if plan.seen.len() == SEEN_MAX {
            plan.seen.pop_front();
        }
        plan.seen.push_back(name);
    }

    /// Some fragment seen recently, other than `name`.
    pub(super) fn other(&self, name: FragmentId, point: u64) -> Option<FragmentId> {
        let plan = self.plan();
        let others: Vec<_> = plan.seen.iter().filter(|&&seen| seen != name).collect();
        let count = others.len() as u64;
        (count > 0).then(|| *others[(point % count) as usize])
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
