use crate::{
    Action, Cause, Machine, Operation, Report, Request,
    request::{Entry, Fragment, FragmentState, NOWHERE, Progress, Read, Work, Write},
    shaper::{Kind, Shaped},
};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_model::{Code, CodeError, NodeId, RequestId, StripSet, TenantId};
use ripstop_policy::{Chunking, Class, Load, Redundancy};

/// When to try again after the queue was full: it is empty again by then, or nothing helps.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A request whose code is chosen.
struct Plan {
    /// The code (n,k) of its fragments, if they are one.
    storage: Result<Code, CodeError>,
    chunk_bytes: u32,
    strips: u8,
    together: bool,
    k: usize,
    extra: usize,
    redundancy: Redundancy,
    work: Work,
    fragments: Vec<Fragment>,
}

impl Plan {
    /// One fragment of one strip suffices, and there is no redundancy.
    fn new(chunk_bytes: u32, fragments: Vec<Fragment>, work: Work) -> Self {
        let (storage, redundancy) = (Code::new(1, 1), Redundancy::Eager);
        let (strips, together, k, extra) = (1, false, 1, 0);
        Self { storage, chunk_bytes, strips, together, k, extra, redundancy, work, fragments }
    }
}

/// What requests like this one are told apart by for what they cost; none for mends, which no tenant
/// asks for.
fn kind(request: &Request) -> Option<Kind> {
    let (operation, strips) = match request.operation {
        Operation::Read { wanted, .. } => (ripstop_policy::Operation::Read, wanted.iter().count()),
        Operation::ReadShared { k, .. } => (ripstop_policy::Operation::Read, usize::from(k)),
        Operation::Write { n, .. } => (ripstop_policy::Operation::Write, usize::from(n)),
        Operation::WriteUnique { k, .. } => (ripstop_policy::Operation::Write, usize::from(k)),
        Operation::Mend { .. } => return None,
    };
    Some(Kind { operation, bytes: u64::from(request.strip_bytes) * strips as u64 })
}

impl Machine {
    pub(crate) fn arrived(&mut self, request: &Request) {
        if self.requests.find(request.id).is_some() {
            return;
        }
        let (waiting, max) = match request.operation {
            Operation::Mend { .. } => (self.mends.len(), self.settings.mends_waiting_max),
            Operation::Read { .. }
            | Operation::Write { .. }
            | Operation::ReadShared { .. }
            | Operation::WriteUnique { .. } => {
                (self.queue.len() + self.encoding, self.settings.requests_waiting_max)
            }
        };
        let kind = kind(request);
        let shaped = match (&mut self.shaper, kind) {
            (Some(shaper), Some(kind)) => shaper.admit(self.now, request.tenant, kind).map(Some),
            _ if waiting >= max => Err(RETRY_AFTER),
            _ => Ok(None),
        };
        let (id, tenant) = (request.id, request.tenant);
        match shaped {
            Err(retry_after) => {
                self.actions.push(Action::Report(Report::Refused { request: id, tenant }));
                self.actions.push(Action::Reject { request: id, retry_after });
            }
            Ok(shaped) => {
                if let Some(shaped) = &shaped {
                    let tier = shaped.tier;
                    let report = Report::Admitted { request: id, tenant, tier };
                    self.actions.push(Action::Report(report));
                }
                let plan = self.plan(request);
                self.admit(id, tenant, shaped, plan);
            }
        }
    }

    /// What a request comes to, its code chosen.
    fn plan(&mut self, request: &Request) -> Plan {
        let strip_bytes = request.strip_bytes;
        match request.operation {
            Operation::Read { k, wanted, ref places } => {
                let end = wanted.iter().last().map_or(0, |last| last + 1);
                let read = Read { wanted, have: StripSet::EMPTY, around: false };
                let fragments = self.read_fragments(places, end.max(usize::from(k)));
                let direction = ripstop_policy::Operation::Read;
                self.plan_strips(direction, strip_bytes, k, fragments, Work::Read(read))
            }
            Operation::Write { n, k } => {
                let untried = Fragment::new(NOWHERE, FragmentState::Untried);
                let fragments = self.fragments(untried, usize::from(n));
                let group = self.placed.next_group().filter(|_| n > 1);
                let write = Write { group, durable: 0, retried: false, former: Vec::new() };
                let direction = ripstop_policy::Operation::Write;
                self.plan_strips(direction, strip_bytes, k, fragments, Work::Write(write))
            }
            Operation::ReadShared { n, k, node } => {
                let place = node.and_then(|id| self.nodes.find(id)).unwrap_or(NOWHERE);
                let wanted = StripSet::EMPTY;
                let read = Read { wanted, have: StripSet::EMPTY, around: true };
                let direction = ripstop_policy::Operation::Read;
                let mut plan =
                    self.plan_runs(direction, strip_bytes, (n, k), place, Work::Read(read));
                if node.is_none() {
                    plan.fragments.iter_mut().for_each(|f| f.state = FragmentState::Lost);
                }
                plan
            }
            Operation::WriteUnique { n, k } => {
                let write = Write { group: None, durable: 0, retried: false, former: Vec::new() };
                let direction = ripstop_policy::Operation::Write;
                self.plan_runs(direction, strip_bytes, (n, k), NOWHERE, Work::Write(write))
            }
            Operation::Mend { fragment, node, ref taken } => {
                let (fragments, mend) = self.mend_fragments(fragment, node, taken);
                let work = Work::Mend(mend);
                Plan {
                    storage: Code::new(fragments.len(), 1),
                    ..Plan::new(strip_bytes, fragments, work)
                }
            }
        }
    }

    /// The plan of a request whose strips are at nodes of their own.
    fn plan_strips(
        &mut self,
        operation: ripstop_policy::Operation,
        strip_bytes: u32,
        k: u8,
        fragments: Vec<Fragment>,
        work: Work,
    ) -> Plan {
        let storage = Code::new(fragments.len(), usize::from(k));
        let mut plan =
            Plan { storage, k: usize::from(k), ..Plan::new(strip_bytes, fragments, work) };
        if let Ok(code) = storage {
            let class = Class { operation, strip_bytes, code, chunking: Chunking::Strip };
            let choice = self.policy.choose(self.now, &class, self.load());
            plan.extra = choice.code.parity();
            plan.redundancy = choice.redundancy;
        }
        plan
    }

    /// The plan of a request whose chunks are runs of strips at one node.
    fn plan_runs(
        &mut self,
        operation: ripstop_policy::Operation,
        strip_bytes: u32,
        (n, k): (u8, u8),
        place: u16,
        mut work: Work,
    ) -> Plan {
        let storage = Code::new(usize::from(n), usize::from(k));
        let Ok(code) = storage else {
            return Plan { storage, ..Plan::new(strip_bytes, Vec::new(), work) };
        };
        let class = Class { operation, strip_bytes, code, chunking: Chunking::Run };
        let choice = self.policy.choose(self.now, &class, self.load());
        let k = class.k_below(choice.code.k());
        // What is to be durable is stored, whatever is quickest.
        let least = match work {
            Work::Write(_) => k + usize::from(self.settings.answer_extra),
            Work::Read(_) | Work::Mend(_) => k,
        };
        let chosen = class.nearest(choice.code.n().max(least), k);
        let (chunks, state) = match &mut work {
            Work::Read(read) => {
                read.wanted = StripSet::first(chosen.k());
                // A node we were not told of may be back one day: not lost.
                let known = place != NOWHERE;
                let state = if known { FragmentState::Untried } else { FragmentState::Refused };
                (class.n_max(chosen.k()), state)
            }
            Work::Write(_) | Work::Mend(_) => (chosen.n(), FragmentState::Untried),
        };
        let strips = (code.k() / chosen.k()) as u8;
        let bytes = strip_bytes.saturating_mul(u32::from(strips));
        let fragments = self.fragments(Fragment::new(place, state), chunks);
        Plan {
            storage: Code::new(chunks, chosen.k()),
            strips,
            together: true,
            k: chosen.k(),
            extra: chosen.parity(),
            redundancy: choice.redundancy,
            ..Plan::new(bytes, fragments, work)
        }
    }

    /// So many fragments, none tried yet.
    fn fragments(&mut self, fragment: Fragment, count: usize) -> Vec<Fragment> {
        let mut fragments = self.requests.spare();
        fragments.resize(count, fragment);
        fragments
    }

    /// The fragments of a read, at least `len` of them.
    fn read_fragments(&mut self, places: &[Option<NodeId>], len: usize) -> Vec<Fragment> {
        let missing = Fragment::new(NOWHERE, FragmentState::Lost);
        let mut fragments = self.requests.spare();
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

    fn admit(&mut self, id: RequestId, tenant: TenantId, shaped: Option<Shaped>, plan: Plan) {
        let Plan { storage, .. } = plan;
        let entry = Entry {
            id,
            tenant,
            arrived: self.now,
            queued: self.now,
            progress: Progress::Waiting,
            chunk_bytes: plan.chunk_bytes,
            strips: plan.strips,
            together: plan.together,
            k: plan.k,
            extra: plan.extra,
            redundancy: plan.redundancy,
            open: 0,
            has_spares: false,
            hedge: None,
            work: plan.work,
            shaped,
            fragments: plan.fragments,
        };
        let (mend, write) = (entry.is_mend(), entry.is_write());
        let slot = self.requests.insert(entry);
        if mend {
            assert!(self.mends.push(slot), "there is room: the limit was looked at");
        } else if write && storage.is_ok() && self.impossible(slot).is_none() {
            self.requests.table[slot].progress = Progress::Encoding;
            self.encoding += 1;
            let code = storage.expect("it was looked at");
            self.actions.push(Action::Encode { request: id, code });
            return;
        } else {
            self.line_up(slot);
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
        self.line_up(slot);
        if let Some(cause) = self.impossible(slot) {
            self.answer(slot, Err(cause));
        }
    }

    /// What a policy may know of the load.
    pub fn load(&self) -> Load {
        let totals = self.nodes.totals();
        Load {
            backlog: self.queue.len() + self.shaper.as_ref().map_or(0, |shaper| shaper.len()),
            lanes: totals.lanes_up,
            lanes_idle: totals.lanes_up - totals.lanes_up_busy,
            lanes_redundant: self.tasks.redundant,
            tasks_waiting: self.tasks.queues.needed(),
            serving: self.serving,
        }
    }
}
