//! Nodes that exist only on paper: how long their tasks take, when they are slow or away, and what
//! a cancellation costs.
//!
//! A [`World`] answers what a driver would learn from real storage. It decides nothing: who is
//! asked for what, and when, is the machine's business. All luck comes from seeded streams, one for
//! each node, so equal seeds give equal worlds.
//!
//! ```
//! use ripstop_delay::Preset;
//! use ripstop_model::{NodeId, Operation, RequestId, Timestamp};
//! use ripstop_world::{NodeWorld, World};
//!
//! let mut world = World::new(7);
//! world.add(NodeWorld::new(NodeId(0), Preset::S3In2025.model()));
//! let at = Timestamp::ZERO;
//! let delay = world.delay(at, NodeId(0), (RequestId(1), 0, true), Operation::Read, 1 << 20);
//! assert!(delay.expect("the node is there").as_millis() > 10);
//! ```

mod change;
mod node_world;
mod world;

pub use change::{Change, Trouble};
pub use node_world::NodeWorld;
pub use world::World;
