//! Plans: measured, proposed, rehearsed, followed.
//!
//! A [`Replanner`] plans one pool of a gateway that runs: it measures nodes from the pool's task
//! log, rehearses candidates in the simulator (`ripstop-rehearsal`), and follows what
//! `ripstop-placement` decides. A [`Proposal`] is a plan of an [`Inventory`], for people to look
//! at: what `ripstop plan` prints.
//!
//! It deliberately serves nothing, and reads no metrics: what it knows of a pool is what the
//! gateway hands it.
//!
//! ```
//! use ripstop_gateway::ReadSelection;
//! use ripstop_placement::Group;
//!
//! let group = Group { files: 3, nodes: vec![0, 2], probabilities: vec![0.25, 0.75] };
//! let names = ["a", "b", "c"].map(String::from);
//! let file = ripstop_planner::file_of("cold", ReadSelection::LeastWork, &names, 1, &[group]);
//! assert_eq!(file.group[0].nodes, ["a", "c"]);
//! ```

mod groups;
mod moments;
mod plan;
mod replan;
mod task_log;

pub use groups::file_of;
pub use plan::{Asked, Inventory, Proposal, SeenNode, SeenPool};
pub use replan::Replanner;
pub use task_log::read_log;
