//! The same reads in the simulator.

use super::site;
use ripstop_engine::{Arrival, Engine, Observer};
use ripstop_gateway::{Machine, NodeSpec, Operation, Placement, Report, Settings};
use ripstop_model::{NodeId, StripSet, TenantId, Timestamp};
use ripstop_world::{NodeWorld, World};
use std::time::Duration;

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

/// Plays the reads of stripes at these places; what they took, seconds. Nodes are as slow as `factor` says.
pub(super) fn play(
    placement: &Placement,
    places: &[Vec<Option<NodeId>>],
    settings: Settings,
    factor: impl Fn(u16) -> f64,
    times: &[Duration],
    seed: u64,
) -> Vec<f64> {
    let nodes = (0..site::NODES).map(|id| NodeSpec { id: NodeId(id), lanes: 1 }).collect();
    let policy = ripstop_policy::by_name("fixed", &ripstop_policy::Settings::default());
    let machine = Machine::new(settings, nodes, policy.expect("it is registered"));
    let mut world = World::new(seed);
    world.paired = false;
    for id in 0..site::NODES {
        world.add(NodeWorld::new(NodeId(id), Box::new(site::delay(factor(id)))));
    }
    let mut engine = Engine::new(machine, world, Times::default());
    engine.place(placement.clone());
    let k = site::K as u8;
    engine.run(times.iter().enumerate().map(|(number, at)| Arrival {
        at: Timestamp::ZERO + *at,
        tenant: TenantId::ANYBODY,
        operation: Operation::Read {
            k,
            wanted: StripSet::first(usize::from(k)),
            places: places[number % places.len()].clone(),
        },
        strip_bytes: site::STRIPE_BYTES / site::K,
        luck: number as u64,
    }));
    engine.observer.0
}
