//! What is known of pools and decisions depend on: names, readiness, measurements.
//!
//! A [`Roster`] hears what one pool's machine reports. It knows the pool's nodes by name
//! ([`PoolNames`]), which of them refuse fragments, what the last tasks took ([`TaskLog`], which a
//! [`TaskLogFile`] appends to a file), how the pool stands ([`PoolGauges`]) and which plan it
//! follows ([`PlanStanding`]). The assembly of a pool owns its roster; planners and readiness
//! go by it, and telemetry is lent it to show.
//!
//! It deliberately counts nothing for people to look at: that is telemetry, without which
//! everything here goes on.
//!
//! ```
//! use ripstop_model::{Code, NodeId};
//! use ripstop_roster::{PoolNames, Roster};
//!
//! let nodes = vec![(NodeId(7), "a".to_owned())];
//! let code = Code::new(1, 1).expect("1 of 1 is a code");
//! let roster = Roster::new(PoolNames { name: "main".into(), code, nodes_needed: 1, nodes });
//! assert_eq!(roster.names().node(NodeId(7)), "a");
//! assert!(roster.task_log().records().is_empty() && !roster.refuses(NodeId(7)));
//! ```

mod names;
mod refusal;
mod roster;
mod standing;
mod task_log;
mod task_log_file;

pub use names::PoolNames;
pub use roster::Roster;
pub use standing::{PlanStanding, PoolGauges};
pub use task_log::TaskLog;
pub use task_log_file::{TaskLogError, TaskLogFile, TaskLogFileSettings};
