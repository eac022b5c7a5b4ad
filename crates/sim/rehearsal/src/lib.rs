//! Plans rehearsed in the simulator, and pools on paper that plan themselves.
//!
//! A [`Rehearsal`] plays reads of stripes under one plan; a [`Stage`] says by it what a plan is
//! worth to a pool whose nodes were measured: what a live planner asks before it follows one. A
//! [`StripePool`] plans itself in virtual time: it is measured, renews its plan and moves stripes
//! by the code that does so live, and a [`PlanCourse`] says what came of it.
//!
//! It deliberately proposes no plan, chooses none, and says of no stripe where it goes:
//! `ripstop-placement` does.
//!
//! ```
//! let times: Vec<_> = ripstop_rehearsal::arrivals(10.0, 1).take(100).collect();
//! assert!(times.is_sorted());
//! ```

mod course;
mod mover;
mod pool;
mod rehearsal;
mod stock;
mod watcher;
mod worth;

pub use course::{MOVES_KEPT_MAX, MoveLoad, MovedFragment, PlanCourse, PlanLook, PlanVerdict};
pub use pool::StripePool;
pub use rehearsal::{Rehearsal, arrivals, places};
pub use worth::Stage;
