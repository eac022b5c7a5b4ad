//! Bringing what is stored to where a plan wants it: which stripe goes to which group, and when a
//! mover walks through them. Who copies, and who counts, is not said here.

mod assignment;
mod transport;
mod watch;

pub use assignment::{Assignment, Goal, SPOTS_MAX, Spot, Tally, goals};
pub use watch::{Walked, Watch};
