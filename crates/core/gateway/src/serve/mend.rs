//! Fragments computed again: one task each, behind everything else.

use super::{
    answer::answer,
    parts::Parts,
    start::{Found, begin},
};
use crate::{
    book::FragmentState,
    face::{Cause, TaskOutcome},
    floor::{Look, NewTask},
};
use ripstop_model::Code;
use ripstop_scheduling::{FragmentIndex, NodeIndex, Priority, RequestSlot};

/// Where the fragment is to go, or was tried last.
fn place(parts: &Parts, slot: RequestSlot) -> Option<NodeIndex> {
    let entry = &parts.book[slot];
    entry.fragment(entry.mend().fragment).place()
}

pub(super) fn impossible(parts: &Parts, slot: RequestSlot) -> Option<Cause> {
    let Parts { floor, book, .. } = parts;
    let mend = book[slot].mend();
    let possible = if mend.anywhere {
        floor.nodes().any(|(node, lanes)| lanes.is_up() && !mend.former.contains(&node))
    } else {
        place(parts, slot).is_some_and(|node| floor.node(node).is_up())
    };
    (!possible).then_some(Cause::Unavailable)
}

pub(super) fn attempt(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    if let Some(cause) = impossible(parts, slot) {
        answer(parts, slot, Err(cause));
        return Found::Left;
    }
    let anywhere = parts.book[slot].mend().anywhere;
    let Some(node) = choose(parts, slot, look) else {
        return match place(parts, slot) {
            None => Found::waits_for_any(&parts.floor),
            Some(node) => reserve(parts, node, look),
        };
    };
    if !parts.floor.node(node).is_ready() {
        return if anywhere {
            Found::waits_for_any(&parts.floor)
        } else {
            reserve(parts, node, look)
        };
    }
    let Parts { floor, book, line, exit, .. } = parts;
    let fragment = book[slot].mend().fragment;
    begin(line, book, exit, slot, Code::new(1, 1).expect("(1,1) is a code"));
    floor.submit(book, exit, NewTask::needed(slot, fragment, node));
    Found::Left
}

fn reserve(parts: &mut Parts, node: NodeIndex, look: Look) -> Found {
    Found::Waits { withdrawn: usize::from(parts.floor.reserve(node, look)) }
}

/// The best node for a mend that can be given a task.
fn choose(parts: &mut Parts, slot: RequestSlot, look: Look) -> Option<NodeIndex> {
    let at = place(parts, slot);
    let Parts { floor, book, chooser, exit, .. } = parts;
    let mend = book[slot].mend();
    if !mend.anywhere {
        return at.filter(|&node| floor.is_open(node, look));
    }
    let usable = |node| Some(node) != at && !mend.former.contains(&node);
    let found = chooser.nodes(floor, exit.now(), look, 1, usable);
    found.best.first().map(|best| best.node)
}

pub(super) fn chunk_ended(
    parts: &mut Parts,
    slot: RequestSlot,
    fragment: FragmentIndex,
    outcome: TaskOutcome,
) {
    let entry = &mut parts.book[slot];
    let answered = entry.is_answered();
    if outcome == TaskOutcome::Done {
        entry.set(fragment, FragmentState::Done);
        if !answered {
            answer(parts, slot, Ok(()));
        }
        return;
    }
    entry.set(fragment, FragmentState::Refused);
    if answered {
        return;
    }
    let node = entry.fragment(fragment).node();
    let may_retry = entry.fragment(fragment).has_tries_left(parts.settings.tries_max);
    let again = outcome == TaskOutcome::Unavailable;
    let next = if may_retry && (entry.mend().anywhere || again) {
        let same = |parts: &Parts| (again && parts.floor.takes(node)).then_some(node);
        choose(parts, slot, Look::NONE).or_else(|| same(parts))
    } else {
        None
    };
    let Some(node) = next else { return answer(parts, slot, Err(Cause::Unavailable)) };
    let Parts { floor, book, exit, .. } = parts;
    let task = NewTask { priority: Priority::Background, ..NewTask::needed(slot, fragment, node) };
    floor.submit(book, exit, task);
}
