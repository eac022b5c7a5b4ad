//! Requests whose chunks are at one node: runs of a shared fragment's strips to read, or fragments
//! to write side by side. They leave the queue by the papers' own rule: the head of line when a
//! lane is idle and no needed task waits (TOFEC, section II-A).

use crate::{Cause, Machine, queue::Found, reads::why_lost, request::FragmentState};
use ripstop_model::Code;
use ripstop_policy::Redundancy;
use ripstop_scheduling::Priority;

impl Machine {
    pub(crate) fn shared_impossible(&self, slot: u32) -> Option<Cause> {
        let entry = &self.requests.table[slot];
        let first = entry.fragments.first();
        let usable = first.is_some_and(|fragment| {
            fragment.is(FragmentState::Untried) && self.nodes[fragment.place].is_up()
        });
        (!usable).then(|| why_lost(entry))
    }

    pub(crate) fn try_shared(&mut self, slot: u32) -> Found {
        let entry = &self.requests.table[slot];
        let (place, n, k) = (entry.fragments[0].place, entry.k + entry.extra, entry.k);
        let n_now = entry.begins_with(n);
        let node = &self.nodes[place];
        if !node.is_ready() || node.is_reserved(self.look) {
            return Found::Waits { withdrawn: usize::from(self.nodes.reserve(place, self.look)) };
        }
        let code = Code::new(n, k).expect("it was chosen as one");
        self.leave_queue(slot, code);
        self.requests.late.start(self.now, slot);
        self.start_hedge(slot);
        for index in 0..n_now {
            self.submit_ranked(slot, index as u8, index, k);
        }
        Found::Left
    }

    /// Makes a task for a fragment where it is: the one of this `rank` among those of its request, of
    /// which so many are `needed`.
    pub(crate) fn submit_ranked(&mut self, slot: u32, fragment: u8, rank: usize, needed: usize) {
        let entry = &self.requests.table[slot];
        let place = entry.fragments[usize::from(fragment)].place;
        let extra = rank >= needed;
        let (priority, spare) = match entry.redundancy {
            Redundancy::Spare { at_once, .. } if extra && rank >= usize::from(at_once) => {
                let before = usize::from(at_once).max(needed);
                (Priority::Redundant, rank.saturating_sub(before).min(255) as u8)
            }
            Redundancy::Spare { .. } | Redundancy::Eager | Redundancy::After(_) => {
                (Priority::Needed, 0)
            }
        };
        self.submit_rank(slot, fragment, place, priority, spare);
        let task = self.requests.table[slot].fragments[usize::from(fragment)].task;
        self.tasks.table[task].extra = extra;
    }
}
