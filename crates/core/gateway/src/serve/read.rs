//! Which fragments a read fetches, and when it begins.

use super::{
    answer::answer,
    hedge::start_hedge,
    parts::Parts,
    shared,
    start::{Found, begin, is_impatient},
};
use crate::{
    book::{Entry, FragmentState, Timer},
    face::{Cause, ReadSelection},
    floor::{Look, NewTask},
};
use ripstop_model::Code;
use ripstop_scheduling::{FragmentIndex, RequestSlot};

/// What a waiting read can use now.
struct Prospect {
    /// Whether each wanted strip is at a node that is up.
    direct: bool,
    /// Wanted strips whose node is ready.
    wanted_ready: usize,
    /// Fragments whose node is ready.
    ready: usize,
    /// Fragments whose node is up.
    up: usize,
}

impl Prospect {
    fn of(parts: &Parts, slot: RequestSlot, look: Look) -> Self {
        let Parts { floor, book, .. } = parts;
        let entry = &book[slot];
        let wanted = entry.read().wanted;
        let mut prospect = Self { direct: true, wanted_ready: 0, ready: 0, up: 0 };
        let (mut slow_ready, mut slow_up, mut slow_wanted) = (0, 0, false);
        for (index, fragment) in entry.fragments().iter().enumerate() {
            let (mut up, mut ready, mut slow) = (false, false, false);
            if fragment.is(FragmentState::Untried) {
                let node = fragment.node();
                up = floor.node(node).is_up();
                ready = floor.node(node).is_ready() && !floor.is_reserved(node, look);
                slow = up && floor.paces().is_slow(node);
            }
            prospect.up += usize::from(up);
            prospect.ready += usize::from(ready);
            slow_up += usize::from(slow);
            slow_ready += usize::from(slow && ready);
            if wanted.contains(index) {
                prospect.direct &= up;
                prospect.wanted_ready += usize::from(ready);
                slow_wanted |= slow;
            }
        }
        if prospect.up - slow_up >= entry.k() {
            // The others suffice: a slow node is worth no more waiting than one that is away.
            prospect.ready -= slow_ready;
            prospect.direct &= !slow_wanted;
        }
        prospect
    }

    fn is_hopeless(&self, k: usize) -> bool {
        !self.direct && self.up < k
    }
}

/// Why a read cannot be done: lost, if it could not even with every node in service.
pub(super) fn why_lost(entry: &Entry) -> Cause {
    let held = entry.fragments().len() - entry.count(FragmentState::Lost);
    let lost = |index: usize| entry.fragments()[index].is(FragmentState::Lost);
    let is_lost = held < entry.k() && entry.read().wanted.iter().any(lost);
    if is_lost { Cause::Lost } else { Cause::Unavailable }
}

pub(super) fn impossible(parts: &Parts, slot: RequestSlot) -> Option<Cause> {
    let entry = &parts.book[slot];
    let possible = if entry.is_together() {
        shared::is_possible(parts, slot)
    } else {
        !Prospect::of(parts, slot, Look::NONE).is_hopeless(entry.k())
    };
    (!possible).then(|| why_lost(entry))
}

pub(super) fn attempt(parts: &mut Parts, slot: RequestSlot, look: Look) -> Found {
    if parts.book[slot].is_together() {
        return shared::attempt(parts, slot, look);
    }
    let prospect = Prospect::of(parts, slot, look);
    let entry = &parts.book[slot];
    let (wanted, k) = (entry.read().wanted.len(), entry.k());
    if prospect.is_hopeless(k) {
        let cause = why_lost(entry);
        answer(parts, slot, Err(cause));
        return Found::Left;
    }
    let few = prospect.direct && wanted < k;
    // By luck alone, however busy the nodes, as in the analysis of probabilistic scheduling.
    let by_luck = parts.chooser.selection() == ReadSelection::Probabilistic;
    if by_luck && !few && prospect.up >= k && start_full(parts, slot, look) {
        return Found::Left;
    }
    let impatient = is_impatient(parts, slot);
    let left = if few && prospect.wanted_ready == wanted {
        start_direct(parts, slot, look)
    } else if prospect.ready >= k && (impatient || !few) {
        start_full(parts, slot, look)
    } else if few {
        impatient && prospect.wanted_ready > 0 && start_direct(parts, slot, look)
    } else {
        impatient && prospect.ready > 0 && start_full(parts, slot, look)
    };
    if left { Found::Left } else { reserve(parts, slot, look, few) }
}

/// Keeps those behind off the nodes that hold what a waiting read fetches.
fn reserve(parts: &mut Parts, slot: RequestSlot, look: Look, few: bool) -> Found {
    let Parts { floor, book, .. } = parts;
    let wanted = book[slot].read().wanted;
    let mut withdrawn = 0;
    for (index, fragment) in book[slot].fragments().iter().enumerate() {
        if fragment.is(FragmentState::Untried) && (!few || wanted.contains(index)) {
            withdrawn += usize::from(floor.reserve(fragment.node(), look));
        }
    }
    Found::Waits { withdrawn }
}

/// Begins on just the wanted strips; false if one cannot even wait for its node.
fn start_direct(parts: &mut Parts, slot: RequestSlot, look: Look) -> bool {
    let Parts { floor, book, line, exit, .. } = parts;
    let entry = &book[slot];
    let wanted = entry.read().wanted;
    let has_room = |index: usize| {
        let node = entry.fragments()[index].node();
        !floor.is_reserved(node, look) && floor.has_room(node)
    };
    if !wanted.iter().all(has_room) {
        return false;
    }
    let code = Code::new(wanted.len(), wanted.len()).expect("a read that waits wants strips");
    begin(line, book, exit, slot, code);
    book.timers_mut().start(exit.now(), Timer::Late(slot));
    for index in wanted.iter() {
        let node = book[slot].fragments()[index].node();
        let task = NewTask::needed(slot, FragmentIndex::new(index), node);
        floor.submit(book, exit, task);
    }
    true
}

/// Begins on K strips, and on as many more as were chosen; false if K nodes cannot take a task.
fn start_full(parts: &mut Parts, slot: RequestSlot, look: Look) -> bool {
    let Parts { floor, book, line, chooser, exit, .. } = parts;
    let entry = &book[slot];
    let candidates = chooser.fragments(floor, entry, look);
    let k = entry.k();
    if candidates.len() < k {
        return false;
    }
    let n = candidates.len().min(entry.n());
    let n_now = entry.redundancy().begins_with(n, k);
    let code = Code::new(n, k).expect("k ≤ n, and there are at most 255 fragments");
    begin(line, book, exit, slot, code);
    book.timers_mut().start(exit.now(), Timer::Late(slot));
    start_hedge(book, exit, slot);
    for (at, candidate) in candidates[..n_now].iter().enumerate() {
        let task = NewTask::ranked(book, slot, candidate.fragment, at, k);
        floor.submit(book, exit, task);
    }
    true
}
