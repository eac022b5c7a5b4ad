//! Reads whose chunks are at one node: runs of a shared fragment's strips. They leave the queue by
//! the papers' own rule: the head of line when a lane is idle and no needed task waits (TOFEC,
//! section II-A).

use super::{
    hedge::start_hedge,
    parts::Parts,
    start::{Found, begin},
};
use crate::{
    book::{FragmentState, Timer},
    floor::{Look, NewTask},
};
use ripstop_model::Code;
use ripstop_scheduling::{FragmentIndex, RequestSlot};

/// Whether the one node can be asked.
pub(super) fn is_possible(parts: &Parts, slot: RequestSlot) -> bool {
    let first = parts.book[slot].fragments().first();
    first.is_some_and(|fragment| {
        fragment.is(FragmentState::Untried) && parts.floor.node(fragment.node()).is_up()
    })
}

pub(super) fn attempt(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    let Parts { floor, book, line, exit, .. } = parts;
    let entry = &book[slot];
    let (node, n, k) = (entry.fragments()[0].node(), entry.n(), entry.k());
    let n_now = entry.redundancy().begins_with(n, k);
    if !floor.node(node).is_ready() || floor.is_reserved(node, look) {
        return Found::Waits { withdrawn: usize::from(floor.reserve(node, look)) };
    }
    let code = Code::new(n, k).expect("it was chosen as one");
    begin(line, book, exit, slot, code);
    book.timers_mut().start(exit.now(), Timer::Late(slot));
    start_hedge(book, exit, slot);
    for index in 0..n_now {
        let task = NewTask::ranked(book, slot, FragmentIndex::new(index), index, k);
        floor.submit(book, exit, task);
    }
    Found::Left
}
