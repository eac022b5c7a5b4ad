//! Which fragments a read fetches, and when it begins.

use crate::{
    Cause, Machine, Selection,
    queue::Found,
    request::{Entry, FragmentState, Read, Work},
};
use ripstop_model::Code;
use ripstop_scheduling::{Lanes, Priority};

/// A strip that is not wanted must be computed from, so its node is chosen before that of a wanted
/// one only if it has less work by a quarter of its lanes.
const UNWANTED_LOAD: u64 = 64;

/// Marks the candidates whose node is far slower than its peers.
const SLOW: u64 = 1 << 63;

/// Marks the candidates whose node is not ready.
pub(crate) const BUSY: u64 = 1 << 62;

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

pub(crate) fn parts(entry: &Entry) -> &Read {
    match &entry.work {
        Work::Read(read) => read,
        Work::Write(_) | Work::Mend(_) => unreachable!("only reads come here"),
    }
}

impl Machine {
    fn read(&self, slot: u32) -> &Read {
        parts(&self.requests.table[slot])
    }

    pub(crate) fn read_mut(&mut self, slot: u32) -> &mut Read {
        match &mut self.requests.table[slot].work {
            Work::Read(read) => read,
            Work::Write(_) | Work::Mend(_) => unreachable!("only reads come here"),
        }
    }

    pub(crate) fn read_impossible(&self, slot: u32) -> Option<Cause> {
        if self.requests.table[slot].together {
            return self.shared_impossible(slot);
        }
        let prospect = self.prospect(slot);
        let entry = &self.requests.table[slot];
        (!prospect.direct && prospect.up < entry.k).then(|| why_lost(entry))
    }

    fn prospect(&self, slot: u32) -> Prospect {
        let entry = &self.requests.table[slot];
        let wanted = parts(entry).wanted;
        let mut prospect = Prospect { direct: true, wanted_ready: 0, ready: 0, up: 0 };
        let (mut slow_ready, mut slow_up, mut slow_wanted) = (0, 0, false);
        for (index, fragment) in entry.fragments.iter().enumerate() {
            let node = fragment.is(FragmentState::Untried).then(|| &self.nodes[fragment.place]);
            let up = node.is_some_and(Lanes::is_up);
            let ready = node.is_some_and(|node| node.is_ready() && !node.is_reserved(self.look));
            let slow = up && self.paces.is_slow(fragment.place);
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
        if prospect.up - slow_up >= entry.k {
            // The others suffice: a slow node is waited for no more than one that is away.
            prospect.ready -= slow_ready;
            prospect.direct &= !slow_wanted;
        }
        prospect
    }

    pub(crate) fn try_read(&mut self, slot: u32) -> Found {
        if self.requests.table[slot].together {
            return self.try_shared(slot);
        }
        let prospect = self.prospect(slot);
        let entry = &self.requests.table[slot];
        let (wanted, k) = (parts(entry).wanted.len(), entry.k);
        if !prospect.direct && prospect.up < k {
            let cause = why_lost(entry);
            self.answer(slot, Err(cause));
            return Found::Left;
        }
        let few = prospect.direct && wanted < k;
        // By luck alone, whoever is busy: as the analysis of probabilistic scheduling has it.
        let by_luck = self.placed.selection == Selection::Probabilistic;
        if by_luck && !few && prospect.up >= k && self.start_full(slot) {
            return Found::Left;
        }
        let impatient = self.is_impatient(slot);
        let left = if few && prospect.wanted_ready == wanted {
            self.start_direct(slot)
        } else if prospect.ready >= k && (impatient || !few) {
            self.start_full(slot)
        } else if few {
            impatient && prospect.wanted_ready > 0 && self.start_direct(slot)
        } else {
            impatient && prospect.ready > 0 && self.start_full(slot)
        };
        if left {
            return Found::Left;
        }
        self.reserve_read(slot, few)
    }

    /// Keeps those behind off the nodes that hold what a waiting read fetches.
    fn reserve_read(&mut self, slot: u32, few: bool) -> Found {
        let entry = &self.requests.table[slot];
        let wanted = parts(entry).wanted;
        let mut withdrawn = 0;
        for (index, fragment) in entry.fragments.iter().enumerate() {
            if fragment.is(FragmentState::Untried) && (!few || wanted.contains(index)) {
                withdrawn += usize::from(self.nodes.reserve(fragment.place, self.look));
            }
        }
        Found::Waits { withdrawn }
    }

    /// Begins on just the wanted strips; false if one cannot even wait for its node.
    fn start_direct(&mut self, slot: u32) -> bool {
        let wanted = self.read(slot).wanted;
        let fragments = &self.requests.table[slot].fragments;
        let has_room = |index: usize| {
            let node = &self.nodes[fragments[index].place];
            !node.is_reserved(self.look) && node.has_room(self.settings.tasks_waiting_max)
        };
        if !wanted.iter().all(has_room) {
            return false;
        }
        let code = Code::new(wanted.len(), wanted.len()).expect("a read that waits wants strips");
        self.leave_queue(slot, code);
        self.requests.late.start(self.now, slot);
        for index in wanted.iter() {
            let node = self.requests.table[slot].fragments[index].place;
            self.submit(slot, index as u8, node, Priority::Needed);
        }
        true
    }

    /// Begins on K strips, and on as many more as were chosen; false if K nodes cannot be given a
    /// task.
    fn start_full(&mut self, slot: u32) -> bool {
        self.gather(slot, self.look);
        let entry = &self.requests.table[slot];
        let k = entry.k;
        if self.candidates.len() < k {
            return false;
        }
        let n = self.candidates.len().min(k + entry.extra);
        let n_now = entry.begins_with(n);
        let code = Code::new(n, k).expect("k ≤ n, and there are at most 255 fragments");
        self.leave_queue(slot, code);
        self.requests.late.start(self.now, slot);
        self.read_mut(slot).around = true;
        self.start_hedge(slot);
        for at in 0..n_now {
            let fragment = self.candidates[at] as u8;
            self.submit_ranked(slot, fragment, at, k);
        }
        true
    }

    pub(crate) fn submit_candidate(&mut self, slot: u32, at: usize, priority: Priority) {
        let index = self.candidates[at] as u8;
        let node = self.requests.table[slot].fragments[usize::from(index)].place;
        self.submit(slot, index, node, priority);
    }

    /// Gathers the fragments that were not tried and whose node can be given a task, best first as the
    /// pool's selection has it. The low byte is the fragment.
    pub(crate) fn gather(&mut self, slot: u32, look: u64) {
        match self.placed.selection {
            Selection::Ready => self.gather_ready(slot, look),
            Selection::Probabilistic => self.gather_by_luck(slot, look),
            Selection::LeastWork => self.gather_by_work(slot, look, false),
            Selection::LeastWorkPlanned => self.gather_by_work(slot, look, true),
        }
    }

    /// Nodes that are not slow, then ready ones, then least work for each lane, then wanted strips.
    fn gather_ready(&mut self, slot: u32, look: u64) {
        let entry = &self.requests.table[slot];
        let wanted = parts(entry).wanted;
        self.candidates.clear();
        for (index, fragment) in entry.fragments.iter().enumerate() {
            if !fragment.is(FragmentState::Untried) {
                continue;
            }
            let node = &self.nodes[fragment.place];
            let has_room = node.has_room(self.settings.tasks_waiting_max);
            if !node.is_up() || node.is_reserved(look) || !has_room {
                continue;
            }
            let unwanted = u64::from(!wanted.contains(index));
            let load = u64::from(node.load()) + unwanted * UNWANTED_LOAD;
            let busy = if node.is_ready() { 0 } else { BUSY };
            let slow = if self.paces.is_slow(fragment.place) { SLOW } else { 0 };
            let load = load & 0xffff_ffff;
            self.candidates.push(slow | busy | load << 16 | unwanted << 8 | index as u64);
        }
        self.candidates.sort_unstable();
    }
}

/// Why a read cannot be done: lost, if it could not even with every node in service.
pub(crate) fn why_lost(entry: &Entry) -> Cause {
    let read = parts(entry);
    let held = entry.fragments.len() - entry.count(FragmentState::Lost);
    let lost = |index: usize| entry.fragments[index].is(FragmentState::Lost);
    if held < entry.k && read.wanted.iter().any(lost) { Cause::Lost } else { Cause::Unavailable }
}
