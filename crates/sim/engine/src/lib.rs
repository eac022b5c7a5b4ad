//! Drives the decision machine under virtual time: the sibling of the gateway's live driver.
//!
//! An [`Engine`] hands requests to a [`Machine`](ripstop_gateway::Machine), carries out its actions
//! in a [`World`](ripstop_world::World), and tells it what became of them, in the order of virtual
//! time. It makes no decision of its own and keeps no statistics: an [`Observer`] sees every
//! report, as the live gateway's metrics do. Equal arrivals, worlds and machines give equal runs.
//!
//! ```
//! use ripstop_delay::Preset;
//! use ripstop_engine::{Arrival, Engine, Observer};
//! use ripstop_gateway::{Machine, NodeSpec, RequestSpec, Report, MachineSettings};
//! use ripstop_model::{NodeId, TenantId, Timestamp};
//! use ripstop_world::{NodeWorld, World};
//!
//! #[derive(Default)]
//! struct Count(usize);
//! impl Observer for Count {
//!     fn report(&mut self, _: Timestamp, report: &Report) {
//!         self.0 += usize::from(matches!(report, Report::Answered { done: true, .. }));
//!     }
//! }
//!
//! let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default());
//! let policy = policy.expect("it is registered");
//! let nodes = vec![NodeSpec { id: NodeId(0), lanes: 2 }];
//! let machine = Machine::new(MachineSettings::default(), nodes, policy);
//! let mut world = World::new(1);
//! world.add(NodeWorld::new(NodeId(0), Preset::S3In2013A.model()));
//! let read = || RequestSpec::ReadShared { n: 24, k: 12, node: Some(NodeId(0)) };
//! let arrivals = (0..100).map(|i| Arrival {
//!     at: Timestamp::from_nanos(i * 200_000_000),
//!     tenant: TenantId::ANYBODY,
//!     operation: read(),
//!     strip_bytes: 250_000,
//!     luck: i,
//! });
//! let mut engine = Engine::new(machine, world, Count::default());
//! engine.run(arrivals);
//! assert_eq!(engine.observer.0, 100);
//! ```

mod calendar;
mod engine;

pub use calendar::Calendar;
pub use engine::{Arrival, Engine, Observer};
