//! The drill: a whole gateway from one seed.
//!
//! A [`Plan`] is drawn from a number: a pool, nodes that lie, stall and lose power, clients that
//! ask over S3, clocks that jump, gateways that are killed at any step and follow one another.
//! [`play`] plays it: what serves is the assembly that ships, on one thread, under a clock that
//! only waiting moves, over nodes and a catalog's disk in memory. All that happens is summed up in
//! one number, which is the same whenever the same plan is played. [`shrink()`] leaves out of a
//! plan that fails what it fails without.
//!
//! What must hold: what clients were told of a key can be explained by one order of what they
//! asked for; bytes are those that were stored; listings have every key and no other; after a
//! while of quiet nothing is lost, nobody's or held, and a rebuild finds what the catalog holds.
//!
//! It deliberately plays no folders, buckets of others, TLS or memcached: those take threads or
//! the network.
//!
//! ```
//! use ripstop_drill::{Less, Plan, Wanted, play};
//!
//! let little = Less { sessions: Some(1), operations: Some(2), ..Less::default() };
//! let plan = Plan::draw(1).less(&little);
//! let (one, again) = (play(&plan, Wanted::default()), play(&plan, Wanted::default()));
//! assert_eq!((one.failure, one.hash), (None, again.hash));
//! ```

mod actor;
mod again;
mod age;
mod ask;
mod choice;
mod classes;
mod client;
mod customer;
mod database;
mod disk;
mod door;
mod fleet;
mod held;
mod history;
mod life;
mod link;
mod lock;
mod locked;
mod manner;
mod node;
mod order;
mod panics;
mod plan;
mod public;
mod quiet;
mod reads;
mod run;
mod session;
mod shrink;
mod taste;
mod tempo;
mod together;
mod trace;
mod trouble;
mod watch;
mod wire;
mod world;
mod writes;

pub use fleet::Fleet;
pub use plan::{End, Fault, Kill, Less, Plan, Session};
pub use run::{Played, Wanted, play};
pub use shrink::shrink;
pub use taste::{Kind, Sizes, Taste};
pub use tempo::Tempo;
pub use trouble::Trouble;
