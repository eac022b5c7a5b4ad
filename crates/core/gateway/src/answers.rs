use crate::{
    Action, AfterAnswer, Cause, Machine, Report,
    request::{FragmentState, NOWHERE, Progress, Work},
};
use ripstop_model::RequestId;

impl Machine {
    /// Answers a request, once; what is left of it is cancelled or, for a write that was done,
    /// treated as set.
    pub(crate) fn answer(&mut self, slot: u32, result: Result<(), Cause>) {
        let done = result.is_ok();
        let queued = !self.shaped_answered(slot, done);
        let entry = &mut self.requests.table[slot];
        let (id, write, took) = (entry.id, entry.is_write(), self.now - entry.arrived);
        let mend = entry.is_mend();
        let shaped = entry.shaped.as_ref();
        let entry_shape = (entry.tenant, shaped.and_then(|shaped| shaped.tier));
        match core::mem::replace(&mut entry.progress, Progress::Answered { done }) {
            Progress::Encoding => self.encoding -= 1,
            Progress::Waiting if queued => {
                let queue = if mend { &mut self.mends } else { &mut self.queue };
                queue.remove(slot);
            }
            Progress::Waiting => {}
            Progress::Serving | Progress::Decoding => self.serving -= usize::from(!mend),
            Progress::Answered { .. } => unreachable!("a request is answered once"),
        }
        self.requests.timeouts.stop(slot);
        self.requests.degraded.stop(slot);
        self.requests.late.stop(slot);
        self.stop_hedge(slot);
        self.actions.push(match result {
            Ok(()) => Action::Complete(id),
            Err(cause) => Action::Fail(id, cause),
        });
        let (tenant, tier) = entry_shape;
        let report = Report::Answered { request: id, tenant, tier, write, took, done };
        self.actions.push(Action::Report(report));
        match self.requests.table[slot].work {
            Work::Write(_) if done => self.after_answer(slot),
            Work::Read(_) | Work::Write(_) | Work::Mend(_) => self.cancel_open(slot),
        }
        self.settle_if_over(slot);
    }

    fn after_answer(&mut self, slot: u32) {
        match self.settings.after_answer {
            AfterAnswer::Continue => self.each_open(slot, Self::leave),
            AfterAnswer::Background => self.each_open(slot, |machine, slot, fragment| {
                machine.postpone(slot, fragment);
                machine.leave(slot, fragment);
            }),
            AfterAnswer::Cancel => self.cancel_open(slot),
            AfterAnswer::Leave => self.each_open(slot, |machine, slot, fragment| {
                if machine.is_waiting(slot, fragment) {
                    machine.cancel(slot, fragment);
                }
            }),
        }
    }

    /// Cancels all tasks of a request.
    pub(crate) fn cancel_open(&mut self, slot: u32) {
        self.each_open(slot, Self::cancel);
    }

    fn each_open(&mut self, slot: u32, visit: fn(&mut Self, u32, usize)) {
        for fragment in 0..self.requests.table[slot].fragments.len() {
            if self.requests.table[slot].fragments[fragment].is(FragmentState::Open) {
                visit(self, slot, fragment);
            }
        }
    }

    /// Says the last word of a request that is answered and has no task left.
    pub(crate) fn settle_if_over(&mut self, slot: u32) {
        let entry = &self.requests.table[slot];
        if !entry.is_answered() || entry.open > 0 {
            return;
        }
        let entry = self.requests.remove(slot);
        if let Some(shaped) = &entry.shaped {
            self.shaped_settled(shaped);
        }
        let stored = match entry.work {
            Work::Read(_) => alloc::vec::Vec::new(),
            Work::Write(_) | Work::Mend(_) => entry
                .fragments
                .iter()
                .map(|fragment| {
                    let stored = fragment.is(FragmentState::Done) && fragment.place != NOWHERE;
                    stored.then(|| self.nodes[fragment.place].id())
                })
                .collect(),
        };
        self.actions.push(Action::Settle { request: entry.id, stored });
        self.requests.recycle(entry.fragments);
    }

    pub(crate) fn abandoned(&mut self, id: RequestId) {
        if let Some(slot) = self.requests.find(id)
            && !self.requests.table[slot].is_answered()
        {
            self.answer(slot, Err(Cause::Abandoned));
        }
    }
}
