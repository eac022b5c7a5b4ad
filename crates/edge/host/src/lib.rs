//! What a gateway takes from what it runs on: two clocks, dice, tasks and threads.
//!
//! Everything in `crates/edge` that reads a clock, throws dice, or has something done beside it
//! asks here, so that a whole gateway can be played again from a seed. In production each of these
//! functions is the system's own, behind one load of a counter that is 0. In a rehearsal (feature
//! `seeded`) the caller's `Host` answers: its clock moves only while every task waits, its wall
//! clock can jump, its dice are its seed's, and what it has done beside it is done on the one
//! thread there is, in one order.
//!
//! The steady clock ([`now`]) and the wall clock ([`wall`]) are apart: durations and deadlines are
//! the steady clock's, what is stored or shown to people is the wall clock's, and no code may take
//! the difference of two readings of the wall clock for a duration. Timers are `tokio::time`'s,
//! which follow the steady clock in both cases.

mod clock;
mod dice;
mod rehearsal;
#[cfg(feature = "seeded")]
mod seeded;
mod spawn;

pub use clock::{TIMER_STEP, now, since, since_1970, unix_ms, wall};
pub use dice::{fill, random_u64};
#[cfg(feature = "seeded")]
pub use seeded::{Host, rehearse};
pub use spawn::{Carried, carried, has_threads, spawn, spawn_blocking, thread};
