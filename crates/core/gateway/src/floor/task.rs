//! How a task comes to its lane.

use super::Floor;
use crate::{
    book::{Book, Timer},
    face::{Action, Exit},
};
use core::mem;
use ripstop_model::TaskId;
use ripstop_scheduling::{
    FragmentIndex, NodeIndex, Priority, RequestSlot, Stage, TaskRecord, TaskSlot,
};

/// A task that is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTask {
    pub request: RequestSlot,
    pub fragment: FragmentIndex,
    /// One that is up.
    pub node: NodeIndex,
    pub priority: Priority,
    /// Redundant tasks of its request that come before it.
    pub rank: u8,
    /// Whether it is beyond the k that its request needs.
    pub extra: bool,
}

impl NewTask {
    /// One that its request cannot do without.
    #[inline]
    pub(crate) fn needed(request: RequestSlot, fragment: FragmentIndex, node: NodeIndex) -> Self {
        Self { request, fragment, node, priority: Priority::Needed, rank: 0, extra: false }
    }

    /// The one of this `rank` among those that a read or a unique write begins with or makes when
    /// it is late, of which `needed` are needed: where the fragment is, as the request's redundancy
    /// has it.
    #[inline]
    pub(crate) fn ranked(
        book: &Book,
        request: RequestSlot,
        fragment: FragmentIndex,
        rank: usize,
        needed: usize,
    ) -> Self {
        let entry = &book[request];
        let node = entry.fragment(fragment).node();
        let extra = rank >= needed;
        match entry.redundancy().spare_rank(rank, needed) {
            Some(rank) => {
                let priority = Priority::Redundant;
                Self { request, fragment, node, priority, rank, extra }
            }
            None => Self { extra, ..Self::needed(request, fragment, node) },
        }
    }
}

impl Floor {
    /// Makes a task for a fragment: on a lane if one is idle and the task is needed, else in the
    /// node's queue.
    pub(crate) fn submit(&mut self, book: &mut Book, exit: &mut Exit, new: NewTask) {
        let NewTask { request, fragment, node, priority, rank, extra } = new;
        let now = exit.now();
        let task = self.tasks.insert(TaskRecord {
            request,
            node,
            fragment,
            priority,
            rank,
            stage: Stage::Waiting,
            extra,
            left: false,
            queued: now,
            started: now,
            stopped: now,
        });
        book[request].task_made(fragment, node, task);
        if priority == Priority::Needed && self.nodes[node].is_ready() {
            self.run(book, exit, task);
        } else {
            self.queues.push(node, priority, rank, task);
            self.nodes.join(node, priority == Priority::Needed);
        }
    }

    /// Starts what waits at a node and is needed.
    pub(crate) fn start_needed(&mut self, book: &mut Book, exit: &mut Exit, node: NodeIndex) {
        while self.has_lane(node)
            && let Some(task) = self.queues.first_needed(node)
        {
            self.unqueue(book, task);
            self.run(book, exit, task);
        }
    }

    /// Starts what waits at nodes for lanes that nobody else wants.
    pub(crate) fn start_low(&mut self, book: &mut Book, exit: &mut Exit) {
        if self.queues.low() == 0 {
            return;
        }
        for node in self.nodes.indices() {
            while self.has_lane(node)
                && let Some(task) = self.queues.first(node)
                && self.may_fill(book, task)
            {
                self.unqueue(book, task);
                self.run(book, exit, task);
            }
        }
    }

    /// The task that is first in line at a node.
    pub(crate) fn first_waiting(&self, node: NodeIndex) -> Option<TaskSlot> {
        self.queues.first(node)
    }

    /// Whether enough lanes stay idle beside a task that is not needed.
    fn may_fill(&self, book: &Book, task: TaskSlot) -> bool {
        let record = &self.tasks[task];
        let node = &self.nodes[record.node];
        record.priority != Priority::Redundant
            || book[record.request].redundancy().may_fill(node.lanes(), node.busy())
    }

    fn has_lane(&self, node: NodeIndex) -> bool {
        let lanes = &self.nodes[node];
        lanes.is_up() && lanes.busy() < lanes.lanes()
    }

    #[inline]
    pub(super) fn run(&mut self, book: &mut Book, exit: &mut Exit, task: TaskSlot) {
        let record = &mut self.tasks[task];
        record.stage = Stage::Running;
        record.started = exit.now();
        let record = *record;
        self.nodes.start(record.node);
        self.running += 1;
        book.timers_mut().start(exit.now(), Timer::Task(task));
        let entry = &book[record.request];
        if record.priority == Priority::Redundant {
            self.redundant += 1;
            if entry.redundancy().gives_way() {
                self.preemptible.push(record.node, task);
            }
        }
        let started = self.describe(entry, task, &record);
        exit.say(Action::StartTask(started));
    }

    /// Takes a task out of its node's queue.
    pub(super) fn unqueue(&mut self, book: &Book, task: TaskSlot) {
        let record = &mut self.tasks[task];
        let (node, priority, rank) = (record.node, record.priority, record.rank);
        if mem::take(&mut record.left) {
            self.left_bytes -= u64::from(book[record.request].chunk_bytes());
        }
        self.queues.remove(node, priority, rank, task);
        self.nodes.leave(node, priority == Priority::Needed);
    }

    /// The task of this id, if it is on a lane.
    #[inline]
    pub(crate) fn on_lane(&self, id: TaskId) -> Option<(TaskSlot, TaskRecord)> {
        let task = self.tasks.find(id.0)?;
        let record = self.tasks[task];
        (record.stage != Stage::Waiting).then_some((task, record))
    }

    pub(crate) fn task(&self, task: TaskSlot) -> &TaskRecord {
        &self.tasks[task]
    }
}
