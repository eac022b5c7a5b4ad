//! Redundant tasks that start, or become needed, only when a read is late.

use super::parts::Parts;
use crate::{
    book::{Book, FragmentState, Timer},
    face::Exit,
    floor::{Look, NewTask},
};
use core::time::Duration;
use ripstop_policy::Late;
use ripstop_scheduling::{Priority, RequestSlot, Stage};

/// Sets when the redundant tasks of a read that begins now are due.
#[inline]
pub(super) fn start_hedge(book: &mut Book, exit: &Exit, slot: RequestSlot) {
    let entry = &book[slot];
    let after = entry.redundancy().late_after(entry.n(), entry.k());
    hedge_after(book, exit, slot, after);
}

/// Sets when the next redundant task of a read is due, if ever.
#[inline]
fn hedge_after(book: &mut Book, exit: &Exit, slot: RequestSlot, after: Option<Duration>) {
    if let Some(after) = after
        && book[slot].extra() > 0
    {
        book.timers_mut().start(exit.now() + after, Timer::Hedge(slot));
    }
}

/// A read is late by its policy's choice.
pub(crate) fn read_is_hedged(parts: &mut Parts, slot: RequestSlot) {
    let entry = &mut parts.book[slot];
    if entry.is_decided() {
        return;
    }
    let (n, k) = (entry.n(), entry.k());
    match entry.redundancy().late(n, k, entry.has_spares()) {
        Late::Nothing => {}
        Late::Hedge => {
            let extra = entry.extra();
            submit_extra(parts, slot, extra, usize::MAX);
        }
        Late::Rescue { again_after } => rescue(parts, slot, again_after),
        Late::Spares { begun, rescue_after } => {
            entry.note_spares();
            let made = entry.count(FragmentState::Done) + entry.count(FragmentState::Open);
            submit_extra(parts, slot, n.saturating_sub(made), begun);
            hedge_after(&mut parts.book, &parts.exit, slot, rescue_after);
        }
    }
}

/// Makes one redundant task of a read needed, one that runs if there is any; and will again.
fn rescue(parts: &mut Parts, slot: RequestSlot, again_after: Option<Duration>) {
    let Parts { floor, book, exit, .. } = parts;
    let entry = &book[slot];
    let open = entry.indices().filter(|&index| entry.fragment(index).is(FragmentState::Open));
    let task = |index| floor.task(entry.fragment(index).task());
    let mut spares = open.filter(|&index| task(index).priority == Priority::Redundant);
    // One that runs is nearest to its end, and needs no lane that others wait for.
    let runs = spares.clone().find(|&index| task(index).stage == Stage::Running);
    if let Some(index) = runs.or_else(|| spares.next()) {
        floor.promote(book, exit, slot, index);
        hedge_after(book, exit, slot, again_after);
    }
}

/// Makes at most this many tasks of a read that it did not begin with, the first of this rank.
fn submit_extra(parts: &mut Parts, slot: RequestSlot, count: usize, rank: usize) {
    let Parts { floor, book, chooser, exit, .. } = parts;
    let candidates = chooser.fragments(floor, &book[slot], Look::NONE);
    for (at, candidate) in candidates.iter().take(count).enumerate() {
        debug_assert!(book[slot].fragment(candidate.fragment).is(FragmentState::Untried));
        let rank = rank.saturating_add(at);
        let task = NewTask::ranked(book, slot, candidate.fragment, rank, 0);
        floor.submit(book, exit, task);
    }
}
