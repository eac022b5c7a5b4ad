//! How a request is taken in, or not.

use super::{answer::answer, draft::draft, kind::impossible, parts::Parts};
use crate::{
    book::{Draft, Entry, Progress},
    face::{Action, Cause, Report, Request},
    line::{Admission, Kind, Queue},
};
use ripstop_model::{RequestId, TenantId};

pub(crate) fn arrived(parts: &mut Parts, request: &Request) {
    let (id, tenant) = (request.id, request.tenant);
    let Parts { book, line, exit, .. } = parts;
    if book.find(id).is_some() {
        return;
    }
    match line.admit(exit.now(), tenant, Kind::of(request), book.encoding()) {
        Err(retry_after) => {
            exit.report(Report::Refused { request: id, tenant });
            exit.say(Action::Reject { request: id, retry_after });
        }
        Ok(admission) => {
            if let Some(report) = admission.report(request) {
                exit.report(report);
            }
            let draft = draft(parts, request);
            take_in(parts, id, tenant, &admission, draft);
        }
    }
}

fn take_in(
    parts: &mut Parts,
    id: RequestId,
    tenant: TenantId,
    admission: &Admission,
    draft: Draft,
) {
    let Parts { book, line, exit, .. } = parts;
    let storage = draft.storage;
    let entry = Entry::new(id, tenant, exit.now(), draft);
    let (mend, write) = (entry.is_mend(), entry.is_write());
    let slot = book.insert(entry);
    line.enter(slot, admission);
    // Numbers that are no code say nothing of nodes.
    let hopeless = if storage.is_ok() { impossible(parts, slot) } else { None };
    let Parts { book, line, exit, .. } = parts;
    if let Ok(code) = storage
        && write
        && !mend
        && hopeless.is_none()
    {
        book.advance(slot, Progress::Encoding);
        exit.say(Action::Encode { request: id, code });
        return;
    }
    let queue = if mend { Queue::Mends } else { Queue::Requests };
    line.push(exit.now(), queue, slot);
    if storage.is_err() {
        answer(parts, slot, Err(Cause::Lost));
    } else if let Some(cause) = hopeless {
        answer(parts, slot, Err(cause));
    } else if parts.book[slot].has_nothing_to_do() {
        answer(parts, slot, Ok(()));
    }
}

/// The parity of a write is computed: it waits for nodes now.
pub(crate) fn encoded(parts: &mut Parts, id: RequestId) {
    let Parts { book, line, exit, .. } = parts;
    let Some(slot) = book.find(id) else { return };
    if book[slot].progress() != Progress::Encoding {
        return;
    }
    book.advance(slot, Progress::Waiting);
    book[slot].set_queued(exit.now());
    line.push(exit.now(), Queue::Requests, slot);
    if let Some(cause) = impossible(parts, slot) {
        answer(parts, slot, Err(cause));
    }
}
