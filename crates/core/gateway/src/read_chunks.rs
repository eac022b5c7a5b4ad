//! What follows from the end of a chunk of a read.

use crate::{
    Action, Cause, Machine, Outcome, Report,
    queue::NO_LOOK,
    reads::{BUSY, parts, why_lost},
    request::{FragmentState, Progress},
};
use ripstop_model::{RequestId, StripSet};
use ripstop_scheduling::Priority;

impl Machine {
    pub(crate) fn read_chunk_ended(&mut self, slot: u32, fragment: u8, outcome: Outcome) {
        let entry = &mut self.requests.table[slot];
        let (request, decided) = (entry.id, entry.is_decided());
        let state = &mut entry.fragments[usize::from(fragment)].state;
        match outcome {
            Outcome::Done => *state = FragmentState::Done,
            Outcome::Missing | Outcome::Damaged => {
                *state = FragmentState::Lost;
                let report = Report::FragmentLost { request, fragment, outcome };
                self.actions.push(Action::Report(report));
            }
            Outcome::Refused => *state = FragmentState::Refused,
            Outcome::Unavailable | Outcome::Cancelled => *state = FragmentState::Unavailable,
        }
        if decided {
            return;
        }
        let read = self.read_mut(slot);
        if outcome == Outcome::Done {
            read.have.insert(usize::from(fragment));
            self.judge_read(slot);
        } else {
            read.around = true;
            self.top_up(slot);
        }
    }

    /// Ends a read that has what it wants, or what that can be computed from.
    fn judge_read(&mut self, slot: u32) {
        let entry = &self.requests.table[slot];
        let (read, id, k) = (*parts(entry), entry.id, entry.k);
        if read.have.contains_all(&read.wanted) {
            self.answer(slot, Ok(()));
        } else if read.have.len() >= k {
            let strips = usize::from(entry.strips);
            self.requests.table[slot].progress = Progress::Decoding;
            let runs = read.have.iter().take(k);
            let mut from = StripSet::EMPTY;
            runs.for_each(|run| from.insert_range(run * strips..(run + 1) * strips));
            self.actions.push(Action::Decode { request: id, from });
            self.requests.late.stop(slot);
            self.cancel_open(slot);
        }
    }

    /// Replaces what failed: by fragments not tried yet, else by another try; fails the read if K
    /// cannot be reached.
    fn top_up(&mut self, slot: u32) {
        self.need_open(slot);
        let entry = &self.requests.table[slot];
        let (k, extra) = (entry.k, entry.extra);
        let have = entry.count(FragmentState::Done) + entry.count(FragmentState::Open);
        self.gather(slot, NO_LOOK);
        let fresh = self.candidates.len().min((k + extra).saturating_sub(have));
        let again = k.saturating_sub(have + fresh);
        self.candidates.truncate(fresh);
        if again > 0 {
            self.gather_again(slot);
            self.candidates.truncate(fresh + again);
        }
        if self.candidates.len() < fresh + again {
            let cause = why_lost(&self.requests.table[slot]);
            self.answer(slot, Err(cause));
            return;
        }
        for at in 0..self.candidates.len() {
            self.submit_candidate(slot, at, Priority::Needed);
        }
    }

    /// What a request lost must not wait for lanes that nobody else wants: its redundant tasks are
    /// needed now.
    pub(crate) fn need_open(&mut self, slot: u32) {
        for fragment in 0..self.requests.table[slot].fragments.len() {
            if self.requests.table[slot].fragments[fragment].is(FragmentState::Open) {
                self.promote(slot, fragment);
            }
        }
    }

    /// Adds the fragments that may be tried again to the candidates, those tried least first.
    fn gather_again(&mut self, slot: u32) {
        let before = self.candidates.len();
        for (index, fragment) in self.requests.table[slot].fragments.iter().enumerate() {
            let tries_left = fragment.tries < self.settings.tries_max;
            if fragment.is(FragmentState::Unavailable) && tries_left {
                let node = &self.nodes[fragment.place];
                if node.is_up() && node.has_room(self.settings.tasks_waiting_max) {
                    self.candidates.push(u64::from(fragment.tries) << 8 | index as u64);
                }
            }
        }
        self.candidates[before..].sort_unstable();
    }

    /// A read has waited long for what it fetches: it fetches a full set beside that, as far as
    /// nodes are ready, so that no stalled node holds it up. Bounded by the stripe's fragments.
    pub(crate) fn read_is_late(&mut self, slot: u32) {
        self.gather(slot, NO_LOOK);
        let entry = &self.requests.table[slot];
        let (k, done) = (entry.k, entry.count(FragmentState::Done));
        let open = entry.count(FragmentState::Open);
        if self.candidates.is_empty() || done + open + self.candidates.len() < k {
            return;
        }
        let ready = self.candidates.iter().filter(|&&candidate| candidate & BUSY == 0).count();
        let fresh = ready.min(k - done);
        if done + open + fresh >= k && fresh > 0 {
            self.read_mut(slot).around = true;
            for at in 0..fresh {
                self.submit_candidate(slot, at, Priority::Needed);
            }
        }
        self.requests.late.start(self.now, slot);
    }

    pub(crate) fn decoded(&mut self, id: RequestId, computed: bool) {
        if let Some(slot) = self.requests.find(id)
            && self.requests.table[slot].progress == Progress::Decoding
        {
            self.answer(slot, if computed { Ok(()) } else { Err(Cause::Lost) });
        }
    }
}
