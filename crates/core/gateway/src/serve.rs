//! What is done for requests: how each kind starts, what follows from the end of each task, and
//! when it is answered.
//!
//! `dispatch` lets waiting requests start and `task_end` says what follows from a task's end; both
//! ask `kind`, which knows whether to go to `read` and `shared`, `write`, or `mend`. All of those
//! end in `answer`. Nothing here keeps state: it belongs to the parts, which do not know of one
//! another's.

mod answer;
mod arrival;
mod dispatch;
mod draft;
mod health;
mod hedge;
mod kind;
mod mend;
mod parts;
mod read;
mod read_end;
mod shared;
mod start;
mod task_end;
mod write;
mod write_end;

pub(crate) use answer::{abandoned, timed_out};
pub(crate) use arrival::{arrived, encoded};
pub(crate) use dispatch::{dispatch, preempt};
pub(crate) use health::{lanes_changed, node_down, node_up, probe};
pub(crate) use hedge::read_is_hedged;
pub(crate) use parts::Parts;
pub(crate) use read_end::{decoded, read_is_late};
pub(crate) use task_end::{task_ended, task_timed_out};
pub(crate) use write_end::write_waited;
