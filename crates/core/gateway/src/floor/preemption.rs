//! Redundant tasks give way: a lane is never held by a task that its request can do without while
//! a needed one waits.
//!
//! Each node is asked for as many lanes as needed work wants there: tasks that wait, and the first
//! tasks of the requests at the head of the queue. What is idle, or about to be since its task was
//! told to stop, counts; what lacks is taken from the redundant tasks that have run for the
//! shortest time.

use super::{Floor, Need, NewTask};
use crate::{book::Book, face::Exit};
use ripstop_scheduling::{Priority, RequestSlot};

impl Floor {
    /// Whether any task would give way.
    pub(crate) fn may_preempt(&self) -> bool {
        !self.preemptible.is_empty()
    }

    /// Takes lanes from redundant tasks for needed work: for tasks that wait at nodes, and for the
    /// requests at the head of the queue.
    pub(crate) fn preempt(
        &mut self,
        book: &mut Book,
        exit: &mut Exit,
        waiting: impl Iterator<Item = RequestSlot>,
        need: &Need,
    ) {
        let mut waiting = waiting.peekable();
        if waiting.peek().is_none() && self.queues.needed() == 0 {
            return;
        }
        self.claims.count_waiting(&self.nodes);
        for slot in waiting {
            self.claims.add(&self.nodes, &book[slot], need);
        }
        for node in self.nodes.indices() {
            while self.claims.exceed(&self.nodes, node)
                && let Some(task) = self.preemptible.youngest(node)
            {
                let record = self.tasks[task];
                let (request, fragment) = (record.request, record.fragment);
                book[request].close(fragment);
                self.stop(book, exit, task);
                // It may begin again when a lane is left over once more, and that it gave way says
                // nothing of the fragment: it was no try, and it stays beyond what is needed.
                book[request].forget_try(fragment);
                let (priority, rank) = (Priority::Redundant, record.rank);
                let again = NewTask { request, fragment, node, priority, rank, extra: true };
                self.submit(book, exit, again);
            }
        }
    }
}
