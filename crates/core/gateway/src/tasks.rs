use crate::{
    Action, Machine, Outcome, Report, Settings, Task, TaskEnd,
    request::{Entry, FragmentState},
};
use core::time::Duration;
use ripstop_model::{Operation, TaskId};
use ripstop_policy::{Redundancy, Sample};
use ripstop_scheduling::{
    Nodes, Preemptible, Priority, Stage, Table, TaskQueues, TaskRecord, Timeouts,
};

/// All tasks that have not ended.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub table: Table<TaskRecord>,
    pub queues: TaskQueues,
    /// Those on lanes that must give way.
    pub preemptible: Preemptible,
    /// From start to end.
    pub timeouts: Timeouts,
    running: usize,
    /// Tasks on lanes that are redundant.
    pub redundant: usize,
    /// Bytes of the tasks that wait although their requests are answered.
    pub left_bytes: u64,
}

impl Tasks {
    pub(crate) fn new(settings: &Settings, nodes: usize) -> Self {
        Self {
            table: Table::default(),
            queues: TaskQueues::new(nodes),
            preemptible: Preemptible::new(nodes),
            timeouts: Timeouts::new(settings.task_timeout),
            running: 0,
            redundant: 0,
            left_bytes: 0,
        }
    }

    /// Tasks that run or are being cancelled.
    pub(crate) fn on_lanes(&self) -> usize {
        self.running
    }

    pub(crate) fn count(&mut self, record: &TaskRecord, starts: bool) {
        let redundant = usize::from(record.priority == Priority::Redundant);
        if starts {
            self.running += 1;
            self.redundant += redundant;
        } else {
            self.running -= 1;
            self.redundant -= redundant;
        }
    }

    pub(crate) fn assert_invariants(&self, nodes: &Nodes) {
        let left = self.table.iter().filter(|(_, record)| record.left).count();
        assert!(left > 0 || self.left_bytes == 0, "bytes are left by tasks");
        for (index, node) in nodes.iter().enumerate() {
            let at = |record: &TaskRecord| usize::from(record.node) == index;
            let here = || self.table.iter().filter(|(_, record)| at(record));
            let waiting = here().filter(|(_, record)| record.stage == Stage::Waiting).count();
            assert_eq!(
                here().count() - waiting,
                usize::from(node.busy()),
                "lanes of {:?}",
                node.id()
            );
            assert_eq!(waiting, node.waiting());
            assert_eq!(waiting, self.queues.len(index as u16));
            assert!(node.busy() <= node.lanes());
            assert!(node.is_up() || waiting == 0, "nothing waits for a node that is down");
            let needed = self.queues.first_needed(index as u16);
            assert!(needed.is_none() || node.busy() == node.lanes(), "no lane idles beside need");
            let cancelled = here().filter(|(_, record)| record.stage == Stage::Cancelled).count();
            assert_eq!(cancelled, usize::from(node.ending()));
            let short = node.needed_waiting() > cancelled;
            let held = self.preemptible.len(index as u16) > 0;
            assert!(!short || !held || !node.is_up(), "what can be done without gives way");
        }
    }

    pub(crate) fn assert_fragments(&self, slot: u32, entry: &Entry) {
        for (index, fragment) in entry.fragments.iter().enumerate() {
            if fragment.is(FragmentState::Open) {
                let record = &self.table[fragment.task];
                assert_eq!((record.request, usize::from(record.fragment)), (slot, index));
                assert_eq!(record.node, fragment.place);
                assert_ne!(record.stage, Stage::Cancelled);
            }
        }
        let mine = self.table.iter().filter(|(_, record)| record.request == slot);
        assert_eq!(mine.count(), entry.open as usize);
    }
}

impl Machine {
    /// Makes a task for a fragment at a node that is up: on a lane if one is idle and the task is
    /// needed, else in the node's queue.
    pub(crate) fn submit(&mut self, request: u32, fragment: u8, node: u16, priority: Priority) {
        self.submit_rank(request, fragment, node, priority, 0);
    }

    /// The same for a task that so many redundant ones of its request come before.
    pub(crate) fn submit_rank(
        &mut self,
        request: u32,
        fragment: u8,
        node: u16,
        priority: Priority,
        rank: u8,
    ) {
        let now = self.now;
        let record = TaskRecord {
            request,
            node,
            fragment,
            priority,
            rank,
            stage: Stage::Waiting,
            extra: priority == Priority::Redundant,
            left: false,
            queued: now,
            started: now,
            stopped: now,
        };
        let task = self.tasks.table.insert(record);
        let entry = &mut self.requests.table[request];
        entry.open += 1;
        entry.move_to(usize::from(fragment), node);
        let fragment = &mut entry.fragments[usize::from(fragment)];
        debug_assert!(!fragment.is(FragmentState::Open) && !fragment.is(FragmentState::Done));
        fragment.state = FragmentState::Open;
        fragment.tries += 1;
        fragment.task = task;
        if priority == Priority::Needed && self.nodes[node].is_ready() {
            self.run(task);
        } else {
            self.tasks.queues.push(node, priority, rank, task);
            self.nodes.join(node, priority == Priority::Needed);
        }
    }

    /// Starts what waits at a node and is needed.
    pub(crate) fn start_needed(&mut self, node: u16) {
        while self.has_lane(node)
            && let Some(task) = self.tasks.queues.first_needed(node)
        {
            self.unqueue(task);
            self.run(task);
        }
    }

    /// Starts what waits at nodes for lanes that nobody else wants.
    pub(crate) fn start_low(&mut self) {
        if self.tasks.queues.low() == 0 {
            return;
        }
        for node in 0..self.nodes.len() as u16 {
            while self.has_lane(node)
                && let Some(task) = self.tasks.queues.first(node)
                && self.may_fill(task)
            {
                self.unqueue(task);
                self.run(task);
            }
        }
    }

    /// Whether enough lanes stay idle beside a task that is not needed.
    fn may_fill(&self, task: u32) -> bool {
        let record = &self.tasks.table[task];
        let node = &self.nodes[record.node];
        match self.requests.table[record.request].redundancy {
            Redundancy::Spare { keep_idle, .. } if record.priority == Priority::Redundant => {
                // A node with nothing to do does it in any case: nothing waits for ever.
                node.busy() == 0 || node.lanes() - node.busy() > keep_idle
            }
            Redundancy::Spare { .. } | Redundancy::Eager | Redundancy::After(_) => true,
        }
    }

    fn has_lane(&self, node: u16) -> bool {
        let lanes = &self.nodes[node];
        lanes.is_up() && lanes.busy() < lanes.lanes()
    }

    fn run(&mut self, task: u32) {
        let record = &mut self.tasks.table[task];
        record.stage = Stage::Running;
        record.started = self.now;
        let record = *record;
        self.nodes.start(record.node);
        self.tasks.count(&record, true);
        self.tasks.timeouts.start(self.now, task);
        let entry = &self.requests.table[record.request];
        if record.priority == Priority::Redundant
            && matches!(entry.redundancy, Redundancy::Spare { preemptible: true, .. })
        {
            self.tasks.preemptible.push(record.node, task);
        }
        let started = self.describe(task, &record);
        self.actions.push(Action::StartTask(started));
    }

    pub(crate) fn unqueue(&mut self, task: u32) {
        let record = &mut self.tasks.table[task];
        let (node, priority, rank) = (record.node, record.priority, record.rank);
        if core::mem::take(&mut record.left) {
            self.tasks.left_bytes -= u64::from(self.requests.table[record.request].chunk_bytes);
        }
        self.tasks.queues.remove(node, priority, rank, task);
        self.nodes.leave(node, priority == Priority::Needed);
    }

    fn describe(&self, task: u32, record: &TaskRecord) -> Task {
        let entry = &self.requests.table[record.request];
        Task {
            id: TaskId(self.tasks.table.key(task)),
            request: entry.id,
            node: self.nodes[record.node].id(),
            fragment: record.fragment,
            strips: entry.strips,
        }
    }

    pub(crate) fn report_task(&mut self, task: u32, record: &TaskRecord, outcome: Outcome) {
        let (waited, served) = match record.stage {
            Stage::Waiting => (self.now - record.queued, Duration::ZERO),
            Stage::Running | Stage::Cancelled => {
                (record.started - record.queued, self.now - record.started)
            }
        };
        let entry = &self.requests.table[record.request];
        let end = TaskEnd {
            task: self.describe(task, record),
            write: entry.is_write(),
            outcome,
            bytes: u64::from(entry.chunk_bytes),
            waited,
            served,
            extra: record.extra,
            redundant: entry.is_decided(),
        };
        self.actions.push(Action::Report(Report::Task(end)));
    }

    /// Lets the policy learn from a task that was on a lane.
    pub(crate) fn teach(&mut self, record: &TaskRecord, outcome: Outcome) {
        let until = if record.stage == Stage::Cancelled { record.stopped } else { self.now };
        self.paces.note(self.now, record.node, until - record.started, outcome == Outcome::Done);
        let finished = match outcome {
            Outcome::Done => true,
            Outcome::Cancelled => false,
            Outcome::Missing | Outcome::Damaged | Outcome::Unavailable | Outcome::Refused => return,
        };
        let entry = &self.requests.table[record.request];
        let sample = Sample {
            operation: if entry.is_write() { Operation::Write } else { Operation::Read },
            node: self.nodes[record.node].id(),
            bytes: u64::from(entry.chunk_bytes),
            served: until - record.started,
            finished,
        };
        self.policy.learn(self.now, &sample);
        if !finished {
            self.policy.learn_stopping(self.now - until);
        }
    }

    /// Stops the task of a fragment that is open: drops it if it waits, else asks for its end.
    pub(crate) fn cancel(&mut self, request: u32, fragment: usize) {
        let task = self.requests.table[request].fragments[fragment].task;
        self.close(request, fragment as u8);
        let record = self.tasks.table[task];
        match record.stage {
            Stage::Waiting => {
                self.unqueue(task);
                self.report_task(task, &record, Outcome::Cancelled);
                self.tasks.table.discard(task);
                self.requests.table[request].open -= 1;
            }
            Stage::Running | Stage::Cancelled => {
                self.stop(task);
            }
        }
    }

    /// Tells a task on a lane to stop.
    pub(crate) fn stop(&mut self, task: u32) {
        let record = &mut self.tasks.table[task];
        if record.stage == Stage::Running {
            self.nodes.ending(record.node, true);
        }
        record.stage = Stage::Cancelled;
        record.stopped = self.now;
        self.tasks.preemptible.remove(record.node, task);
        self.tasks.timeouts.stop(task);
        self.actions.push(Action::CancelTask(TaskId(self.tasks.table.key(task))));
    }

    /// Makes the task of a fragment that is open needed, if it was not.
    pub(crate) fn promote(&mut self, request: u32, fragment: usize) {
        let task = self.requests.table[request].fragments[fragment].task;
        let record = self.tasks.table[task];
        if record.priority != Priority::Redundant {
            return;
        }
        match record.stage {
            Stage::Waiting => {
                self.unqueue(task);
                self.tasks.table[task].priority = Priority::Needed;
                if self.nodes[record.node].is_ready() {
                    self.run(task);
                } else {
                    self.tasks.queues.push(record.node, Priority::Needed, 0, task);
                    self.nodes.join(record.node, true);
                }
            }
            Stage::Running | Stage::Cancelled => {
                self.tasks.preemptible.remove(record.node, task);
                self.tasks.redundant -= 1;
                self.tasks.table[task].priority = Priority::Needed;
            }
        }
    }

    /// Moves the task of a fragment that is open behind everything else, if it still waits.
    pub(crate) fn postpone(&mut self, request: u32, fragment: usize) {
        let task = self.requests.table[request].fragments[fragment].task;
        let record = self.tasks.table[task];
        if record.stage == Stage::Waiting && record.priority != Priority::Background {
            self.unqueue(task);
            self.tasks.table[task].priority = Priority::Background;
            self.tasks.queues.push(record.node, Priority::Background, 0, task);
            self.nodes.join(record.node, false);
        }
    }

    /// Lets the task of a fragment of an answered request wait on, if it does wait and the bytes of
    /// such tasks stay within their limit; else drops it.
    pub(crate) fn leave(&mut self, request: u32, fragment: usize) {
        if !self.is_waiting(request, fragment) {
            return;
        }
        let entry = &self.requests.table[request];
        let task = entry.fragments[fragment].task;
        let bytes = self.tasks.left_bytes + u64::from(entry.chunk_bytes);
        if bytes > self.settings.left_bytes_max {
            self.cancel(request, fragment);
        } else {
            self.tasks.left_bytes = bytes;
            self.tasks.table[task].left = true;
        }
    }

    /// Whether the task of a fragment that is open waits for a lane.
    pub(crate) fn is_waiting(&self, request: u32, fragment: usize) -> bool {
        let task = self.requests.table[request].fragments[fragment].task;
        self.tasks.table[task].stage == Stage::Waiting
    }
}
