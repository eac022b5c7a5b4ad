//! Where a write stores its fragments, and when it is durable enough.

use crate::{
    AfterAnswer, Cause, Machine, Outcome,
    queue::{Found, NO_LOOK},
    request::{Entry, FragmentState, NOWHERE, Progress, Work, Write},
};
use ripstop_model::Code;
use ripstop_scheduling::Priority;

fn parts(entry: &Entry) -> &Write {
    match &entry.work {
        Work::Write(write) => write,
        Work::Read(_) | Work::Mend(_) => unreachable!("only writes come here"),
    }
}

fn parts_mut(entry: &mut Entry) -> &mut Write {
    match &mut entry.work {
        Work::Write(write) => write,
        Work::Read(_) | Work::Mend(_) => unreachable!("only writes come here"),
    }
}

impl Machine {
    /// The least durable fragments with which a write may be answered, and those it aims at.
    fn write_goals(&self, slot: u32) -> (usize, usize) {
        let entry = &self.requests.table[slot];
        let n = entry.fragments.len();
        let goal = |extra: u8| n.min(entry.k + usize::from(extra));
        (goal(self.settings.answer_extra_min), goal(self.settings.answer_extra))
    }

    pub(crate) fn write_impossible(&self, slot: u32) -> Option<Cause> {
        let (least, _) = self.write_goals(slot);
        let least = if self.requests.table[slot].together { 1 } else { least };
        (self.nodes.totals().nodes_up < least).then_some(Cause::Unavailable)
    }

    pub(crate) fn try_write(&mut self, slot: u32) -> Found {
        if let Some(cause) = self.write_impossible(slot) {
            self.answer(slot, Err(cause));
            return Found::Left;
        }
        if self.requests.table[slot].together {
            return self.try_unique(slot);
        }
        let (least, goal) = self.write_goals(slot);
        let together = goal.min(self.nodes.totals().nodes_up);
        let enough = if self.is_impatient(slot) { 1 } else { together };
        if self.nodes.totals().nodes_ready < enough {
            return self.wait_for_any();
        }
        let all = self.requests.table[slot].fragments.len();
        let ready = self.gather_nodes(all, self.look, |_| true);
        if ready < enough || self.candidates.len() < least {
            return self.wait_for_any();
        }
        if let Some(group) = parts(&self.requests.table[slot]).group {
            let ready = self.prefer_group(group, all);
            if ready < enough && !self.is_impatient(slot) {
                return self.reserve_group(group);
            }
        }
        self.start_write(slot);
        Found::Left
    }

    /// Gathers `want` nodes anew, those of a group before all others, so that others only stand in for
    /// what the group cannot take. Returns how many of them are ready.
    fn prefer_group(&mut self, group: u16, want: usize) -> usize {
        self.gather_nodes(usize::MAX, self.look, |_| true);
        let members = self.placed.nodes(group);
        let (nodes, now) = (&self.nodes, self.now);
        let rank = |&candidate: &u64| {
            let node = candidate as u16;
            let member = members.binary_search(&node).is_ok() && !nodes[node].refuses(now);
            (!member, candidate)
        };
        self.candidates.sort_unstable_by_key(rank);
        self.candidates.truncate(want);
        self.candidates.iter().filter(|&&candidate| nodes[candidate as u16].is_ready()).count()
    }

    /// Keeps those behind off the nodes that a waiting write is to go to.
    fn reserve_group(&mut self, group: u16) -> Found {
        let (members, look) = (self.placed.nodes(group), self.look);
        let withdrawn = members.iter().filter(|&&node| self.nodes.reserve(node, look)).count();
        Found::Waits { withdrawn }
    }

    /// Gathers at most `want` nodes that can be given a task to store, best first: those that do not
    /// refuse, ready ones, then least work for each lane; equals take turns. The low two bytes are
    /// the node's index. Returns how many nodes are ready, gathered or not.
    pub(crate) fn gather_nodes(
        &mut self,
        want: usize,
        look: u64,
        usable: impl Fn(u16) -> bool,
    ) -> usize {
        let (count, mut ready) = (self.nodes.len(), 0);
        let turned = self.turn % count.max(1);
        self.candidates.clear();
        for (index, node) in self.nodes.iter().enumerate() {
            let has_room = node.has_room(self.settings.tasks_waiting_max);
            if !node.is_up() || node.is_reserved(look) || !has_room || !usable(index as u16) {
                continue;
            }
            ready += usize::from(node.is_ready());
            let refuses = u64::from(node.refuses(self.now));
            let busy = u64::from(!node.is_ready());
            let turn = ((index + count - turned) % count) as u64;
            let load = u64::from(node.load()) & 0x3fff_ffff;
            self.candidates
                .push(refuses << 63 | busy << 62 | load << 32 | turn << 16 | index as u64);
        }
        if self.candidates.len() > want {
            self.candidates.select_nth_unstable(want);
            self.candidates.truncate(want);
        }
        self.candidates.sort_unstable();
        ready
    }

    fn start_write(&mut self, slot: u32) {
        self.turn = self.turn.wrapping_add(1);
        let entry = &self.requests.table[slot];
        let all = entry.fragments.len();
        let n = all.min(self.candidates.len());
        let code = Code::new(n, entry.k.min(n)).expect("a write that waits has a code");
        self.leave_queue(slot, code);
        for index in 0..all {
            if index < n {
                let node = self.candidates[index] as u16;
                self.submit(slot, index as u8, node, Priority::Needed);
            } else {
                // No node is left that holds no other fragment: repair makes it when there is one.
                self.requests.table[slot].fragments[index].state = FragmentState::Refused;
            }
        }
    }

    pub(crate) fn write_chunk_ended(&mut self, slot: u32, fragment: u8, outcome: Outcome) {
        let index = usize::from(fragment);
        let entry = &mut self.requests.table[slot];
        match outcome {
            Outcome::Done => {
                entry.fragments[index].state = FragmentState::Done;
                parts_mut(entry).durable += 1;
            }
            Outcome::Missing
            | Outcome::Damaged
            | Outcome::Unavailable
            | Outcome::Refused
            | Outcome::Cancelled => {
                entry.fragments[index].state = FragmentState::Refused;
                let tries_left = entry.fragments[index].tries < self.settings.tries_max;
                if let Some(priority) = self.retry_priority(slot)
                    && tries_left
                {
                    let again = outcome == Outcome::Unavailable;
                    self.store_elsewhere(slot, fragment, again, priority);
                }
                self.make_up(slot);
            }
        }
        if !self.requests.table[slot].is_answered() {
            self.judge_write(slot);
        }
    }

    /// A write all of whose fragments go to one node.
    fn try_unique(&mut self, slot: u32) -> Found {
        self.gather_nodes(1, self.look, |_| true);
        let best = self.candidates.first().map(|&best| best as u16);
        let Some(node) = best.filter(|&node| self.nodes[node].is_ready()) else {
            return self.wait_for_any();
        };
        self.turn = self.turn.wrapping_add(1);
        let (_, goal) = self.write_goals(slot);
        let n = self.requests.table[slot].fragments.len();
        let code = Code::new(n, self.requests.table[slot].k).expect("it was chosen as one");
        self.leave_queue(slot, code);
        for index in 0..n {
            self.requests.table[slot].fragments[index].place = node;
            self.submit_ranked(slot, index as u8, index, goal);
        }
        Found::Left
    }

    /// A fragment failed at the one node: its redundant tasks are needed now, those that gave way too.
    fn make_up(&mut self, slot: u32) {
        if !self.requests.table[slot].together || self.requests.table[slot].is_answered() {
            return;
        }
        self.need_open(slot);
        let (_, goal) = self.write_goals(slot);
        for index in 0..self.requests.table[slot].fragments.len() {
            let entry = &self.requests.table[slot];
            let fragment = entry.fragments[index];
            let lacks = parts(entry).durable + entry.count(FragmentState::Open) < goal;
            let tries_left = fragment.tries < self.settings.tries_max;
            let gave_way = fragment.is(FragmentState::Unavailable) && tries_left;
            if lacks && gave_way && self.nodes[fragment.place].is_up() {
                self.submit(slot, index as u8, fragment.place, Priority::Needed);
            }
        }
    }

    /// How another try of a fragment runs, if there is to be one.
    fn retry_priority(&self, slot: u32) -> Option<Priority> {
        match self.requests.table[slot].progress {
            Progress::Answered { done: false } => None,
            Progress::Answered { done: true } => match self.settings.after_answer {
                AfterAnswer::Continue => Some(Priority::Needed),
                AfterAnswer::Background => Some(Priority::Background),
                AfterAnswer::Cancel | AfterAnswer::Leave => None,
            },
            Progress::Encoding | Progress::Waiting | Progress::Serving | Progress::Decoding => {
                Some(Priority::Needed)
            }
        }
    }

    /// Tries a fragment at a node that this stripe has not used, else at the same node `again`.
    fn store_elsewhere(&mut self, slot: u32, fragment: u8, again: bool, priority: Priority) {
        let index = usize::from(fragment);
        let entry = &self.requests.table[slot];
        let place = entry.fragments[index].place;
        if entry.together {
            if again && self.nodes[place].is_up() {
                self.submit(slot, fragment, place, priority);
            }
            return;
        }
        let used: alloc::vec::Vec<u16> = (entry.fragments.iter().map(|fragment| fragment.place))
            .chain(parts(entry).former.iter().copied())
            .collect();
        self.gather_nodes(1, NO_LOOK, |node| !used.contains(&node));
        if let Some(&best) = self.candidates.first() {
            self.submit(slot, fragment, best as u16, priority);
        } else if again && place != NOWHERE && self.nodes[place].is_up() {
            let has_room = self.nodes[place].has_room(self.settings.tasks_waiting_max);
            if has_room {
                self.submit(slot, fragment, place, priority);
            }
        }
    }

    /// Whether a node that is up and has no fragment of a write's stripe may take one if given time.
    fn may_be_stored_yet(&self, slot: u32) -> bool {
        let entry = &self.requests.table[slot];
        let has = |node: u16| {
            entry.fragments.iter().any(|at| at.place == node && at.is(FragmentState::Done))
        };
        let free = |node: u16| self.nodes[node].is_up() && !has(node);
        !entry.together && !parts(entry).retried && (0..self.nodes.len() as u16).any(free)
    }

    /// A write has waited for more fragments than it must have. What no node took is tried once more
    /// before it is answered without.
    pub(crate) fn write_waited(&mut self, slot: u32) {
        let entry = &mut self.requests.table[slot];
        let stuck = entry.count(FragmentState::Open) == 0 && !parts(entry).retried;
        if stuck && !entry.together {
            parts_mut(entry).retried = true;
            for index in 0..self.requests.table[slot].fragments.len() {
                if !self.requests.table[slot].fragments[index].is(FragmentState::Done) {
                    self.store_elsewhere(slot, index as u8, true, Priority::Needed);
                }
            }
            if self.requests.table[slot].count(FragmentState::Open) > 0 {
                self.requests.degraded.start(self.now, slot);
                return;
            }
        }
        self.answer(slot, Ok(()));
    }

    /// Answers a write that is durable enough, or never will be.
    fn judge_write(&mut self, slot: u32) {
        let (least, goal) = self.write_goals(slot);
        let entry = &self.requests.table[slot];
        let (durable, open) = (parts(entry).durable, entry.count(FragmentState::Open));
        let no_more = open == 0 && !self.may_be_stored_yet(slot);
        if durable >= goal || (durable >= least && no_more) {
            self.answer(slot, Ok(()));
        } else if durable + open < least {
            self.answer(slot, Err(Cause::Unavailable));
        } else if durable >= least && !self.requests.degraded.contains(slot) {
            self.requests.degraded.start(self.now, slot);
        }
    }
}
