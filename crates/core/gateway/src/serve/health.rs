//! When a node is taken out of service, and what that means for those that wait for it.

use super::{
    answer::{answer, settle_if_over},
    kind::{chunk_ended, impossible},
    parts::Parts,
};
use crate::{
    book::Timer,
    face::{Action, Report, TaskOutcome},
    line::Queue,
};
use ripstop_model::NodeId;
use ripstop_scheduling::{NodeIndex, NodeSpec, RequestSlot};

/// What the end of a task says of its node.
pub(super) fn note_health(
    parts: &mut Parts,
    node: NodeIndex,
    request: RequestSlot,
    outcome: TaskOutcome,
) {
    let Parts { floor, book, exit, settings, .. } = parts;
    match outcome {
        TaskOutcome::Done | TaskOutcome::Missing | TaskOutcome::Damaged => floor.answered(node),
        TaskOutcome::Refused => {
            floor.answered(node);
            if book[request].is_write() {
                floor.refused(node, exit.now() + settings.probe_every);
            }
        }
        TaskOutcome::Unavailable => {
            if floor.failed(node) {
                take_down(parts, node);
            }
        }
        TaskOutcome::Cancelled => {}
    }
}

/// A node was found able to serve.
pub(crate) fn node_up(parts: &mut Parts, id: NodeId) {
    let Parts { floor, book, exit, .. } = parts;
    if let Some(node) = floor.find(id)
        && floor.set_up(node, true)
    {
        book.timers_mut().stop(Timer::Probe(node));
        exit.report(Report::Node { node: id, up: true });
    }
}

/// From now on these nodes serve this many tasks at once.
pub(crate) fn lanes_changed(parts: &mut Parts, nodes: &[NodeSpec]) {
    let Parts { floor, book, exit, line, .. } = parts;
    for spec in nodes {
        if let Some(node) = floor.find(spec.id) {
            floor.set_lanes(book, exit, node, spec.lanes);
        }
    }
    line.set_lanes(exit.now(), floor.lanes());
}

/// A node was found unable to serve.
pub(crate) fn node_down(parts: &mut Parts, id: NodeId) {
    if let Some(node) = parts.floor.find(id) {
        take_down(parts, node);
    }
}

/// Takes a node out of service. Its running tasks go on; those that wait for it fail.
fn take_down(parts: &mut Parts, node: NodeIndex) {
    let Parts { floor, book, exit, .. } = parts;
    if !floor.set_up(node, false) {
        return;
    }
    book.timers_mut().start(exit.now(), Timer::Probe(node));
    exit.report(Report::Node { node: floor.node(node).id(), up: false });
    while let Some(task) = parts.floor.first_waiting(node) {
        let Parts { floor, book, exit, .. } = parts;
        let record = floor.strand(book, exit, task);
        book[record.request].close(record.fragment);
        chunk_ended(parts, record.request, record.fragment, TaskOutcome::Unavailable);
        parts.book[record.request].task_gone();
        settle_if_over(parts, record.request);
    }
    fail_impossible(parts);
}

/// Fails the waiting requests that a node's loss has made impossible.
fn fail_impossible(parts: &mut Parts) {
    for queue in [Queue::Requests, Queue::Mends] {
        let mut next = parts.line.front(queue);
        while let Some(slot) = next {
            next = parts.line.after(queue, slot);
            fail_if_impossible(parts, slot);
        }
    }
    for slot in parts.line.awaiting_their_turn() {
        fail_if_impossible(parts, slot);
    }
}

fn fail_if_impossible(parts: &mut Parts, slot: RequestSlot) {
    if let Some(cause) = impossible(parts, slot) {
        answer(parts, slot, Err(cause));
    }
}

/// Asks a node that is down how it is, and will again.
pub(crate) fn probe(parts: &mut Parts, node: NodeIndex) {
    let Parts { floor, book, exit, .. } = parts;
    book.timers_mut().start(exit.now(), Timer::Probe(node));
    exit.say(Action::Probe(floor.node(node).id()));
}
