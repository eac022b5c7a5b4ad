//! What follows from the end of a chunk of a write, and when it is durable enough.

use super::{answer::answer, parts::Parts, write::Goals};
use crate::{
    book::{FragmentState, Progress, Timer},
    face::{AfterAnswer, Cause, TaskOutcome},
    floor::{Look, NewTask},
};
use ripstop_scheduling::{FragmentIndex, NodeIndex, Priority, RequestSlot};

pub(super) fn chunk_ended(
    parts: &mut Parts,
    slot: RequestSlot,
    fragment: FragmentIndex,
    outcome: TaskOutcome,
) {
    let entry = &mut parts.book[slot];
    match outcome {
        TaskOutcome::Done => {
            entry.set(fragment, FragmentState::Done);
            entry.write_mut().durable += 1;
        }
        TaskOutcome::Missing
        | TaskOutcome::Damaged
        | TaskOutcome::Unavailable
        | TaskOutcome::Refused
        | TaskOutcome::Cancelled => {
            entry.set(fragment, FragmentState::Refused);
            let tries_left = entry.fragment(fragment).has_tries_left(parts.settings.tries_max);
            if let Some(priority) = retry_priority(parts, slot)
                && tries_left
            {
                let again = outcome == TaskOutcome::Unavailable;
                store_elsewhere(parts, slot, fragment, again, priority);
            }
            make_up(parts, slot);
        }
    }
    if !parts.book[slot].is_answered() {
        judge(parts, slot);
    }
}

/// A fragment failed at the one node: its redundant tasks are needed now, those that gave way too.
fn make_up(parts: &mut Parts, slot: RequestSlot) {
    let Parts { floor, book, exit, settings, .. } = parts;
    if !book[slot].is_together() || book[slot].is_answered() {
        return;
    }
    floor.promote_open(book, exit, slot);
    let goal = Goals::of(&book[slot], settings).most;
    for index in book[slot].indices() {
        let entry = &book[slot];
        let fragment = entry.fragment(index);
        let lacks = entry.write().durable + entry.count(FragmentState::Open) < goal;
        let gave_way =
            fragment.is(FragmentState::Unavailable) && fragment.has_tries_left(settings.tries_max);
        if lacks && gave_way && floor.node(fragment.node()).is_up() {
            floor.submit(book, exit, NewTask::needed(slot, index, fragment.node()));
        }
    }
}

/// How another try of a fragment runs, if there is to be one.
fn retry_priority(parts: &Parts, slot: RequestSlot) -> Option<Priority> {
    match parts.book[slot].progress() {
        Progress::Answered { done: false } => None,
        Progress::Answered { done: true } => match parts.settings.after_answer {
            AfterAnswer::Continue => Some(Priority::Needed),
            AfterAnswer::Background => Some(Priority::Background),
            AfterAnswer::Cancel | AfterAnswer::Leave => None,
        },
        Progress::Encoding | Progress::Waiting | Progress::Serving | Progress::Decoding => {
            Some(Priority::Needed)
        }
    }
}

/// Tries a fragment at a node that this stripe has not used, else at the same node `again`.
fn store_elsewhere(
    parts: &mut Parts,
    slot: RequestSlot,
    fragment: FragmentIndex,
    again: bool,
    priority: Priority,
) {
    let Parts { floor, book, chooser, exit, .. } = parts;
    let entry = &book[slot];
    let place = entry.fragment(fragment).place();
    let same = place.filter(|&node| again && floor.node(node).is_up());
    let node = if entry.is_together() {
        same
    } else {
        let used = entry.write().used(entry.fragments());
        let usable = |node: NodeIndex| !used.contains(&node);
        let found = chooser.nodes(floor, exit.now(), Look::NONE, 1, usable);
        let other = found.best.first().map(|best| best.node);
        other.or_else(|| same.filter(|&node| floor.has_room(node)))
    };
    if let Some(node) = node {
        let task = NewTask { priority, ..NewTask::needed(slot, fragment, node) };
        floor.submit(book, exit, task);
    }
}

/// Whether a node that is up and has no fragment of a write's stripe may take one if given time.
fn may_be_stored_yet(parts: &Parts, slot: RequestSlot) -> bool {
    let entry = &parts.book[slot];
    let has = |node: NodeIndex| {
        let mut fragments = entry.fragments().iter();
        fragments.any(|at| at.place() == Some(node) && at.is(FragmentState::Done))
    };
    let free = |node: NodeIndex| parts.floor.node(node).is_up() && !has(node);
    !entry.is_together() && !entry.write().retried && parts.floor.indices().any(free)
}

/// A write has waited for more fragments than it must have. What no node took is tried once more
/// before it is answered without, if there is time for that.
pub(crate) fn write_waited(parts: &mut Parts, slot: RequestSlot) {
    let Parts { book, exit, settings, .. } = parts;
    let entry = &mut book[slot];
    let stuck = entry.count(FragmentState::Open) == 0 && !entry.write().retried;
    let has_time = exit.now() - entry.arrived() < settings.request_timeout;
    if stuck && has_time && !entry.is_together() {
        entry.write_mut().retried = true;
        for index in parts.book[slot].indices() {
            if !parts.book[slot].fragment(index).is(FragmentState::Done) {
                store_elsewhere(parts, slot, index, true, Priority::Needed);
            }
        }
        let Parts { book, exit, .. } = parts;
        if book[slot].count(FragmentState::Open) > 0 {
            book.timers_mut().start(exit.now(), Timer::Degraded(slot));
            return;
        }
    }
    answer(parts, slot, Ok(()));
}

/// Answers a write that is durable enough, or never will be.
fn judge(parts: &mut Parts, slot: RequestSlot) {
    let entry = &parts.book[slot];
    let Goals { least, most } = Goals::of(entry, &parts.settings);
    let (durable, open) = (entry.write().durable, entry.count(FragmentState::Open));
    let no_more = open == 0 && !may_be_stored_yet(parts, slot);
    let Parts { book, exit, .. } = parts;
    if durable >= most || (durable >= least && no_more) {
        answer(parts, slot, Ok(()));
    } else if durable + open < least {
        answer(parts, slot, Err(Cause::Unavailable));
    } else if durable >= least && !book.timers().is_degraded(slot) {
        book.timers_mut().start(exit.now(), Timer::Degraded(slot));
    }
}
