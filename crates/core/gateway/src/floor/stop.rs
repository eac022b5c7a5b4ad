//! How a task ends, or comes to wait behind others than it did.

use super::Floor;
use crate::{
    book::{Book, FragmentState, Timer},
    face::{Action, Exit, TaskOutcome},
};
use core::time::Duration;
use ripstop_model::TaskId;
use ripstop_scheduling::{FragmentIndex, Priority, RequestSlot, Stage, TaskRecord, TaskSlot};

impl Floor {
    /// A task gives its lane back. Its record stays until it is forgotten.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        task: TaskSlot,
        outcome: TaskOutcome,
    ) {
        let record = self.tasks[task];
        self.nodes.end(record.node);
        if record.stage == Stage::Cancelled {
            self.nodes.ending(record.node, false);
        }
        self.preemptible.remove(record.node, task);
        self.running -= 1;
        self.redundant -= usize::from(record.priority == Priority::Redundant);
        book.timers_mut().stop(Timer::Task(task));
        self.report_end(&book[record.request], exit, task, outcome);
    }

    /// Notes what a task that ended says about its node's pace; returns how long it was wanted
    /// on its lane.
    #[inline]
    pub(crate) fn note_pace(
        &mut self,
        exit: &Exit,
        record: &TaskRecord,
        outcome: TaskOutcome,
    ) -> Duration {
        let until = if record.stage == Stage::Cancelled { record.stopped } else { exit.now() };
        let served = until - record.started;
        self.paces.note(exit.now(), record.node, served, outcome == TaskOutcome::Done);
        served
    }

    /// Nothing is left of a task.
    pub(crate) fn forget(&mut self, task: TaskSlot) {
        self.tasks.discard(task);
    }

    /// A task that waits at a node which went down ends there.
    pub(crate) fn strand(&mut self, book: &Book, exit: &mut Exit, task: TaskSlot) -> TaskRecord {
        let record = self.tasks[task];
        self.unqueue(book, task);
        self.report_end(&book[record.request], exit, task, TaskOutcome::Unavailable);
        self.tasks.discard(task);
        record
    }

    /// Stops the task of a fragment that is open: drops it if it waits, else asks for its end.
    pub(crate) fn cancel(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        request: RequestSlot,
        fragment: FragmentIndex,
    ) {
        let task = book[request].fragment(fragment).task();
        book[request].close(fragment);
        match self.tasks[task].stage {
            Stage::Waiting => {
                self.unqueue(book, task);
                self.report_end(&book[request], exit, task, TaskOutcome::Cancelled);
                self.tasks.discard(task);
                book[request].task_gone();
            }
            Stage::Running | Stage::Cancelled => self.stop(book, exit, task),
        }
    }

    /// Tells a task on a lane to stop.
    pub(crate) fn stop(&mut self, book: &mut Book, exit: &mut Exit, task: TaskSlot) {
        let record = &mut self.tasks[task];
        if record.stage == Stage::Running {
            self.nodes.ending(record.node, true);
        }
        record.stage = Stage::Cancelled;
        record.stopped = exit.now();
        self.preemptible.remove(record.node, task);
        book.timers_mut().stop(Timer::Task(task));
        exit.say(Action::CancelTask(TaskId(self.tasks.key(task))));
    }

    /// Makes the task of a fragment that is open needed, if it was not.
    pub(crate) fn promote(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        request: RequestSlot,
        fragment: FragmentIndex,
    ) {
        let task = book[request].fragment(fragment).task();
        let record = self.tasks[task];
        if record.priority != Priority::Redundant {
            return;
        }
        match record.stage {
            Stage::Waiting => {
                self.unqueue(book, task);
                self.tasks[task].priority = Priority::Needed;
                if self.nodes[record.node].is_ready() {
                    self.run(book, exit, task);
                } else {
                    self.queues.push(record.node, Priority::Needed, 0, task);
                    self.nodes.join(record.node, true);
                }
            }
            Stage::Running | Stage::Cancelled => {
                self.preemptible.remove(record.node, task);
                self.redundant -= 1;
                self.tasks[task].priority = Priority::Needed;
            }
        }
    }

    /// A request that lost something must not wait for lanes that nobody else wants: its redundant
    /// tasks are needed now.
    pub(crate) fn promote_open(&mut self, book: &mut Book, exit: &mut Exit, request: RequestSlot) {
        for fragment in book[request].indices() {
            if book[request].fragment(fragment).is(FragmentState::Open) {
                self.promote(book, exit, request, fragment);
            }
        }
    }

    /// Moves the task of a fragment that is open behind everything else, if it still waits.
    pub(crate) fn postpone(&mut self, book: &Book, request: RequestSlot, fragment: FragmentIndex) {
        let task = book[request].fragment(fragment).task();
        let record = self.tasks[task];
        if record.stage == Stage::Waiting && record.priority != Priority::Background {
            self.unqueue(book, task);
            self.tasks[task].priority = Priority::Background;
            self.queues.push(record.node, Priority::Background, 0, task);
            self.nodes.join(record.node, false);
        }
    }

    /// Lets the task of a fragment of an answered request wait on, if it does wait and the bytes of
    /// such tasks stay within their limit; else drops it.
    pub(crate) fn leave(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        request: RequestSlot,
        fragment: FragmentIndex,
    ) {
        if !self.is_waiting(book, request, fragment) {
            return;
        }
        let bytes = self.left_bytes + u64::from(book[request].chunk_bytes());
        if bytes > self.left_bytes_max {
            self.cancel(book, exit, request, fragment);
        } else {
            let task = book[request].fragment(fragment).task();
            self.left_bytes = bytes;
            self.tasks[task].left = true;
        }
    }

    /// Whether the task of a fragment that is open waits for a lane.
    pub(crate) fn is_waiting(
        &self,
        book: &Book,
        request: RequestSlot,
        fragment: FragmentIndex,
    ) -> bool {
        let task = book[request].fragment(fragment).task();
        self.tasks[task].stage == Stage::Waiting
    }
}
