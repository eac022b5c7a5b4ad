use super::Floor;
use crate::{
    book::Entry,
    face::{Exit, Report, Task, TaskEnd, TaskOutcome},
};
use core::time::Duration;
use ripstop_model::TaskId;
use ripstop_scheduling::{Stage, TaskRecord, TaskSlot};

impl Floor {
    /// A task as the driver knows it.
    #[inline]
    pub(super) fn describe(&self, entry: &Entry, task: TaskSlot, record: &TaskRecord) -> Task {
        Task {
            id: TaskId(self.tasks.key(task)),
            request: entry.id(),
            node: self.nodes[record.node].id(),
            fragment: record.fragment.0,
            strips: entry.strips(),
        }
    }

    /// Says that a task ended, and what it took.
    pub(super) fn report_end(
        &self,
        entry: &Entry,
        exit: &mut Exit,
        task: TaskSlot,
        outcome: TaskOutcome,
    ) {
        let record = &self.tasks[task];
        let (waited, served) = match record.stage {
            Stage::Waiting => (exit.now() - record.queued, Duration::ZERO),
            Stage::Running | Stage::Cancelled => {
                (record.started - record.queued, exit.now() - record.started)
            }
        };
        exit.report(Report::Task(TaskEnd {
            task: self.describe(entry, task, record),
            write: entry.is_write(),
            outcome,
            bytes: u64::from(entry.chunk_bytes()),
            waited,
            served,
            extra: record.extra,
            redundant: entry.is_decided(),
        }));
    }
}
