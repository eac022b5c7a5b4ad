//! Reads of a pool's stripes under a plan, in the simulator: the machine that would serve them,
//! without the wait.

use ripstop_delay::{DelayModel, Dice};
use ripstop_engine::{Arrival, Engine, Observer};
use ripstop_gateway::{Machine, MachineSettings, NodeSpec, Placement, Report, RequestSpec};
use ripstop_model::{NodeId, StripSet, TenantId, Timestamp};
use ripstop_placement::Group;
use ripstop_policy::Policy;
use ripstop_world::{NodeWorld, World};
use std::time::Duration;

/// Where reads are rehearsed.
pub struct Rehearsal<'a> {
    /// The machine's.
    pub settings: MachineSettings,
    /// A fresh one.
    pub policy: &'a dyn Fn() -> Box<dyn Policy>,
    /// The lanes of each node; their numbers are 0 and on.
    pub lanes: &'a [u16],
    /// How long a node takes.
    pub delay: &'a dyn Fn(u16) -> Box<dyn DelayModel>,
    /// Chunks that suffice.
    pub k: u8,
    /// Bytes of a chunk.
    pub strip_bytes: u32,
    /// All luck of the delays.
    pub seed: u64,
}

/// How long answered reads took.
#[derive(Default)]
struct Times(Vec<f64>);

impl Observer for Times {
    fn report(&mut self, _: Timestamp, report: &Report) {
        if let Report::Answered { took, done: true, .. } = report {
            self.0.push(took.as_secs_f64());
        }
    }
}

impl Rehearsal<'_> {
    /// What reads that come at these times take, seconds: of the stripes whose fragments are at
    /// these places, by turns.
    pub fn play(
        &self,
        placement: &Placement,
        places: &[Vec<Option<NodeId>>],
        times: &[Duration],
    ) -> Vec<f64> {
        let ids = (0..).map(NodeId);
        let nodes = ids.clone().zip(self.lanes).map(|(id, &lanes)| NodeSpec { id, lanes });
        let machine = Machine::new(self.settings, nodes.collect(), (self.policy)());
        let mut world = World::new(self.seed);
        world.paired = false;
        for (id, _) in ids.zip(self.lanes) {
            world.add(NodeWorld::new(id, (self.delay)(id.0)));
        }
        let mut engine = Engine::new(machine, world, Times::default());
        engine.place(placement.clone());
        engine.run(times.iter().enumerate().map(|(number, at)| Arrival {
            at: Timestamp::ZERO + *at,
            tenant: TenantId::ANYBODY,
            operation: RequestSpec::Read {
                k: self.k,
                wanted: StripSet::first(usize::from(self.k)),
                places: places[number % places.len()].clone(),
            },
            strip_bytes: self.strip_bytes,
            luck: number as u64,
        }));
        engine.observer.0
    }
}

/// The nodes of `count` stripes, each any of the groups' files by luck; none if they have none.
pub fn places(groups: &[Group], count: usize, seed: u64) -> Vec<Vec<Option<NodeId>>> {
    let mut ends = Vec::with_capacity(groups.len());
    let mut files = 0;
    for group in groups {
        files += group.files;
        ends.push(files);
    }
    if files == 0 {
        return Vec::new();
    }
    let mut dice = Dice::new(seed);
    let mut place = || {
        let file = dice.next_u64() % files;
        let group = &groups[ends.partition_point(|&end| end <= file)];
        group.nodes.iter().map(|&node| Some(NodeId(node))).collect()
    };
    (0..count).map(|_| place()).collect()
}

/// When reads come that are independent of one another, `rate` a second; without an end.
pub fn arrivals(rate: f64, seed: u64) -> impl Iterator<Item = Duration> {
    let mut dice = Dice::new(seed);
    let mut at = 0.0;
    std::iter::repeat_with(move || {
        at += dice.exponential() / rate;
        Duration::try_from_secs_f64(at).unwrap_or(Duration::MAX)
    })
}
