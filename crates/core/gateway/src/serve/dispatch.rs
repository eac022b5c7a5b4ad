//! The rule by which requests leave the queue.
//!
//! TOFEC's head of line leaves when a lane is idle and the task queue is empty. With lanes that
//! belong to nodes, a node is *ready* when it is up, has an idle lane and no needed task waits for
//! it, and a request leaves when enough of the nodes it can use are ready to begin on all at once:
//!
//! * a read that needs a full set: K nodes that hold fragments of its stripe, whichever (so it does
//!   without a stalled node); a read that wants fewer strips: the nodes that hold those;
//! * a write: K + f nodes, or as many as are up;
//! * a mend: its one node.
//!
//! Waiting for several lanes at once leaves lanes idle, so it is bounded: a request that has waited
//! for the set `patience` leaves as soon as *one* of its nodes is ready, and its other tasks wait
//! in their nodes' queues (a range read then reads around busy nodes if K others are ready). That
//! is TOFEC's own rule again, keeps every lane busy under load, and bounds what a slow node can
//! hold up.
//!
//! Order is first in, first out, with one exception that costs nobody anything: behind a request
//! that has to wait, others may start on nodes which no earlier waiting request can use (nodes are
//! *reserved*, look by look). So nobody is overtaken at a node that it waits for.
//!
//! No deadlock: a request waits for lanes, lanes wait for the end of tasks, tasks wait for nothing
//! but their node, and are cancelled when `task_timeout` is over; `request_timeout` ends a wait for
//! nodes whose lanes never come free.

use super::{kind::attempt, parts::Parts, start::Found};
use crate::{
    book::Timer,
    floor::Need,
    line::{LOOKAHEAD_MAX, Queue},
};

/// Starts all that can start.
pub(crate) fn dispatch(parts: &mut Parts) {
    parts.book.timers_mut().stop(Timer::Patience);
    parts.line.take_turns(parts.exit.now());
    while !parts.line.is_empty(Queue::Requests) {
        look_at(parts, Queue::Requests);
        if !parts.line.take_turns(parts.exit.now()) {
            break;
        }
    }
    if parts.line.is_empty(Queue::Requests) {
        let Parts { floor, book, exit, .. } = parts;
        floor.start_low(book, exit);
        if !parts.line.is_empty(Queue::Mends) {
            look_at(parts, Queue::Mends);
        }
    }
}

/// Looks at a queue once from its head.
fn look_at(parts: &mut Parts, queue: Queue) {
    let look = parts.floor.next_look();
    let (mut next, mut waits, mut reserved) = (parts.line.front(queue), 0, 0);
    while let Some(slot) = next
        && waits < LOOKAHEAD_MAX
        && parts.floor.totals().nodes_ready > reserved
    {
        next = parts.line.after(queue, slot);
        match attempt(parts, slot, look) {
            Found::Left => {}
            Found::Waits { withdrawn } => {
                waits += 1;
                reserved += withdrawn;
                let ends = parts.line.patience_ends(parts.book[slot].queued());
                // A mend has no patience to lose: one node is all that it ever wants.
                if queue == Queue::Requests && ends > parts.exit.now() {
                    parts.book.timers_mut().start(ends, Timer::Patience);
                }
            }
        }
    }
}

/// Takes lanes from dispensable tasks, for what still waits after everything that could start did.
pub(crate) fn preempt(parts: &mut Parts) {
    let Parts { floor, book, line, chooser, exit, settings, .. } = parts;
    if !floor.may_preempt() {
        return;
    }
    let need = Need { answer_extra: usize::from(settings.answer_extra), turn: chooser.turn() };
    floor.preempt(book, exit, line.ahead(), &need);
}
