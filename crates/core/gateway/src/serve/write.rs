//! Where a write stores its fragments, and when it begins.

use super::{
    answer::answer,
    parts::Parts,
    start::{Found, begin, is_impatient},
};
use crate::{
    book::{Entry, FragmentState},
    face::{Cause, MachineSettings},
    floor::{Look, NewTask},
};
use ripstop_model::Code;
use ripstop_scheduling::{FragmentIndex, RequestSlot};

/// How many fragments are to be durable.
pub(super) struct Goals {
    /// With fewer a write is not answered as done.
    pub least: usize,
    /// What it aims at: with this many it is answered at once.
    pub most: usize,
}

impl Goals {
    pub(super) fn of(entry: &Entry, settings: &MachineSettings) -> Self {
        let goal = |extra: u8| entry.fragments().len().min(entry.k() + usize::from(extra));
        Self { least: goal(settings.answer_extra_min), most: goal(settings.answer_extra) }
    }
}

pub(super) fn impossible(parts: &Parts, slot: RequestSlot) -> Option<Cause> {
    let entry = &parts.book[slot];
    // Fragments that are all for one node need no other.
    let least = if entry.is_together() { 1 } else { Goals::of(entry, &parts.settings).least };
    (parts.floor.totals().nodes_up < least).then_some(Cause::Unavailable)
}

pub(super) fn attempt(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    if let Some(cause) = impossible(parts, slot) {
        answer(parts, slot, Err(cause));
        return Found::Left;
    }
    if parts.book[slot].is_together() {
        return attempt_unique(parts, slot, look);
    }
    let impatient = is_impatient(parts, slot);
    let Parts { floor, book, line, chooser, exit, settings, .. } = parts;
    let entry = &book[slot];
    let goals = Goals::of(entry, settings);
    let totals = floor.totals();
    let enough = if impatient { 1 } else { goals.most.min(totals.nodes_up) };
    if totals.nodes_ready < enough {
        return Found::waits_for_any(floor);
    }
    let (now, all, k) = (exit.now(), entry.fragments().len(), entry.k());
    let mut found = chooser.nodes(floor, now, look, all, |_| true);
    if found.ready < enough || found.best.len() < goals.least {
        return Found::waits_for_any(floor);
    }
    if let Some(group) = entry.write().group {
        found = chooser.group_nodes(floor, now, look, all, group);
        if found.ready < enough && !impatient {
            return reserve_group(parts, group, look);
        }
    }
    let n = all.min(found.best.len());
    let code = Code::new(n, k.min(n)).expect("a write that waits has a code");
    begin(line, book, exit, slot, code);
    for index in (0..all).map(FragmentIndex::new) {
        if let Some(candidate) = found.best.get(index.get()) {
            floor.submit(book, exit, NewTask::needed(slot, index, candidate.node));
        } else {
            // No node is left that holds no other fragment: repair makes it when there is one.
            book[slot].set(index, FragmentState::Refused);
        }
    }
    chooser.take_turn();
    Found::Left
}

/// Keeps those behind off the nodes that a waiting write is to go to.
fn reserve_group(parts: &mut Parts, group: u16, look: Look) -> Found {
    let Parts { floor, chooser, .. } = parts;
    let members = chooser.group(group).iter();
    Found::Waits { withdrawn: members.filter(|&&node| floor.reserve(node, look)).count() }
}

/// A write all of whose fragments go to one node.
fn attempt_unique(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    let Parts { floor, book, line, chooser, exit, settings, .. } = parts;
    let found = chooser.nodes(floor, exit.now(), look, 1, |_| true);
    let Some(best) = found.best.first().filter(|best| best.is_ready).copied() else {
        return Found::waits_for_any(floor);
    };
    chooser.take_turn();
    let entry = &book[slot];
    let goal = Goals::of(entry, settings).most;
    let code = Code::new(entry.fragments().len(), entry.k()).expect("it was chosen as one");
    begin(line, book, exit, slot, code);
    for index in book[slot].indices() {
        book[slot].set_place(index, best.node);
        let task = NewTask::ranked(book, slot, index, index.get(), goal);
        floor.submit(book, exit, task);
    }
    Found::Left
}
