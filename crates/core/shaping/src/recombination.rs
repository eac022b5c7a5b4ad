//! Recombination: which flow's request a free server takes next.
//!
//! The [`Scheduler`] is the same for every discipline: a [`backlog`] that knows queues but no
//! order, and an [`order`] that is told what comes and goes. One discipline a file: [`fifo`],
//! [`split`], [`fair`], [`pclock`], [`miser`]. They choose between flows with a [`heap`], Miser
//! between requests with the [`slack`] tree.

mod any_order;
mod backlog;
mod capacity;
mod fair;
mod fifo;
mod heap;
mod miser;
mod order;
mod pclock;
mod scheduler;
mod slack;
mod split;
mod terms;

pub use capacity::{Capacity, Infeasible};
pub use scheduler::{DeclineReason, Declined, Scheduler, Served, ServedRequest, Ticket};
pub use terms::{Discipline, FlowId, Reservation, Terms};
