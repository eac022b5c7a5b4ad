//! The machine in the middle: events in, actions out.
#![no_std]
extern crate alloc;

mod action;
mod event;

pub use action::{Action, Cause, Report, Task};
pub use event::{Event, NodeState, Operation, Outcome, Request};
