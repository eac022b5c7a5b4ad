//! Bringing what is stored to where a plan wants it: which stripe goes to which group, and when a
//! mover walks through them. Who copies, and who counts, is not said here.

mod assignment;
mod census;
mod errand;
mod pace;
mod transport;
mod watch;

pub use assignment::{Assignment, Goal, SPOTS_MAX, Spot, Tally, goals, is_stray};
pub use census::{Census, CensusCount};
pub use errand::{Errand, FragmentMove};
pub use pace::{HOME_AFTER, MOVE_RATE_MAX, MovePace};
pub use watch::{LOOK_EVERY, StrayWatch, Walked};
