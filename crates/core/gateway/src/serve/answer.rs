//! The one answer of a request, what becomes of its tasks then, and its settlement.

use super::parts::Parts;
use crate::{
    book::{Book, FragmentState, Progress, Work},
    face::{Action, AfterAnswer, Cause, Exit, Report},
    floor::Floor,
    line::Queue,
};
use alloc::vec::Vec;
use ripstop_model::RequestId;
use ripstop_scheduling::{FragmentIndex, RequestSlot};

/// The queue in which a request waits.
#[inline]
pub(super) fn queue(book: &Book, slot: RequestSlot) -> Queue {
    if book[slot].is_mend() { Queue::Mends } else { Queue::Requests }
}

/// Answers a request, once; what is left of it is cancelled or, for a write that was done, treated
/// as set.
pub(crate) fn answer(parts: &mut Parts, slot: RequestSlot, result: Result<(), Cause>) {
    let Parts { book, line, exit, .. } = parts;
    let (now, done) = (exit.now(), result.is_ok());
    line.answered(now, queue(book, slot), slot, done);
    let former = book.advance(slot, Progress::Answered { done });
    assert!(!former.is_answered(), "a request is answered once");
    book.timers_mut().stop_all(slot);
    let entry = &book[slot];
    let id = entry.id();
    exit.say(match result {
        Ok(()) => Action::Complete(id),
        Err(cause) => Action::Fail(id, cause),
    });
    exit.report(Report::Answered {
        request: id,
        tenant: entry.tenant(),
        tier: line.tier(slot),
        write: entry.is_write(),
        took: now - entry.arrived(),
        done,
    });
    match entry.work() {
        Work::Write(_) if done => after_answer(parts, slot),
        Work::Read(_) | Work::Write(_) | Work::Mend(_) => cancel_open(parts, slot),
    }
    settle_if_over(parts, slot);
}

/// What is left of a write that was done goes on, waits behind others, or ends.
fn after_answer(parts: &mut Parts, slot: RequestSlot) {
    match parts.settings.after_answer {
        AfterAnswer::Continue => each_open(parts, slot, Floor::leave),
        AfterAnswer::Background => each_open(parts, slot, |floor, book, exit, slot, fragment| {
            floor.postpone(book, slot, fragment);
            floor.leave(book, exit, slot, fragment);
        }),
        AfterAnswer::Cancel => cancel_open(parts, slot),
        AfterAnswer::Leave => each_open(parts, slot, |floor, book, exit, slot, fragment| {
            if floor.is_waiting(book, slot, fragment) {
                floor.cancel(book, exit, slot, fragment);
            }
        }),
    }
}

/// Cancels all tasks of a request.
pub(super) fn cancel_open(parts: &mut Parts, slot: RequestSlot) {
    each_open(parts, slot, Floor::cancel);
}

fn each_open(
    parts: &mut Parts,
    slot: RequestSlot,
    visit: impl Fn(&mut Floor, &mut Book, &mut Exit, RequestSlot, FragmentIndex),
) {
    let Parts { floor, book, exit, .. } = parts;
    for fragment in book[slot].indices() {
        if book[slot].fragment(fragment).is(FragmentState::Open) {
            visit(floor, book, exit, slot, fragment);
        }
    }
}

/// Settles a request that is answered and has no task left.
#[inline]
pub(super) fn settle_if_over(parts: &mut Parts, slot: RequestSlot) {
    let Parts { floor, book, line, exit, .. } = parts;
    if !book[slot].is_answered() || book[slot].open() > 0 {
        return;
    }
    line.settled(slot);
    let entry = &book[slot];
    let stored = match entry.work() {
        Work::Read(_) => Vec::new(),
        Work::Write(_) | Work::Mend(_) => {
            let stored = entry.fragments().iter().map(|fragment| {
                let place = fragment.place().filter(|_| fragment.is(FragmentState::Done));
                place.map(|node| floor.node(node).id())
            });
            stored.collect()
        }
    };
    exit.say(Action::Settle { request: entry.id(), stored });
    book.settle(slot);
}

/// Nobody wants a request any more.
pub(crate) fn abandoned(parts: &mut Parts, id: RequestId) {
    if let Some(slot) = parts.book.find(id)
        && !parts.book[slot].is_answered()
    {
        answer(parts, slot, Err(Cause::Abandoned));
    }
}

/// A request took longer than allowed.
pub(crate) fn timed_out(parts: &mut Parts, slot: RequestSlot) {
    answer(parts, slot, Err(Cause::TimedOut));
}
