//! Redundant tasks that start only when a request is late.

use crate::{Machine, request::FragmentState};

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
