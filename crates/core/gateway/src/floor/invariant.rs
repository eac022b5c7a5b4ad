use super::Floor;
use crate::book::{Book, FragmentState};
use ripstop_scheduling::{FragmentIndex, Stage, TaskRecord};

impl Floor {
    /// What must hold after each event: what the nodes count is what runs.
    pub(crate) fn debug_assert_lanes(&self) {
        debug_assert_eq!(self.nodes.totals().lanes_busy, self.running);
    }

    /// What must hold between any two events: lanes, queues and fragments agree with the tasks.
    pub(crate) fn assert_invariants(&self, book: &Book) {
        let left = self.tasks.iter().filter(|(_, record)| record.left).count();
        assert!(left > 0 || self.left_bytes == 0, "bytes are left by tasks");
        for (index, node) in self.nodes.iter() {
            let here = || self.tasks.iter().filter(|(_, record)| record.node == index);
            let at = |stage: Stage| here().filter(|(_, record)| record.stage == stage).count();
            let waiting = at(Stage::Waiting);
            let id = node.id();
            assert_eq!(here().count() - waiting, usize::from(node.busy()), "lanes of {id:?}");
            assert_eq!(waiting, node.waiting());
            assert_eq!(waiting, self.queues.len(index));
            assert!(node.is_up() || waiting == 0, "nothing waits for a node that is down");
            let needed = self.queues.first_needed(index);
            assert!(needed.is_none() || node.busy() >= node.lanes(), "no lane idles beside need");
            let cancelled = at(Stage::Cancelled);
            assert_eq!(cancelled, usize::from(node.ending()));
            let short = node.needed_waiting() > cancelled;
            let held = self.preemptible.len(index) > 0;
            assert!(!short || !held || !node.is_up(), "what can be done without gives way");
        }
        self.assert_fragments(book);
    }

    /// Each task is counted by its request, and is that of its fragment while the fragment is open.
    fn assert_fragments(&self, book: &Book) {
        let mut open = 0;
        for (slot, entry) in book.iter() {
            for (index, fragment) in entry.fragments().iter().enumerate() {
                if fragment.is(FragmentState::Open) {
                    let record: &TaskRecord = &self.tasks[fragment.task()];
                    assert_eq!(record.request, slot);
                    assert_eq!(record.fragment, FragmentIndex::new(index));
                    assert_eq!(record.node, fragment.node());
                    assert_ne!(record.stage, Stage::Cancelled);
                }
            }
            let mine = self.tasks.iter().filter(|(_, record)| record.request == slot);
            assert_eq!(mine.count(), entry.open() as usize);
            open += entry.open() as usize;
        }
        assert_eq!(open, self.tasks.len(), "each task is counted by its request");
    }
}
