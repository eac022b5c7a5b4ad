//! How much capacity a promise takes on a trace, and how much would be taken without decomposition.
//!
//! [`Trace`] reads when requests arrived, 8 bytes a request, and refuses what would make the answer
//! wrong: times that go back, or that are coarser than the bound in question. A [`Study`] asks
//! about it: the capacities of a promise's tiers ([`Study::plans`]), those of many fractions and
//! bounds at once ([`Study::sweep`]), both beside the min–max load heuristic and first come, first
//! served. Its [report](Study::report) has figures and tables in the form of those in the paper on
//! graduated quality of service (Lu, Doshi and Varman).
//!
//! Capacity is requests a second: every request costs the same, whatever it moves. It deliberately
//! knows nothing of nodes, sizes or prices; for those, replay the log with `whatif`.
//!
//! ```
//! use ripstop_capacity::{Study, Trace, TraceOptions};
//! use std::time::Duration;
//!
//! let log = "time_ms,operation,bytes\n0,get,1\n100,get,1\n100,get,1\n200,get,1\n300.5,put,1\n";
//! let bound = Duration::from_millis(10);
//! let trace = Trace::from_reader(log.as_bytes(), &TraceOptions::default(), bound)?;
//! let study = Study::of_promise(trace.arrivals(), "0.8:10ms,1:40ms".parse()?);
//! let plan = &study.plans()[0];
//! assert_eq!(plan.tiers[0].capacity, 100);
//! assert_eq!(plan.tiers[1].capacity, 25);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod comparison;
mod curve;
mod figure;
mod report;
mod shared;
mod study;
mod table;
mod text;
mod trace;

pub use comparison::{Comparison, Distribution};
pub use shared::shared_capacity;
pub use study::{BOUNDS, FRACTIONS, Study, SweepCell};
pub use trace::{CapacityError, Trace, TraceOptions};
