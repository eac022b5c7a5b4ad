//! Promises kept apart: which requests can meet a bound, and how much capacity a promise takes.
//!
//! A [`Promise`] is a list of tiers: of all requests, at least this fraction within this bound.
//! Bursts make it dear: the last few percent of requests take several times the capacity of all
//! others. So each tier has a capacity of its own, and takes those requests that it can serve
//! within its bound; the others go on to the next (after Lu, Doshi and Varman, graduated quality of
//! service by decomposition into two tiers; any number of them here).
//!
//! * [`Cascade`]: decides that for a request at its arrival, live, by one of three [`Rule`]s.
//! * [`CapacityPlan`]: the capacities that a promise takes on a trace.
//! * [`capacities`]: the same for one tier, and many fractions and bounds at once.
//! * [`Scheduler`]: which class a free server serves next, by one of five [`Discipline`]s.
//! * [`MemoryPart`], [`memory_shares`]: how memory is divided among purposes and tenants.
//! * [`MinMaxLoad`], [`responses`]: what others do instead: capped windows, and first come, first
//!   served.
//!
//! Work is counted in units that the caller chooses: requests in planning, nanoseconds of a lane in
//! a gateway; capacity is units of work a second. All of it is computed in whole numbers: no result
//! depends on how a number was rounded.
//!
//! It deliberately knows nothing of what requests are, serves none, and reads no clock.
//!
//! ```
//! use core::time::Duration;
//! use ripstop_model::Timestamp;
//! use ripstop_shaping::{Arrivals, Question, Rule, admitted, capacities};
//!
//! // A request every 10 ms, and ten at once at the end.
//! let times = (0..100u64).map(|at| Timestamp::from_nanos(at.min(90) * 10_000_000));
//! let times = times.collect::<Vec<_>>();
//! let arrivals = Arrivals::new(&times)?;
//! let (rule, bound) = (Rule::Exact, Duration::from_millis(10));
//! let all = Question { rule, bound, need: 100 };
//! let most = Question { rule, bound, need: 91 };
//! assert_eq!(capacities(arrivals, &[all, most]), [1000, 100]);
//! assert_eq!(admitted(arrivals, rule, bound, 999), 99);
//! # Ok::<(), ripstop_shaping::DisorderError>(())
//! ```
#![no_std]
extern crate alloc;

mod arrivals;
mod backlog;
mod cascade;
mod division;
mod fcfs;
mod kernel;
mod memory;
mod min_max;
mod plan;
mod promise;
mod recombination;
mod rule;
mod search;

pub use arrivals::{Arrivals, DisorderError};
pub use cascade::{Admission, Admitted, Cascade, CascadeError, TierShare};
pub use division::{divide, is_steady, may_take};
pub use fcfs::{responses, undecomposed_capacity};
pub use memory::{MemoryPart, memory_beside_strips, memory_of_strips, memory_shares};
pub use min_max::{MinMaxLoad, window_counts};
pub use plan::{CapacityPlan, TierPlan};
pub use promise::{Bound, Fraction, Promise, PromiseError, TIERS_MAX, Tier};
pub use recombination::{
    Capacity, DeclineReason, Declined, Discipline, FlowId, Infeasible, Reservation, Scheduler,
    Served, ServedRequest, Terms, Ticket,
};
pub use rule::{Rule, RuleError};
pub use search::{Question, Search, admitted, capacities};
