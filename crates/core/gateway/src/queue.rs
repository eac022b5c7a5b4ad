//! The rule by which requests leave the queue.
//!
//! TOFEC's head of line leaves when a lane is idle and the task queue is empty. With lanes that
//! belong to nodes, a node is *ready* when it is up, has an idle lane and no needed task waits for
//! it, and a request leaves when enough of the nodes it can use are ready to begin on all at once:
//!
//! * a read that needs a full set: K nodes that hold fragments of its stripe, whichever (so a stalled
//!   node is done without); a read that wants fewer strips: the nodes that hold those;
//! * a write: K + f nodes, or as many as are up;
//! * a mend: its one node.
//!
//! Waiting for several lanes at once leaves lanes idle, so it is bounded: a request that has waited
//! for the set `patience` leaves as soon as *one* of its nodes is ready, and its other tasks wait in
//! their nodes' queues (a range read then reads around busy nodes if K others are ready). That is
//! TOFEC's own rule again, keeps every lane busy under load, and bounds what a slow node can hold up.
//!
//! Order is first in, first out, with one exception that costs nobody anything: behind a request
//! that has to wait, others may start on nodes which no earlier waiting request can use (nodes are
//! *reserved*, look by look). Nobody is therefore overtaken at a node that it waits for.
//!
//! No deadlock: a request waits for lanes, lanes wait for the end of tasks, tasks wait for nothing
//! but their node, and are cancelled when `task_timeout` is over; `request_timeout` ends a wait for
//! nodes whose lanes never come free.

use crate::{
    Cause, Machine, Report,
    request::{Progress, Work},
};
use ripstop_model::Code;

/// Waiting requests that one look passes over before it gives up.
pub(crate) const LOOKAHEAD_MAX: usize = 32;

/// A look that reserves nothing.
pub(crate) const NO_LOOK: u64 = u64::MAX;

/// What a look found for a request.
pub(crate) enum Found {
    /// It left the queue.
    Left,
    /// It has to wait, and keeps those behind it off its nodes.
    Waits {
        /// Ready nodes that this takes out of the look.
        withdrawn: usize,
    },
}

impl Machine {
    /// Starts all that can start.
    pub(crate) fn dispatch(&mut self) {
        self.patience_ends = None;
        self.take_turns();
        while !self.queue.is_empty() {
            self.look_at_queue();
            if !self.take_turns() {
                break;
            }
        }
        if self.queue.is_empty() {
            self.start_low();
            if !self.mends.is_empty() {
                self.look_at_mends();
            }
        }
    }

    fn look_at_queue(&mut self) {
        self.look += 1;
        let (mut next, mut waits, mut reserved) = (self.queue.front(), 0, 0);
        while let Some(slot) = next
            && waits < LOOKAHEAD_MAX
            && self.nodes.totals().nodes_ready > reserved
        {
            next = self.queue.after(slot);
            let found = match self.requests.table[slot].work {
                Work::Read(_) => self.try_read(slot),
                Work::Write(_) => self.try_write(slot),
                Work::Mend(_) => unreachable!("mends have a queue of their own"),
            };
            match found {
                Found::Left => {}
                Found::Waits { withdrawn } => {
                    waits += 1;
                    reserved += withdrawn;
                    let ends = self.requests.table[slot].queued + self.settings.patience;
                    if ends > self.now {
                        self.patience_ends =
                            self.patience_ends.map_or(Some(ends), |e| Some(e.min(ends)));
                    }
                }
            }
        }
    }

    fn look_at_mends(&mut self) {
        self.look += 1;
        let (mut next, mut waits, mut reserved) = (self.mends.front(), 0, 0);
        while let Some(slot) = next
            && waits < LOOKAHEAD_MAX
            && self.nodes.totals().nodes_ready > reserved
        {
            next = self.mends.after(slot);
            match self.try_mend(slot) {
                Found::Left => {}
                Found::Waits { withdrawn } => {
                    waits += 1;
                    reserved += withdrawn;
                }
            }
        }
    }

    /// Whether a waiting request has waited for the set patience.
    pub(crate) fn is_impatient(&self, slot: u32) -> bool {
        self.now >= self.requests.table[slot].queued + self.settings.patience
    }

    /// Keeps those behind off every node: the look is over.
    pub(crate) fn wait_for_any(&self) -> Found {
        Found::Waits { withdrawn: self.nodes.totals().nodes_ready }
    }

    /// A request leaves its queue to be served by these tasks.
    pub(crate) fn leave_queue(&mut self, slot: u32, code: Code) {
        let entry = &mut self.requests.table[slot];
        entry.progress = Progress::Serving;
        let (request, write, waited) = (entry.id, entry.is_write(), self.now - entry.queued);
        if entry.is_mend() {
            self.mends.remove(slot);
        } else {
            self.queue.remove(slot);
            self.serving += 1;
            self.shaped_starts(slot);
        }
        self.actions.push(crate::Action::Report(Report::Started { request, write, code, waited }));
    }

    /// Why a waiting request can not be done as things stand, if so.
    pub(crate) fn impossible(&self, slot: u32) -> Option<Cause> {
        match self.requests.table[slot].work {
            Work::Read(_) => self.read_impossible(slot),
            Work::Write(_) => self.write_impossible(slot),
            Work::Mend(_) => self.mend_impossible(slot),
        }
    }

    /// Fails the waiting requests that a node's loss has made impossible.
    pub(crate) fn fail_impossible(&mut self) {
        let mut next = self.queue.front();
        while let Some(slot) = next {
            next = self.queue.after(slot);
            if let Some(cause) = self.impossible(slot) {
                self.answer(slot, Err(cause));
            }
        }
        let mut next = self.mends.front();
        while let Some(slot) = next {
            next = self.mends.after(slot);
            if let Some(cause) = self.impossible(slot) {
                self.answer(slot, Err(cause));
            }
        }
        for slot in self.awaiting_their_turn() {
            if let Some(cause) = self.impossible(slot) {
                self.answer(slot, Err(cause));
            }
        }
    }
}
