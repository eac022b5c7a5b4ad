//! What follows from the end of a task.

use crate::{
    Machine, Outcome,
    request::{FragmentState, Work},
};
use ripstop_model::TaskId;
use ripstop_policy::Redundancy;
use ripstop_scheduling::{Stage, TaskRecord};

impl Machine {
    pub(crate) fn task_ended(&mut self, id: TaskId, outcome: Outcome) {
        let Some(task) = self.tasks.table.find(id.0) else { return };
        let record = self.tasks.table[task];
        if record.stage == Stage::Waiting {
            return;
        }
        self.nodes.end(record.node);
        if record.stage == Stage::Cancelled {
            self.nodes.ending(record.node, false);
        }
        self.tasks.preemptible.remove(record.node, task);
        self.tasks.count(&record, false);
        self.tasks.timeouts.stop(task);
        self.report_task(task, &record, outcome);
        self.charge(&record);
        self.teach(&record, outcome);
        self.tasks.table.discard(task);
        match record.stage {
            Stage::Waiting | Stage::Running => {
                self.close(record.request, record.fragment);
                self.note_health(record.node, record.request, outcome);
                self.chunk_ended(record.request, record.fragment, outcome);
            }
            Stage::Cancelled => {
                if outcome == Outcome::Done {
                    self.nodes.answered(record.node);
                    self.chunk_done_late(&record);
                }
            }
        }
        self.forget_task(record.request);
        self.start_needed(record.node);
    }

    /// Charges a request for the lane time of a task, unless that was to be had for nothing.
    fn charge(&mut self, record: &TaskRecord) {
        let entry = &mut self.requests.table[record.request];
        let spare = record.extra && matches!(entry.redundancy, Redundancy::Spare { .. });
        if let Some(shaped) = &mut entry.shaped
            && !spare
        {
            shaped.spent += self.now - record.started;
        }
    }

    /// A task was too long on its lane: its request does without it, the lane waits for its end.
    pub(crate) fn task_timed_out(&mut self, task: u32) {
        self.stop(task);
        let record = self.tasks.table[task];
        self.close(record.request, record.fragment);
        self.note_health(record.node, record.request, Outcome::Unavailable);
        self.chunk_ended(record.request, record.fragment, Outcome::Unavailable);
    }

    /// A task that waits at a node which went down.
    pub(crate) fn task_stranded(&mut self, task: u32) {
        let record = self.tasks.table[task];
        self.unqueue(task);
        self.report_task(task, &record, Outcome::Unavailable);
        self.tasks.table.discard(task);
        self.close(record.request, record.fragment);
        self.chunk_ended(record.request, record.fragment, Outcome::Unavailable);
        self.forget_task(record.request);
    }

    /// Parts a fragment from its task. Said before anything else follows from the task's end, so
    /// that what follows never meets a task that is gone.
    pub(crate) fn close(&mut self, request: u32, fragment: u8) {
        let fragment = &mut self.requests.table[request].fragments[usize::from(fragment)];
        debug_assert!(fragment.is(FragmentState::Open));
        fragment.state = FragmentState::Unavailable;
    }

    fn chunk_ended(&mut self, request: u32, fragment: u8, outcome: Outcome) {
        match self.requests.table[request].work {
            Work::Read(_) => self.read_chunk_ended(request, fragment, outcome),
            Work::Write(_) => self.write_chunk_ended(request, fragment, outcome),
            Work::Mend(_) => self.mend_chunk_ended(request, fragment, outcome),
        }
    }

    /// A cancelled task was done all the same: what it fetched or stored counts if nothing else
    /// did so meanwhile.
    fn chunk_done_late(&mut self, record: &TaskRecord) {
        let entry = &self.requests.table[record.request];
        let at = usize::from(record.fragment);
        let state = entry.fragments[at].state;
        if state == FragmentState::Done || (!entry.is_write() && entry.is_decided()) {
            return;
        }
        if state == FragmentState::Open {
            self.cancel(record.request, at);
        }
        self.requests.table[record.request].move_to(at, record.node);
        self.chunk_ended(record.request, record.fragment, Outcome::Done);
    }

    fn forget_task(&mut self, request: u32) {
        self.requests.table[request].open -= 1;
        self.settle_if_over(request);
    }
}
