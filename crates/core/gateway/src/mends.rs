//! Fragments computed anew: one task each, behind everything else.

use crate::{
    Cause, Machine, Outcome,
    queue::{Found, NO_LOOK},
    request::{Entry, Fragment, FragmentState, Mend, NOWHERE, Work},
};
use alloc::{vec, vec::Vec};
use ripstop_model::{Code, NodeId};
use ripstop_scheduling::Priority;

fn parts(entry: &Entry) -> &Mend {
    match &entry.work {
        Work::Mend(mend) => mend,
        Work::Read(_) | Work::Write(_) => unreachable!("only mends come here"),
    }
}

impl Machine {
    pub(crate) fn mend_fragments(
        &self,
        fragment: u8,
        node: Option<NodeId>,
        taken: &[NodeId],
    ) -> (Vec<Fragment>, Mend) {
        let none = Fragment::new(NOWHERE, FragmentState::Refused);
        let mut fragments = vec![none; usize::from(fragment) + 1];
        let place = node.and_then(|id| self.nodes.find(id)).unwrap_or(NOWHERE);
        fragments[usize::from(fragment)] = Fragment::new(place, FragmentState::Untried);
        let former = taken.iter().filter_map(|&id| self.nodes.find(id)).collect();
        (fragments, Mend { fragment, anywhere: node.is_none(), former })
    }

    fn mend_place(&self, slot: u32) -> u16 {
        let entry = &self.requests.table[slot];
        entry.fragments[usize::from(parts(entry).fragment)].place
    }

    pub(crate) fn mend_impossible(&self, slot: u32) -> Option<Cause> {
        let mend = parts(&self.requests.table[slot]);
        let possible = if mend.anywhere {
            let free = |node: &u16| self.nodes[*node].is_up() && !mend.former.contains(node);
            (0..self.nodes.len() as u16).any(|node| free(&node))
        } else {
            let place = self.mend_place(slot);
            place != NOWHERE && self.nodes[place].is_up()
        };
        (!possible).then_some(Cause::Unavailable)
    }

    pub(crate) fn try_mend(&mut self, slot: u32) -> Found {
        if let Some(cause) = self.mend_impossible(slot) {
            self.answer(slot, Err(cause));
            return Found::Left;
        }
        let Some(node) = self.mend_node(slot, self.look) else {
            let place = self.mend_place(slot);
            if place == NOWHERE {
                return self.wait_for_any();
            }
            return Found::Waits { withdrawn: usize::from(self.nodes.reserve(place, self.look)) };
        };
        if !self.nodes[node].is_ready() {
            return if parts(&self.requests.table[slot]).anywhere {
                self.wait_for_any()
            } else {
                Found::Waits { withdrawn: usize::from(self.nodes.reserve(node, self.look)) }
            };
        }
        let fragment = parts(&self.requests.table[slot]).fragment;
        self.leave_queue(slot, Code::new(1, 1).expect("(1,1) is a code"));
        self.submit(slot, fragment, node, Priority::Needed);
        Found::Left
    }

    /// The best node for a mend that can be given a task.
    fn mend_node(&mut self, slot: u32, look: u64) -> Option<u16> {
        if !parts(&self.requests.table[slot]).anywhere {
            let place = self.mend_place(slot);
            let node = &self.nodes[place];
            let has_room = node.has_room(self.settings.tasks_waiting_max);
            return (node.is_up() && !node.is_reserved(look) && has_room).then_some(place);
        }
        let place = self.mend_place(slot);
        let former = parts(&self.requests.table[slot]).former.clone();
        self.gather_nodes(1, look, |node| node != place && !former.contains(&node));
        self.candidates.first().map(|&best| best as u16)
    }

    pub(crate) fn mend_chunk_ended(&mut self, slot: u32, fragment: u8, outcome: Outcome) {
        let index = usize::from(fragment);
        let tries_max = self.settings.tries_max;
        let entry = &mut self.requests.table[slot];
        let place = entry.fragments[index].place;
        let state = &mut entry.fragments[index].state;
        let answered = entry.progress.is_answered();
        if outcome == Outcome::Done {
            *state = FragmentState::Done;
            if !answered {
                self.answer(slot, Ok(()));
            }
            return;
        }
        *state = FragmentState::Refused;
        if answered {
            return;
        }
        let may_retry = entry.fragments[index].tries < tries_max;
        let again = outcome == Outcome::Unavailable;
        let anywhere = parts(&self.requests.table[slot]).anywhere;
        let next = if may_retry && (anywhere || again) {
            self.mend_node(slot, NO_LOOK).or_else(|| {
                let node = &self.nodes[place];
                let has_room = node.has_room(self.settings.tasks_waiting_max);
                (again && node.is_up() && has_room).then_some(place)
            })
        } else {
            None
        };
        match next {
            Some(node) => self.submit(slot, fragment, node, Priority::Background),
            None => self.answer(slot, Err(Cause::Unavailable)),
        }
    }
}
