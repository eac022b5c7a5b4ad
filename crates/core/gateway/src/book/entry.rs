use super::{
    draft::Draft,
    fragment::{Fragment, FragmentState},
    work::{Mend, Read, Work, Write},
};
use alloc::vec::Vec;
use core::mem;
use ripstop_model::{RequestId, TenantId, Timestamp};
use ripstop_policy::Redundancy;
use ripstop_scheduling::{FragmentIndex, NodeIndex, TaskSlot};

/// Where a request is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Its parity is being computed.
    Encoding,
    /// In the request queue, or in that of the mends.
    Waiting,
    /// Its tasks are under way.
    Serving,
    /// Enough strips arrived; the wanted ones are being computed.
    Decoding,
    /// Answered; tasks may be under way still.
    Answered {
        /// Whether it was done as asked.
        done: bool,
    },
}

impl Progress {
    pub(crate) fn is_answered(self) -> bool {
        match self {
            Self::Answered { .. } => true,
            Self::Encoding | Self::Waiting | Self::Serving | Self::Decoding => false,
        }
    }

    /// Whether it has left the queue and is not answered.
    pub(crate) fn is_serving(self) -> bool {
        match self {
            Self::Serving | Self::Decoding => true,
            Self::Encoding | Self::Waiting | Self::Answered { .. } => false,
        }
    }
}

/// A request from arrival to settlement.
#[derive(Debug)]
pub(crate) struct Entry {
    id: RequestId,
    tenant: TenantId,
    arrived: Timestamp,
    /// When it joined the queue: patience runs from here, not from arrival, since encoding is no
    /// wait for nodes.
    queued: Timestamp,
    progress: Progress,
    chunk_bytes: u32,
    strips: u8,
    together: bool,
    k: usize,
    extra: usize,
    redundancy: Redundancy,
    /// Tasks that have not ended, cancelled ones counted: a request is settled when there is none.
    open: u32,
    /// Whether the redundant tasks that a read did not begin with were made: they are made once.
    has_spares: bool,
    work: Work,
    fragments: Vec<Fragment>,
}

impl Entry {
    #[inline]
    pub(crate) fn new(id: RequestId, tenant: TenantId, now: Timestamp, draft: Draft) -> Self {
        Self {
            id,
            tenant,
            arrived: now,
            queued: now,
            progress: Progress::Waiting,
            chunk_bytes: draft.chunk_bytes,
            strips: draft.strips,
            together: draft.together,
            k: draft.k,
            extra: draft.extra,
            redundancy: draft.redundancy,
            open: 0,
            has_spares: false,
            work: draft.work,
            fragments: draft.fragments,
        }
    }

    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    pub(crate) fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub(crate) fn arrived(&self) -> Timestamp {
        self.arrived
    }

    /// When it joined the queue.
    pub(crate) fn queued(&self) -> Timestamp {
        self.queued
    }

    pub(crate) fn set_queued(&mut self, now: Timestamp) {
        self.queued = now;
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// For the book alone, which counts requests by it.
    pub(super) fn progress_mut(&mut self) -> &mut Progress {
        &mut self.progress
    }

    /// Bytes that each task moves.
    pub(crate) fn chunk_bytes(&self) -> u32 {
        self.chunk_bytes
    }

    /// Strips in a chunk.
    pub(crate) fn strips(&self) -> u8 {
        self.strips
    }

    /// Whether all fragments belong at one node.
    pub(crate) fn is_together(&self) -> bool {
        self.together
    }

    /// Fragments that suffice.
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    /// Tasks that are to be made: those that suffice and the redundant ones.
    pub(crate) fn n(&self) -> usize {
        self.k + self.extra
    }

    /// Redundant tasks beyond the needed ones.
    pub(crate) fn extra(&self) -> usize {
        self.extra
    }

    pub(crate) fn redundancy(&self) -> Redundancy {
        self.redundancy
    }

    /// Tasks that have not ended.
    pub(crate) fn open(&self) -> u32 {
        self.open
    }

    pub(crate) fn has_spares(&self) -> bool {
        self.has_spares
    }

    pub(crate) fn note_spares(&mut self) {
        self.has_spares = true;
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    pub(crate) fn read(&self) -> &Read {
        match &self.work {
            Work::Read(read) => read,
            Work::Write(_) | Work::Mend(_) => unreachable!("only reads come here"),
        }
    }

    pub(crate) fn read_mut(&mut self) -> &mut Read {
        match &mut self.work {
            Work::Read(read) => read,
            Work::Write(_) | Work::Mend(_) => unreachable!("only reads come here"),
        }
    }

    pub(crate) fn write(&self) -> &Write {
        match &self.work {
            Work::Write(write) => write,
            Work::Read(_) | Work::Mend(_) => unreachable!("only writes come here"),
        }
    }

    pub(crate) fn write_mut(&mut self) -> &mut Write {
        match &mut self.work {
            Work::Write(write) => write,
            Work::Read(_) | Work::Mend(_) => unreachable!("only writes come here"),
        }
    }

    pub(crate) fn mend(&self) -> &Mend {
        match &self.work {
            Work::Mend(mend) => mend,
            Work::Read(_) | Work::Write(_) => unreachable!("only mends come here"),
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        match self.work {
            Work::Read(_) => false,
            Work::Write(_) | Work::Mend(_) => true,
        }
    }

    pub(crate) fn is_mend(&self) -> bool {
        match self.work {
            Work::Mend(_) => true,
            Work::Read(_) | Work::Write(_) => false,
        }
    }

    /// Whether it is a read that wants no strip.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        match &self.work {
            Work::Read(read) => read.wanted.is_empty(),
            Work::Write(_) | Work::Mend(_) => false,
        }
    }

    /// Whether tasks that still run make no difference to the answer.
    pub(crate) fn is_decided(&self) -> bool {
        match self.progress {
            Progress::Decoding | Progress::Answered { .. } => true,
            Progress::Encoding | Progress::Waiting | Progress::Serving => false,
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.progress == Progress::Waiting
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.progress.is_answered()
    }

    /// By index in the stripe.
    pub(crate) fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    pub(crate) fn fragment(&self, index: FragmentIndex) -> Fragment {
        self.fragments[index.get()]
    }

    /// The indices of its fragments.
    pub(crate) fn indices(&self) -> impl Iterator<Item = FragmentIndex> + Clone + use<> {
        (0..self.fragments.len()).map(FragmentIndex::new)
    }

    #[inline]
    pub(crate) fn count(&self, state: FragmentState) -> usize {
        self.fragments.iter().filter(|fragment| fragment.is(state)).count()
    }

    pub(crate) fn set(&mut self, index: FragmentIndex, state: FragmentState) {
        self.fragments[index.get()].set(state);
    }

    /// Gives a place to a fragment that was not tried.
    pub(crate) fn set_place(&mut self, index: FragmentIndex, node: NodeIndex) {
        self.fragments[index.get()].set_place(node);
    }

    /// Gives a fragment its place. The former one, if any, may still hold it.
    #[inline]
    pub(crate) fn move_to(&mut self, index: FragmentIndex, node: NodeIndex) {
        if let Some(place) = self.fragments[index.get()].move_to(node) {
            match &mut self.work {
                Work::Read(_) => {}
                Work::Write(Write { former, .. }) | Work::Mend(Mend { former, .. }) => {
                    former.push(place);
                }
            }
        }
    }

    /// A task was made for a fragment.
    #[inline]
    pub(crate) fn task_made(&mut self, index: FragmentIndex, node: NodeIndex, task: TaskSlot) {
        self.open += 1;
        self.move_to(index, node);
        self.fragments[index.get()].open(task);
    }

    /// Separates a fragment from its task. Said before anything else follows from the task's end,
    /// so that what follows never meets a task that is gone.
    #[inline]
    pub(crate) fn close(&mut self, index: FragmentIndex) {
        let fragment = &mut self.fragments[index.get()];
        debug_assert!(fragment.is(FragmentState::Open));
        fragment.set(FragmentState::Unavailable);
    }

    /// A task of a fragment gave way: that was no try.
    pub(crate) fn forget_try(&mut self, index: FragmentIndex) {
        self.fragments[index.get()].forget_try();
    }

    /// One of its tasks is gone.
    pub(crate) fn task_gone(&mut self) {
        self.open -= 1;
    }

    /// What is left of it when it is settled.
    #[inline]
    pub(super) fn take_fragments(&mut self) -> Vec<Fragment> {
        mem::take(&mut self.fragments)
    }
}
