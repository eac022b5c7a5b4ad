//! Redundant tasks give way: a lane is never held by a task that its request can do without while
//! a needed one waits.
//!
//! Each node is asked for as many lanes as needed work wants there: tasks that wait, and the first
//! tasks of the requests at the head of the queue. What is idle, or about to be since its task was
//! told to stop, counts; what lacks is taken from the redundant tasks that have run for the shortest
//! time.

use crate::{
    Machine,
    queue::LOOKAHEAD_MAX,
    request::{FragmentState, Work},
};
use ripstop_policy::Redundancy;
use ripstop_scheduling::Priority;

impl Machine {
    pub(crate) fn preempt(&mut self) {
        if self.tasks.preemptible.is_empty()
            || (self.queue.is_empty() && self.tasks.queues.needed() == 0)
        {
            return;
        }
        self.claims.clear();
        self.claims.extend(self.nodes.iter().map(|node| node.needed_waiting() as u32));
        let (mut next, mut seen) = (self.queue.front(), 0);
        while let Some(slot) = next
            && seen < LOOKAHEAD_MAX
        {
            self.claim(slot);
            next = self.queue.after(slot);
            seen += 1;
        }
        for node in 0..self.nodes.len() as u16 {
            while self.lacks(node)
                && let Some(task) = self.tasks.preemptible.youngest(node)
            {
                let record = self.tasks.table[task];
                self.close(record.request, record.fragment);
                self.stop(task);
                // It may begin again when a lane is left over once more.
                let entry = &mut self.requests.table[record.request];
                entry.fragments[usize::from(record.fragment)].tries -= 1;
                let (request, fragment) = (record.request, record.fragment);
                self.submit_rank(request, fragment, node, Priority::Redundant, record.rank);
            }
        }
    }

    /// Whether needed work claims more lanes of a node than are idle or about to be.
    fn lacks(&self, node: u16) -> bool {
        let lanes = &self.nodes[node];
        let coming = lanes.lanes() - lanes.busy() + lanes.ending();
        lanes.is_up() && self.claims[usize::from(node)] > u32::from(coming)
    }

    /// Claims the lanes that a waiting request begins on.
    fn claim(&mut self, slot: u32) {
        let entry = &self.requests.table[slot];
        if entry.together {
            let place = match entry.work {
                Work::Read(_) => entry.fragments[0].place,
                Work::Write(_) | Work::Mend(_) => self.least_claimed(),
            };
            let first = match entry.redundancy {
                Redundancy::Spare { at_once, .. } => entry.k.max(usize::from(at_once)),
                Redundancy::Eager | Redundancy::After(_) => entry.k,
            };
            self.claims[usize::from(place)] += first as u32;
            return;
        }
        let mut wanted =
            entry.k + usize::from(entry.is_write()) * usize::from(self.settings.answer_extra);
        let count = entry.fragments.len();
        // Two rounds: nodes that lack no lane first.
        for lacking in [false, true] {
            for at in 0..count {
                let node = match self.requests.table[slot].work {
                    Work::Read(_) => {
                        let fragment = self.requests.table[slot].fragments[at];
                        if !fragment.is(FragmentState::Untried) {
                            continue;
                        }
                        fragment.place
                    }
                    Work::Write(_) | Work::Mend(_) => ((self.turn + at) % self.nodes.len()) as u16,
                };
                let full = self.claims[usize::from(node)] >= u32::from(self.nodes[node].lanes());
                if wanted == 0 || !self.nodes[node].is_up() || full {
                    continue;
                }
                self.claims[usize::from(node)] += 1;
                if self.lacks(node) == lacking {
                    wanted -= 1;
                } else {
                    self.claims[usize::from(node)] -= 1;
                }
            }
        }
    }

    fn least_claimed(&self) -> u16 {
        let up = (0..self.nodes.len() as u16).filter(|&node| self.nodes[node].is_up());
        up.min_by_key(|&node| self.claims[usize::from(node)]).unwrap_or(0)
    }
}
