//! How a waiting request leaves its queue, or does not.

use super::{answer::queue, parts::Parts};
use crate::{
    book::{Book, Progress},
    face::{Exit, Report},
    floor::Floor,
    line::Line,
};
use ripstop_model::Code;
use ripstop_scheduling::RequestSlot;

/// What a look found for a request.
pub(super) enum Found {
    /// It left the queue.
    Left,
    /// It has to wait, and keeps those behind it off its nodes.
    Waits {
        /// Ready nodes that this takes out of the look.
        withdrawn: usize,
    },
}

impl Found {
    /// It waits for whichever node: those behind it keep off every one, and the look is over.
    pub(super) fn waits_for_any(floor: &Floor) -> Self {
        Self::Waits { withdrawn: floor.totals().nodes_ready }
    }
}

/// Whether a waiting request has waited for the set patience.
#[inline]
pub(super) fn is_impatient(parts: &Parts, slot: RequestSlot) -> bool {
    parts.exit.now() >= parts.line.patience_ends(parts.book[slot].queued())
}

/// A request leaves its queue to be served by tasks of this code.
#[inline]
pub(super) fn begin(
    line: &mut Line,
    book: &mut Book,
    exit: &mut Exit,
    slot: RequestSlot,
    code: Code,
) {
    book.advance(slot, Progress::Serving);
    line.start(exit.now(), queue(book, slot), slot);
    let entry = &book[slot];
    let (request, write) = (entry.id(), entry.is_write());
    let waited = exit.now() - entry.queued();
    exit.report(Report::Started { request, write, code, waited });
}
