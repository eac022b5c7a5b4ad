//! What follows from the end of a chunk of a read.

use super::{
    answer::{answer, cancel_open},
    parts::Parts,
    read::why_lost,
};
use crate::{
    book::{FragmentState, Progress, Timer},
    face::{Action, Cause, Report, TaskOutcome},
    floor::{Look, NewTask},
};
use ripstop_model::{RequestId, StripSet};
use ripstop_scheduling::{FragmentIndex, RequestSlot};

pub(super) fn chunk_ended(
    parts: &mut Parts,
    slot: RequestSlot,
    fragment: FragmentIndex,
    outcome: TaskOutcome,
) {
    let Parts { book, exit, .. } = parts;
    let entry = &mut book[slot];
    let state = match outcome {
        TaskOutcome::Done => FragmentState::Done,
        TaskOutcome::Missing | TaskOutcome::Damaged => {
            let (request, fragment) = (entry.id(), fragment.0);
            exit.report(Report::FragmentLost { request, fragment, outcome });
            FragmentState::Lost
        }
        TaskOutcome::Refused => FragmentState::Refused,
        TaskOutcome::Unavailable | TaskOutcome::Cancelled => FragmentState::Unavailable,
    };
    entry.set(fragment, state);
    if entry.is_decided() {
        return;
    }
    if outcome == TaskOutcome::Done {
        entry.read_mut().have.insert(fragment.get());
        judge(parts, slot);
    } else {
        top_up(parts, slot);
    }
}

/// Ends a read that has what it wants, or what that can be computed from.
fn judge(parts: &mut Parts, slot: RequestSlot) {
    let Parts { book, exit, .. } = parts;
    let entry = &book[slot];
    let (read, id, k) = (*entry.read(), entry.id(), entry.k());
    if read.have.contains_all(&read.wanted) {
        answer(parts, slot, Ok(()));
    } else if read.have.len() >= k {
        let strips = usize::from(entry.strips());
        let mut from = StripSet::EMPTY;
        let runs = read.have.iter().take(k);
        runs.for_each(|run| from.insert_range(run * strips..(run + 1) * strips));
        book.advance(slot, Progress::Decoding);
        exit.say(Action::Decode { request: id, from });
        book.timers_mut().stop(Timer::Late(slot));
        cancel_open(parts, slot);
    }
}

/// Replaces what failed: by fragments not tried yet, else by another try; fails the read if K
/// cannot be reached.
fn top_up(parts: &mut Parts, slot: RequestSlot) {
    let Parts { floor, book, chooser, exit, settings, .. } = parts;
    floor.promote_open(book, exit, slot);
    let entry = &book[slot];
    let have = entry.count(FragmentState::Done) + entry.count(FragmentState::Open);
    let (least, most) = (entry.k().saturating_sub(have), entry.n().saturating_sub(have));
    let candidates = chooser.replacements(floor, entry, (least, most), settings.tries_max);
    if candidates.len() < least {
        let cause = why_lost(entry);
        answer(parts, slot, Err(cause));
        return;
    }
    for candidate in candidates {
        floor.submit(book, exit, NewTask::needed(slot, candidate.fragment, candidate.node));
    }
}

/// A read has waited long for what it fetches: it fetches a full set beside that, as far as nodes
/// are ready, so that no stalled node holds it up. Bounded by the stripe's fragments.
pub(crate) fn read_is_late(parts: &mut Parts, slot: RequestSlot) {
    let Parts { floor, book, chooser, exit, .. } = parts;
    let entry = &book[slot];
    let candidates = chooser.fragments(floor, entry, Look::NONE);
    let (k, done) = (entry.k(), entry.count(FragmentState::Done));
    let open = entry.count(FragmentState::Open);
    if candidates.is_empty() || done + open + candidates.len() < k {
        return;
    }
    let ready = candidates.iter().filter(|candidate| candidate.is_ready).count();
    let fresh = ready.min(k - done);
    if done + open + fresh >= k {
        for candidate in &candidates[..fresh] {
            floor.submit(book, exit, NewTask::needed(slot, candidate.fragment, candidate.node));
        }
    }
    book.timers_mut().start(exit.now(), Timer::Late(slot));
}

/// The wanted strips of a read are computed, or cannot be.
pub(crate) fn decoded(parts: &mut Parts, id: RequestId, computed: bool) {
    if let Some(slot) = parts.book.find(id)
        && parts.book[slot].progress() == Progress::Decoding
    {
        answer(parts, slot, if computed { Ok(()) } else { Err(Cause::Lost) });
    }
}
