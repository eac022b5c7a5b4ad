//! How a pool plans itself, a clock and a rehearsal apart: when it plans, what it measures, which
//! plan it begins from, and which it goes over to.

mod attendance;
mod measurement;
mod observed;
mod replanning;
mod subject;

pub use attendance::Attendance;
pub use measurement::{DELAYS, Measurement, measure};
pub use observed::{Observed, ObservedError, needed_reads, quantiles};
pub use replanning::{Replanned, Replanning, ReplanningError, STRIPES_IF_NONE};
pub use subject::{AutoPlan, PlanSubject, PlannedNode, site_numbers};
