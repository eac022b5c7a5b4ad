//! Plans: measured, proposed, rehearsed, followed.
//!
//! A [`Replanner`] plans one pool of a gateway that runs: it measures nodes from the pool's task
//! log, has candidates from the planner of `ripstop-placement`, rehearses each in the simulator
//! ([`Rehearsal`]), and follows one that is better by enough. A [`Proposal`] is a plan of an
//! [`Inventory`], for people to look at: what `ripstop plan` prints.
//!
//! It deliberately serves nothing, and reads no metrics: what it knows of a pool is what the
//! gateway hands it.
//!
//! ```
//! use ripstop_planner::arrivals;
//! let times: Vec<_> = arrivals(10.0, 1).take(100).collect();
//! assert!(times.is_sorted());
//! ```

mod groups;
mod moments;
mod plan;
mod rehearsal;
mod replan;
mod task_log;

pub use groups::{file_of, placement};
pub use plan::{Asked, Inventory, Proposal, SeenNode, SeenPool};
pub use rehearsal::{Rehearsal, places, times as arrivals};
pub use replan::Replanner;
pub use task_log::read_log;
