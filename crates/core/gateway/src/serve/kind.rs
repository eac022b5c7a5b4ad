//! What depends on whether a request reads, writes or mends: one match each.

use super::{mend, parts::Parts, read, read_end, start::Found, write, write_end};
use crate::{
    book::Work,
    face::{Cause, TaskOutcome},
    floor::Look,
};
use ripstop_scheduling::{FragmentIndex, RequestSlot};

/// Starts a waiting request, or keeps those behind it off its nodes for this look.
#[inline]
pub(super) fn attempt(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    match parts.book[slot].work() {
        Work::Read(_) => read::attempt(parts, slot, look),
        Work::Write(_) => write::attempt(parts, slot, look),
        Work::Mend(_) => mend::attempt(parts, slot, look),
    }
}

/// Why a waiting request can not be done as things stand, if so.
pub(super) fn impossible(parts: &Parts, slot: RequestSlot) -> Option<Cause> {
    match parts.book[slot].work() {
        Work::Read(_) => read::impossible(parts, slot),
        Work::Write(_) => write::impossible(parts, slot),
        Work::Mend(_) => mend::impossible(parts, slot),
    }
}

/// What follows from the end of a fragment's task.
#[inline]
pub(super) fn chunk_ended(
    parts: &mut Parts,
    slot: RequestSlot,
    fragment: FragmentIndex,
    outcome: TaskOutcome,
) {
    match parts.book[slot].work() {
        Work::Read(_) => read_end::chunk_ended(parts, slot, fragment, outcome),
        Work::Write(_) => write_end::chunk_ended(parts, slot, fragment, outcome),
        Work::Mend(_) => mend::chunk_ended(parts, slot, fragment, outcome),
    }
}
