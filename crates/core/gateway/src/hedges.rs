//! Redundant tasks that start only when a request is late.

use crate::{Machine, request::FragmentState};
use core::time::Duration;
use ripstop_policy::Redundancy;
use ripstop_scheduling::{Priority, Stage};

impl Machine {
    /// Sets when the redundant tasks of a request that begins now are due.
    pub(crate) fn start_hedge(&mut self, slot: u32) {
        let entry = &self.requests.table[slot];
        let n = entry.k + entry.extra;
        let after = match entry.redundancy {
            Redundancy::Eager => None,
            Redundancy::After(span) => Some(span),
            Redundancy::Spare { spare_after, .. } if entry.begins_with(n) < n => Some(spare_after),
            Redundancy::Spare { rescue_after, .. } => rescue_after,
        };
        self.hedge_after(slot, after);
    }

    /// Sets when the next redundant task of a request is due, if ever.
    fn hedge_after(&mut self, slot: u32, after: Option<Duration>) {
        let entry = &mut self.requests.table[slot];
        if let Some(after) = after
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
    fn rescue(&mut self, slot: u32, again_after: Option<Duration>) {
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
            self.hedge_after(slot, again_after);
        }
    }

    /// Starts the redundant tasks of the requests that are late by now.
    pub(crate) fn start_hedged(&mut self) {
        while let Some(&(due, slot)) = self.requests.hedges.first()
            && due <= self.now
        {
            self.requests.hedges.pop_first();
            self.requests.table[slot].hedge = None;
            if !self.requests.table[slot].is_decided() {
                self.is_late(slot);
            }
        }
    }

    fn is_late(&mut self, slot: u32) {
        let entry = &mut self.requests.table[slot];
        let (n, extra) = (entry.k + entry.extra, entry.extra);
        match entry.redundancy {
            Redundancy::Eager => {}
            Redundancy::After(_) => self.submit_extra(slot, extra, usize::MAX),
            Redundancy::Spare { spare_after, rescue_after, .. } => {
                let begun = entry.begins_with(n);
                if begun == n || entry.has_spares {
                    self.rescue(slot, rescue_after);
                    return;
                }
                entry.has_spares = true;
                let made = entry.count(FragmentState::Done) + entry.count(FragmentState::Open);
                self.submit_extra(slot, n.saturating_sub(made), begun);
                let rest = rescue_after.map(|after| after.saturating_sub(spare_after));
                self.hedge_after(slot, rest);
            }
        }
    }

    /// Makes so many tasks of a read that it did not begin with, the first of this rank.
    fn submit_extra(&mut self, slot: u32, count: usize, rank: usize) {
        self.gather(slot, crate::queue::NO_LOOK);
        self.candidates.truncate(count);
        for at in 0..self.candidates.len() {
            let fragment = self.candidates[at] as u8;
            debug_assert!(
                self.requests.table[slot].fragments[usize::from(fragment)]
                    .is(FragmentState::Untried)
            );
            self.submit_ranked(slot, fragment, rank.saturating_add(at), 0);
        }
    }
}
