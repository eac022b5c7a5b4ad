use crate::{
    course::{PlanCourse, PlanLook, PlanVerdict},
    mover::{Mover, Scene},
    stock::Stock,
    watcher::{Awaited, Stored, Watcher},
    worth::Stage,
};
use ripstop_engine::{Arrival, Engine, Observer};
use ripstop_gateway::{
    Machine, MachineSettings, NodeState, Placement, ReadSelection, RequestSpec, Shaping,
};
use ripstop_model::{NodeId, Timestamp};
use ripstop_placement::{
    Group,
    moving::goals,
    planning::{Measurement, PlanSubject, Replanned, Replanning, ReplanningError},
};
use ripstop_policy::Policy;
use ripstop_world::World;
use std::time::Duration;

/// A pool on paper whose stripes are known one by one: it can plan itself, as a live pool does, and
/// its stripes are moved. What is asked for is any of the stripes by luck; a write is of one of
/// them again.
///
/// Counting stripes, solving, rehearsing and the catalog take no time here.
pub struct StripePool<'a> {
    /// Its nodes, which are numbered from 0, its code, and how it plans.
    pub subject: PlanSubject,
    /// Whether it does.
    pub plans: bool,
    /// The machine's.
    pub settings: MachineSettings,
    /// Its policy, fresh.
    pub policy: &'a dyn Fn() -> Box<dyn Policy>,
    /// How reads choose nodes, as it is configured.
    pub selection: ReadSelection,
    /// What tenants are promised.
    pub shaping: Option<Shaping>,
    /// The nodes of each stripe's fragments.
    pub places: &'a [Vec<Option<NodeId>>],
    /// The plan that it begins with.
    pub former: Option<Vec<Group>>,
    /// Bytes that are moved each second at most; 0: nothing is.
    pub move_rate_max: u64,
    /// How long nothing must have changed before strays are brought home.
    pub home_after: Duration,
    /// Bytes of a fragment.
    pub fragment_bytes: u32,
    /// All luck but that of the delays.
    pub seed: u64,
}

/// A pool that is being played.
struct Player<'a, O> {
    pool: &'a StripePool<'a>,
    lanes: Vec<u16>,
    engine: Engine<Watcher<O>>,
    stock: Stock,
    planning: Replanning,
    /// When it looks next whether to plan.
    look_at: Timestamp,
    /// The last is of the plan that is followed; others have a fragment under way.
    movers: Vec<Mover>,
    course: PlanCourse,
    luck: u64,
}

impl StripePool<'_> {
    /// Plays what arrives; places of reads are filled in. Gives back who watched the requests, and
    /// what planning came to.
    pub fn play<O: Observer>(
        &self,
        world: World,
        observer: O,
        arrivals: impl IntoIterator<Item = Arrival>,
    ) -> (O, PlanCourse) {
        let nodes = self.subject.nodes.iter();
        let nodes = nodes.map(|node| ripstop_gateway::NodeSpec { id: node.id, lanes: node.lanes });
        let machine = Machine::new(self.settings, nodes.collect(), (self.policy)());
        let mut engine = Engine::new(machine, world, Watcher::new(observer));
        if let Some(shaping) = &self.shaping {
            engine.shape(shaping.clone());
        }
        let planning = Replanning::new(self.subject.clone(), self.former.clone());
        let mut player = Player {
            pool: self,
            lanes: self.subject.nodes.iter().map(|node| node.lanes).collect(),
            engine,
            stock: Stock::new(self.places, self.seed),
            look_at: Timestamp::ZERO + planning.pause(),
            planning,
            movers: Vec::new(),
            course: PlanCourse::default(),
            luck: 0,
        };
        let former = player.planning.followed().map(<[Group]>::to_vec);
        player.follow(&former.unwrap_or_default());
        player.run(arrivals);
        (player.engine.observer.inner, player.course)
    }

    fn own_selection(&self) -> ReadSelection {
        if self.plans { self.selection.under_own_plan() } else { self.selection }
    }
}

impl<O: Observer> Player<'_, O> {
    fn run(&mut self, arrivals: impl IntoIterator<Item = Arrival>) {
        let mut arrivals = arrivals.into_iter();
        let mut next = arrivals.next();
        loop {
            let of_movers = self.movers.iter().filter(|mover| mover.has_request()).count();
            if next.is_none() && self.engine.machine().requests_open() <= of_movers {
                return;
            }
            let arrival = next.as_ref().map(|next| next.at);
            let look = self.pool.plans.then_some(self.look_at);
            let moves = self.movers.iter().filter_map(|mover| mover.due);
            let due = moves.chain(arrival).chain(look).min();
            let due = due.unwrap_or(Timestamp::from_nanos(u64::MAX));
            if self.engine.advance(due) {
                self.take_in();
                continue;
            }
            self.engine.pass(due);
            if look == Some(due) {
                self.look_at = due + self.planning.pause();
                self.look();
            } else if arrival != Some(due) {
                self.move_on(|mover| mover.due == Some(due));
            } else if let Some(arrival) = next.take() {
                next = arrivals.next();
                self.arrive(arrival);
            }
        }
    }

    fn arrive(&mut self, mut arrival: Arrival) {
        let stripe = self.stock.asked(arrival.luck);
        match &mut arrival.operation {
            RequestSpec::Read { places, .. } => *places = self.stock.all()[stripe].places(),
            RequestSpec::Write { .. } => {
                let request = self.engine.next_request();
                self.engine.observer.await_stored(request, Awaited::Write(stripe));
            }
            RequestSpec::ReadShared { .. }
            | RequestSpec::WriteUnique { .. }
            | RequestSpec::Mend { .. } => {}
        }
        self.engine.submit(arrival);
        self.take_in();
    }

    /// Takes in what was stored.
    fn take_in(&mut self) {
        for (node, seconds) in std::mem::take(&mut self.engine.observer.move_tasks) {
            let load = self.course.load_of(node);
            load.writes += 1;
            load.write_s += seconds;
        }
        if self.engine.observer.stored.is_empty() {
            return;
        }
        let stored = std::mem::take(&mut self.engine.observer.stored);
        let (writes, moved): (Vec<Stored>, Vec<Stored>) =
            stored.into_iter().partition(|stored| stored.by != Awaited::Move);
        let k = self.pool.subject.code.k();
        for Stored { by, nodes, .. } in writes {
            // One of which too little is stored failed, and leaves what was.
            if let Awaited::Write(stripe) = by
                && nodes.iter().flatten().count() >= k
            {
                self.stock.write(stripe, &nodes);
                self.movers.iter_mut().for_each(|mover| mover.written(&self.stock, stripe));
            }
        }
        if !moved.is_empty() {
            self.engine.observer.stored = moved;
            self.move_on(Mover::has_request);
        }
    }

    /// Has movers go on.
    fn move_on(&mut self, who: impl Fn(&Mover) -> bool) {
        let mut scene = Scene {
            engine: &mut self.engine,
            stock: &mut self.stock,
            course: &mut self.course,
            k: self.pool.subject.code.k(),
            fragment_bytes: self.pool.fragment_bytes,
            luck: &mut self.luck,
        };
        for mover in self.movers.iter_mut().filter(|mover| who(mover)) {
            mover.go_on(&mut scene);
        }
        self.movers.retain(|mover| !mover.is_over());
    }

    /// Looks at nodes, and plans if it is time to.
    fn look(&mut self) {
        let nodes = self.engine.machine().nodes();
        let up = nodes.map(|node| (node.id, node.state == NodeState::Up)).collect();
        if !self.planning.look(up) {
            return;
        }
        let records = self.engine.observer.log.iter().copied().collect();
        let is_moving = self.movers.iter().any(|mover| mover.is_wanted && mover.left > 0);
        let (settings, policy) = (self.pool.settings, self.pool.policy);
        let selection = self.pool.own_selection();
        let stage = Stage { settings, policy, lanes: &self.lanes, selection };
        let value = |measured: &_, plan: &_| stage.value(measured, plan);
        let replanned = self.planning.plan(records, &self.stock.census(), is_moving, value);
        let look = noted(self.engine.now(), replanned);
        if let PlanVerdict::Followed { groups, .. } = &look.verdict {
            let groups = groups.clone();
            self.follow(&groups);
        }
        self.course.looks.push(look);
    }

    /// Has stripes go, and be brought, to these groups.
    fn follow(&mut self, groups: &[Group]) {
        let placement = Placement::of(groups, self.pool.own_selection(), NodeId);
        let pairs = placement.groups.iter().map(|group| (group.weight, &*group.nodes));
        let known = self.pool.subject.nodes.len();
        let goals = goals(pairs, |id| usize::from(id.0) < known);
        self.engine.place(placement);
        self.movers.iter_mut().for_each(|mover| mover.is_wanted = false);
        self.movers.retain(|mover| !mover.is_over());
        let (now, rate) = (self.engine.now(), self.pool.move_rate_max);
        if rate > 0 && !goals.is_empty() {
            self.movers.push(Mover::new(now, goals, rate, self.pool.home_after));
        }
    }
}

/// What is kept of a decision.
fn noted(at: Timestamp, replanned: Result<Replanned, ReplanningError>) -> PlanLook {
    let changed = |measured: &Measurement| {
        let mean = |node: u16| {
            let delays = &measured.delays[usize::from(node)];
            delays.iter().sum::<f64>() / delays.len() as f64
        };
        measured.changed.iter().map(|&(node, since)| (node, since, mean(node))).collect()
    };
    let (changed, verdict) = match replanned {
        Err(error) => (Vec::new(), PlanVerdict::Failed(error.to_string())),
        Ok(Replanned::Unknown) => (Vec::new(), PlanVerdict::Unknown),
        Ok(Replanned::Kept { measured, saved }) => {
            (changed(&measured), PlanVerdict::Kept { saved })
        }
        Ok(Replanned::Followed { measured, mut plan }) => {
            let (bound_s, moved) = (plan.latency, plan.moved_part());
            let groups = plan.classes.swap_remove(0);
            (changed(&measured), PlanVerdict::Followed { groups, bound_s, moved })
        }
    };
    PlanLook { at, changed, verdict }
}
