use crate::{
    Action, Cause, Machine, Operation, Request,
    request::{Entry, Fragment, FragmentState, NOWHERE, Progress, Read, Work, Write},
};
use alloc::{vec, vec::Vec};
use ripstop_model::{Code, NodeId, RequestId, StripSet};
use ripstop_policy::{Class, Load, Redundancy};

impl Machine {
    pub(crate) fn arrived(&mut self, request: Request) {
        if self.requests.find(request.id).is_some() {
            return;
        }
        let (waiting, max) = match request.operation {
            Operation::Mend { .. } => (self.mends.len(), self.settings.mends_waiting_max),
            Operation::Read { .. } | Operation::Write { .. } => {
                (self.queue.len() + self.encoding, self.settings.requests_waiting_max)
            }
        };
        if waiting >= max {
            self.actions.push(Action::Reject(request.id));
            return;
        }
        let (k, fragments, work) = match request.operation {
            Operation::Read { k, wanted, places } => {
                let end = wanted.iter().last().map_or(0, |last| last + 1);
                let read = Read { wanted, have: StripSet::EMPTY, around: false };
                (k, self.read_fragments(&places, end.max(usize::from(k))), Work::Read(read))
            }
            Operation::Write { n, k } => {
                let fragment = Fragment::new(NOWHERE, FragmentState::Untried);
                let write = Write { durable: 0, former: Vec::new() };
                (k, vec![fragment; usize::from(n)], Work::Write(write))
            }
            Operation::Mend { fragment, node, taken } => {
                let (fragments, mend) = self.mend_fragments(fragment, node, &taken);
                (1, fragments, Work::Mend(mend))
            }
        };
        self.admit(request.id, request.strip_bytes, usize::from(k), fragments, work);
    }

    /// The fragments of a read, at least `len` of them.
    fn read_fragments(&self, places: &[Option<NodeId>], len: usize) -> Vec<Fragment> {
        let missing = Fragment::new(NOWHERE, FragmentState::Lost);
        let mut fragments = Vec::with_capacity(places.len().max(len));
        fragments.extend(places.iter().map(|place| match place.map(|id| self.nodes.find(id)) {
            None => missing,
            // A node we were not told of may be back one day: not lost.
            Some(None) => Fragment::new(NOWHERE, FragmentState::Refused),
            Some(Some(node)) => Fragment::new(node, FragmentState::Untried),
        }));
        if fragments.len() < len {
            fragments.resize(len, missing);
        }
        fragments
    }

    fn admit(
        &mut self,
        id: RequestId,
        strip_bytes: u32,
        k: usize,
        fragments: Vec<Fragment>,
        work: Work,
    ) {
        let storage = Code::new(fragments.len(), k);
        let mut entry = Entry {
            id,
            arrived: self.now,
            queued: self.now,
            progress: Progress::Waiting,
            strip_bytes,
            k,
            extra: 0,
            redundancy: Redundancy::Eager,
            open: 0,
            work,
            fragments,
        };
        if let Ok(code) = storage {
            let operation = match entry.work {
                Work::Read(_) => Some(ripstop_policy::Operation::Read),
                Work::Write(_) => Some(ripstop_policy::Operation::Write),
                Work::Mend(_) => None,
            };
            if let Some(operation) = operation {
                let class = Class { operation, strip_bytes, code };
                let choice = self.policy.choose(self.now, &class, self.load());
                entry.extra = choice.code.parity();
                entry.redundancy = choice.redundancy;
            }
        }
        let (mend, write) = (entry.is_mend(), entry.is_write());
        let slot = self.requests.insert(entry);
        if mend {
            assert!(self.mends.push(slot), "there is room: the limit was looked at");
        } else if write && storage.is_ok() && self.impossible(slot).is_none() {
            self.requests.table[slot].progress = Progress::Encoding;
            self.encoding += 1;
            self.actions.push(Action::Encode(id));
            return;
        } else {
            assert!(self.queue.push(slot), "there is room: the limit was looked at");
        }
        if storage.is_err() {
            self.answer(slot, Err(Cause::Lost));
        } else if let Some(cause) = self.impossible(slot) {
            self.answer(slot, Err(cause));
        } else if self.requests.table[slot].has_nothing_to_do() {
            self.answer(slot, Ok(()));
        }
    }

    pub(crate) fn encoded(&mut self, id: RequestId) {
        let Some(slot) = self.requests.find(id) else { return };
        let entry = &mut self.requests.table[slot];
        if entry.progress != Progress::Encoding {
            return;
        }
        entry.progress = Progress::Waiting;
        entry.queued = self.now;
        self.encoding -= 1;
        assert!(self.queue.push(slot), "writes being encoded count as waiting");
        if let Some(cause) = self.impossible(slot) {
            self.answer(slot, Err(cause));
        }
    }

    /// What a policy may know of the load.
    pub fn load(&self) -> Load {
        let totals = self.nodes.totals();
        Load {
            backlog: self.queue.len(),
            lanes: totals.lanes_up,
            lanes_idle: totals.lanes_up - totals.lanes_up_busy,
            lanes_redundant: self.tasks.redundant,
            serving: self.serving,
        }
    }
}
