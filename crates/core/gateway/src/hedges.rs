//! Redundant tasks that start only when a request is late.

use crate::{Machine, request::FragmentState};
use ripstop_scheduling::{Priority, Stage};

impl Machine {
    /// Sets when the redundant tasks of a request that begins now are due.
    pub(crate) fn start_hedge(&mut self, slot: u32) {
        let entry = &mut self.requests.table[slot];
        if let Some(after) = entry.hedge_after()
            && entry.extra > 0
        {
            let due = self.now + after;
            entry.hedge = Some(due);
            self.requests.hedges.insert((due, slot));
        }
    }

    pub(crate) fn stop_hedge(&mut self, slot: u32) {
        if let Some(due) = self.requests.table[slot].hedge.take() {
            self.requests.hedges.remove(&(due, slot));
        }
    }

    /// Makes one redundant task of a request needed, one that runs if there is any; and will again.
    fn rescue(&mut self, slot: u32) {
        let entry = &self.requests.table[slot];
        let spare = |index: &usize| {
            let fragment = entry.fragments[*index];
            fragment.is(FragmentState::Open)
                && self.tasks.table[fragment.task].priority == Priority::Redundant
        };
        let runs =
            |index: &usize| self.tasks.table[entry.fragments[*index].task].stage == Stage::Running;
        let mut spares = (0..entry.fragments.len()).filter(spare);
        let first = spares.clone().find(runs).or_else(|| spares.next());
        if let Some(index) = first {
            self.promote(slot, index);
            self.start_hedge(slot);
        }
    }

    /// Starts the redundant tasks of the requests that are late by now.
    pub(crate) fn start_hedged(&mut self) {
        while let Some(&(due, slot)) = self.requests.hedges.first()
            && due <= self.now
        {
            self.requests.hedges.pop_first();
            self.requests.table[slot].hedge = None;
            let extra = self.requests.table[slot].extra;
            if self.requests.table[slot].is_decided() {
                continue;
            }
            if !self.requests.table[slot].begins_without_extra() {
                self.rescue(slot);
                continue;
            }
            self.gather(slot, crate::queue::NO_LOOK);
            self.candidates.truncate(extra);
            for at in 0..self.candidates.len() {
                let fragment = self.candidates[at] as u8;
                debug_assert!(
                    self.requests.table[slot].fragments[usize::from(fragment)]
                        .is(FragmentState::Untried)
                );
                self.submit_ranked(slot, fragment, usize::MAX, 0);
            }
        }
    }
}
