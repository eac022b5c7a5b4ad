//! Brings stripes to where a plan wants them, in virtual time: the live mover's sibling. Which,
//! where and when is decided by `ripstop_placement::moving`.

use crate::{
    course::{MovedFragment, PlanCourse},
    stock::Stock,
    watcher::{Awaited, Watcher},
};
use ripstop_engine::{Arrival, Engine, Observer};
use ripstop_gateway::{NodeState, RequestSpec};
use ripstop_model::{NodeId, Operation as Direction, RequestId, TenantId, Timestamp};
use ripstop_placement::moving::{
    Assignment, Errand, FragmentMove, Goal, LOOK_EVERY, MovePace, StrayWatch, Tally, Walked,
    is_stray,
};
use std::{collections::BTreeSet, time::Duration};

/// Luck of what movers do; that of requests is smaller.
const LUCK: u64 = 1 << 48;
/// Bytes of a fragment that are read to see whether it has arrived: its header, and its end.
const LOOKED_AT: [u64; 2] = [4096, 1];

/// A pool that things are moved in.
pub(crate) struct Scene<'a, O> {
    pub engine: &'a mut Engine<Watcher<O>>,
    pub stock: &'a mut Stock,
    pub course: &'a mut PlanCourse,
    /// Of a stripe's fragments, this many suffice.
    pub k: usize,
    /// Bytes of a fragment.
    pub fragment_bytes: u32,
    /// Numbers what movers do.
    pub luck: &'a mut u64,
}

impl<O: Observer> Scene<'_, O> {
    /// How long a node takes for something beside its lanes; `None` if it is gone.
    fn aside(&mut self, node: NodeId, bytes: u64) -> Option<Duration> {
        let luck = self.next_luck();
        let took = self.engine.aside(node, luck, Direction::Read, bytes)?;
        let load = self.course.load_of(node);
        load.reads += 1;
        load.read_s += took.as_secs_f64();
        Some(took)
    }

    fn next_luck(&mut self) -> u64 {
        *self.luck += 1;
        LUCK + *self.luck
    }
}

/// Brings stripes to the groups of one plan.
pub(crate) struct Mover {
    goals: Vec<Goal>,
    watch: StrayWatch,
    pace: MovePace,
    /// Stripes that came to be at none of its goals, as often as they did.
    strays: u64,
    /// Fragments still to be moved.
    pub left: u64,
    /// Whether its plan is still followed.
    pub is_wanted: bool,
    /// When it goes on by itself.
    pub due: Option<Timestamp>,
    walk: Option<Walk>,
}

/// On its way through all stripes.
struct Walk {
    assignment: Assignment,
    /// The next stripe to be looked at.
    next: usize,
    walked: Walked,
    /// The stripe that is being brought.
    errand: Option<(usize, Errand)>,
    hop: Option<Hop>,
}

/// A fragment that is under way.
struct Hop {
    what: FragmentMove,
    /// How often the stripe had been written.
    written: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The fragment is read, or what it is computed from.
    Reading,
    /// It is being stored.
    Storing(RequestId),
    /// It is looked at where it was stored.
    Looking,
}

impl Mover {
    pub(crate) fn new(now: Timestamp, goals: Vec<Goal>, rate: u64, home_after: Duration) -> Self {
        let (watch, pace) = (StrayWatch::new(now, home_after), MovePace::new(now, rate));
        let (strays, left, is_wanted, due, walk) = (0, 0, true, Some(now), None);
        Self { goals, watch, pace, strays, left, is_wanted, due, walk }
    }

    /// Whether nothing more comes of it.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_wanted && self.walk.as_ref().is_none_or(|walk| walk.hop.is_none())
    }

    /// Whether one of its requests is open.
    pub(crate) fn has_request(&self) -> bool {
        let hop = self.walk.as_ref().and_then(|walk| walk.hop.as_ref());
        hop.is_some_and(|hop| matches!(hop.stage, Stage::Storing(_)))
    }

    /// A stripe was written.
    pub(crate) fn written(&mut self, stock: &Stock, stripe: usize) {
        self.strays += u64::from(is_stray(&self.goals, &stock.all()[stripe].spot()));
    }

    /// Goes on as far as it can now.
    pub(crate) fn go_on<O: Observer>(&mut self, scene: &mut Scene<'_, O>) {
        self.due = None;
        while self.due.is_none() && !self.is_over() {
            self.look(scene);
            match &self.walk {
                None => self.rest(scene),
                Some(Walk { hop: Some(_), .. }) => {
                    if !self.hop_on(scene) {
                        return;
                    }
                }
                Some(Walk { errand: Some(_), .. }) => self.next_hop(scene),
                Some(_) => self.next_errand(scene),
            }
        }
    }

    /// Looks which of the plan's nodes are in service.
    fn look<O: Observer>(&mut self, scene: &Scene<'_, O>) {
        let is_wanted = |node: NodeId| self.goals.iter().any(|goal| goal.nodes.contains(&node));
        let down = scene.engine.machine().nodes().filter(|node| node.state == NodeState::Down);
        let down: BTreeSet<NodeId> = down.map(|node| node.id).filter(|&id| is_wanted(id)).collect();
        self.watch.look(scene.engine.now(), down);
    }

    fn rest<O: Observer>(&mut self, scene: &mut Scene<'_, O>) {
        let now = scene.engine.now();
        if !self.watch.is_due(now, self.strays) {
            self.due = Some(self.watch.next().min(now + LOOK_EVERY));
            return;
        }
        self.watch.walk_began(now, self.strays);
        let mut tally = Tally::new(self.goals.clone());
        scene.stock.all().iter().for_each(|stripe| tally.note(stripe.spot()));
        let assignment = tally.assign();
        self.left = assignment.fragments();
        let walked = Walked::default();
        self.walk = Some(Walk { assignment, next: 0, walked, errand: None, hop: None });
    }

    fn next_errand<O: Observer>(&mut self, scene: &mut Scene<'_, O>) {
        let Some(walk) = &mut self.walk else { return };
        while let Some(stripe) = scene.stock.all().get(walk.next) {
            walk.next += 1;
            if let Some(goal) = walk.assignment.next(&stripe.spot()).cloned() {
                walk.errand = Some((walk.next - 1, Errand::new(goal)));
                return;
            }
        }
        let (now, walked) = (scene.engine.now(), walk.walked);
        self.watch.walk_ended(now, walked);
        self.left = walked.left;
        scene.course.walks.push((now, walked.left));
        self.walk = None;
    }

    /// Begins to move the next fragment of the stripe at hand, as soon as it may.
    fn next_hop<O: Observer>(&mut self, scene: &mut Scene<'_, O>) {
        let Some(walk) = &mut self.walk else { return };
        let Some((stripe, errand)) = &walk.errand else { return };
        let now = scene.engine.now();
        if let Some(pause) = self.pace.wait(now, scene.engine.machine().load().backlog > 0) {
            self.due = Some(now + pause.min(LOOK_EVERY));
            return;
        }
        let at = scene.stock.all()[*stripe].clone();
        let next = errand.next(&self.watch, at.fragments(), &at.nodes, &mut walk.walked);
        let Some(what) = next else {
            walk.errand = None;
            return;
        };
        let hop = Hop { what, written: at.written, stage: Stage::Reading };
        match fetch(scene, &at.nodes, what.index) {
            Some(took) => {
                walk.hop = Some(hop);
                self.due = Some(now + took);
            }
            None => self.failed(scene, what.index),
        }
    }

    fn failed<O: Observer>(&mut self, scene: &mut Scene<'_, O>, index: u8) {
        let Some(walk) = &mut self.walk else { return };
        walk.hop = None;
        scene.course.failed += 1;
        if let Some((_, errand)) = &mut walk.errand {
            errand.failed(index, &mut walk.walked);
        }
    }

    /// The fragment's next stage; false while it is waited for.
    fn hop_on<O: Observer>(&mut self, scene: &mut Scene<'_, O>) -> bool {
        let Some(Walk { hop: Some(hop), errand: Some((stripe, _)), .. }) = &mut self.walk else {
            return true;
        };
        let (FragmentMove { index, to, .. }, now) = (hop.what, scene.engine.now());
        match hop.stage {
            Stage::Reading => {
                hop.stage = Stage::Storing(store(scene, *stripe, hop.what));
                false
            }
            Stage::Storing(request) => {
                let stored = &mut scene.engine.observer.stored;
                let Some(at) = stored.iter().position(|stored| stored.request == request) else {
                    return false;
                };
                let is_there = stored.swap_remove(at).nodes.last() == Some(&Some(to));
                let looks = LOOKED_AT.map(|bytes| scene.aside(to, bytes));
                match looks.into_iter().sum::<Option<Duration>>().filter(|_| is_there) {
                    Some(took) => {
                        hop.stage = Stage::Looking;
                        self.due = Some(now + took);
                    }
                    None => self.failed(scene, index),
                }
                true
            }
            Stage::Looking => {
                self.arrive(scene);
                true
            }
        }
    }

    /// The copy becomes the fragment, unless the stripe was written meanwhile.
    fn arrive<O: Observer>(&mut self, scene: &mut Scene<'_, O>) {
        let Some(Walk { hop, errand, walked, .. }) = &mut self.walk else { return };
        let (Some(hop), Some((stripe, _))) = (hop.take(), errand.as_ref()) else { return };
        let FragmentMove { index, to, is_last } = hop.what;
        let now = scene.engine.now();
        let stripe = scene.stock.stripe_mut(*stripe);
        if stripe.written != hop.written {
            walked.left += 1;
            scene.course.failed += 1;
            *errand = None;
            return;
        }
        let place = &mut stripe.nodes[usize::from(index)];
        let from = place.replace(to.0).map(NodeId);
        let bytes = scene.fragment_bytes.into();
        self.pace.moved(now, bytes);
        walked.moved += 1;
        self.left = self.left.saturating_sub(1);
        scene.course.moved(MovedFragment { at: now, from, to }, bytes);
        if is_last {
            *errand = None;
        }
    }
}

/// How long it takes to have a fragment: to read it, or, where that cannot be, K others one after
/// the other. `None` if those cannot be read either.
fn fetch<O: Observer>(
    scene: &mut Scene<'_, O>,
    nodes: &[Option<u16>],
    index: u8,
) -> Option<Duration> {
    let bytes = scene.fragment_bytes.into();
    let own = nodes[usize::from(index)].map(NodeId);
    if let Some(took) = own.and_then(|node| scene.aside(node, bytes)) {
        return Some(took);
    }
    let (mut took, mut found) = (Duration::ZERO, 0);
    for (at, node) in nodes.iter().enumerate() {
        let other = node.filter(|_| at != usize::from(index) && found < scene.k);
        if let Some(one) = other.and_then(|node| scene.aside(NodeId(node), bytes)) {
            took += one;
            found += 1;
        }
    }
    (found == scene.k).then_some(took)
}

/// Has a fragment stored, behind everything else.
fn store<O: Observer>(scene: &mut Scene<'_, O>, stripe: usize, what: FragmentMove) -> RequestId {
    let request = scene.engine.next_request();
    scene.engine.observer.await_stored(request, Awaited::Move);
    let taken = scene.stock.all()[stripe].places().into_iter().flatten().collect();
    let operation = RequestSpec::Mend { fragment: what.index, node: Some(what.to), taken };
    let (at, tenant, luck) = (scene.engine.now(), TenantId::ANYBODY, scene.next_luck());
    scene.engine.submit(Arrival { at, tenant, operation, strip_bytes: scene.fragment_bytes, luck })
}
