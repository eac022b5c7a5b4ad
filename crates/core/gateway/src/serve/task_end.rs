//! What follows from the end of a task.

use super::{answer::settle_if_over, health::note_health, kind::chunk_ended, parts::Parts};
use crate::{book::FragmentState, face::TaskOutcome};
use ripstop_model::{Operation, TaskId};
use ripstop_policy::Sample;
use ripstop_scheduling::{Stage, TaskRecord, TaskSlot};

pub(crate) fn task_ended(parts: &mut Parts, id: TaskId, outcome: TaskOutcome) {
    let Parts { floor, book, exit, .. } = parts;
    let Some((task, record)) = floor.on_lane(id) else { return };
    floor.ended(book, exit, task, outcome);
    charge(parts, &record);
    teach(parts, &record, outcome);
    parts.floor.forget(task);
    match record.stage {
        Stage::Waiting | Stage::Running => {
            parts.book[record.request].close(record.fragment);
            note_health(parts, record.node, record.request, outcome);
            chunk_ended(parts, record.request, record.fragment, outcome);
        }
        Stage::Cancelled => {
            if outcome == TaskOutcome::Done {
                parts.floor.answered(record.node);
                chunk_done_late(parts, &record);
            }
        }
    }
    parts.book[record.request].task_gone();
    settle_if_over(parts, record.request);
    let Parts { floor, book, exit, .. } = parts;
    floor.start_needed(book, exit, record.node);
}

/// Charges a request for the lane time of a task, unless nobody else wanted that.
fn charge(parts: &mut Parts, record: &TaskRecord) {
    let redundancy = parts.book[record.request].redundancy();
    if !(record.extra && redundancy.is_spare()) {
        parts.line.charge(record.request, parts.exit.now() - record.started);
    }
}

/// Lets the policy learn from a task that was on a lane.
fn teach(parts: &mut Parts, record: &TaskRecord, outcome: TaskOutcome) {
    let Parts { floor, book, policy, exit, .. } = parts;
    let served = floor.note_pace(exit, record, outcome);
    let finished = match outcome {
        TaskOutcome::Done => true,
        TaskOutcome::Cancelled => false,
        TaskOutcome::Missing
        | TaskOutcome::Damaged
        | TaskOutcome::Unavailable
        | TaskOutcome::Refused => return,
    };
    let entry = &book[record.request];
    let sample = Sample {
        operation: if entry.is_write() { Operation::Write } else { Operation::Read },
        node: floor.node(record.node).id(),
        bytes: u64::from(entry.chunk_bytes()),
        served,
        finished,
    };
    policy.learn(exit.now(), &sample);
    if !finished {
        policy.learn_stopping(exit.now() - (record.started + served));
    }
}

/// A task was too long on its lane: its request does without it, the lane waits for its end.
pub(crate) fn task_timed_out(parts: &mut Parts, task: TaskSlot) {
    let Parts { floor, book, exit, .. } = parts;
    floor.stop(book, exit, task);
    let record = *floor.task(task);
    book[record.request].close(record.fragment);
    note_health(parts, record.node, record.request, TaskOutcome::Unavailable);
    chunk_ended(parts, record.request, record.fragment, TaskOutcome::Unavailable);
}

/// A cancelled task was done all the same: what it fetched or stored counts if nothing else did so
/// meanwhile.
fn chunk_done_late(parts: &mut Parts, record: &TaskRecord) {
    let Parts { floor, book, exit, .. } = parts;
    let (request, fragment) = (record.request, record.fragment);
    let entry = &book[request];
    let state = entry.fragment(fragment).state();
    if state == FragmentState::Done || (!entry.is_write() && entry.is_decided()) {
        return;
    }
    if state == FragmentState::Open {
        floor.cancel(book, exit, request, fragment);
    }
    book[request].move_to(fragment, record.node);
    chunk_ended(parts, request, fragment, TaskOutcome::Done);
}
