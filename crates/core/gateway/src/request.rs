use crate::{Settings, shaper::Shaped};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::time::Duration;
use ripstop_model::{RequestId, StripSet, TenantId, Timestamp};
use ripstop_policy::Redundancy;
use ripstop_scheduling::{Table, Timeouts};

/// Most emptied lists of fragments that are kept.
const SPARE_MAX: usize = 1024;

/// The index of no node.
pub(crate) const NOWHERE: u16 = u16::MAX;

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
}

/// Where a fragment of a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FragmentState {
    /// No task was made for it.
    Untried,
    /// A task for it waits or runs.
    Open,
    /// It arrived, or is stored.
    Done,
    /// The last task for it did not get through; another may.
    Unavailable,
    /// It cannot be had, or stored, by this request.
    Refused,
    /// It is missing or damaged.
    Lost,
}

/// One fragment of a request's stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    /// Index of the node that holds it, or is to; [`NOWHERE`] if none.
    pub place: u16,
    pub tries: u8,
    pub state: FragmentState,
    /// Slot of its task while it is open.
    pub task: u32,
}

impl Fragment {
    pub(crate) fn new(place: u16, state: FragmentState) -> Self {
        Self { place, tries: 0, state, task: u32::MAX }
    }

    pub(crate) fn is(self, state: FragmentState) -> bool {
        self.state == state
    }
}

/// What kinds of request need to know beyond what all do.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Read(Read),
    Write(Write),
    Mend(Mend),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub wanted: StripSet,
    pub have: StripSet,
    /// Whether K strips are fetched, whichever, rather than just the wanted ones.
    pub around: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Where the plan wants it.
    pub group: Option<u16>,
    /// Fragments that are stored.
    pub durable: usize,
    /// Whether those that no node took were tried once more after a wait.
    pub retried: bool,
    /// Nodes that fragments were tried at before: they may hold one for all we know.
    pub former: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(crate) struct Mend {
    pub fragment: u8,
    /// Whether the machine chooses the node.
    pub anywhere: bool,
    /// Nodes that hold other fragments, or at which this one was tried.
    pub former: Vec<u16>,
}

/// A request from arrival to settlement.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub id: RequestId,
    pub tenant: TenantId,
    pub arrived: Timestamp,
    /// When it joined the queue.
    pub queued: Timestamp,
    pub progress: Progress,
    /// Bytes that each task moves.
    pub chunk_bytes: u32,
    /// Strips in a chunk.
    pub strips: u8,
    /// Whether all fragments belong at one node.
    pub together: bool,
    /// Fragments that suffice: the K of the storage code, the k of the chosen one in a shared fragment.
    pub k: usize,
    /// Redundant tasks beyond the needed ones.
    pub extra: usize,
    pub redundancy: Redundancy,
    /// Tasks that have not ended, cancelled ones counted.
    pub open: u32,
    /// Whether the redundant tasks that a read did not begin with were made.
    pub has_spares: bool,
    /// When its hedge is due, if it has one.
    pub hedge: Option<Timestamp>,
    pub work: Work,
    /// If there are tenants.
    pub shaped: Option<Shaped>,
    /// By index in the stripe.
    pub fragments: Vec<Fragment>,
}

impl Entry {
    pub(crate) fn count(&self, state: FragmentState) -> usize {
        self.fragments.iter().filter(|fragment| fragment.is(state)).count()
    }

    pub(crate) fn is_write(&self) -> bool {
        match self.work {
            Work::Read(_) => false,
            Work::Write(_) | Work::Mend(_) => true,
        }
    }

    /// Gives a fragment its place. One that it had before may hold it for all we know.
    pub(crate) fn move_to(&mut self, fragment: usize, node: u16) {
        let place = core::mem::replace(&mut self.fragments[fragment].place, node);
        if place != node && place != NOWHERE {
            match &mut self.work {
                Work::Read(_) => {}
                Work::Write(Write { former, .. }) | Work::Mend(Mend { former, .. }) => {
                    former.push(place);
                }
            }
        }
    }

    /// How many of its n tasks a read begins with; the others are made when it is late.
    pub(crate) fn begins_with(&self, n: usize) -> usize {
        match self.redundancy {
            Redundancy::Eager | Redundancy::Spare { spare_after: Duration::ZERO, .. } => n,
            Redundancy::Spare { at_once, .. } => n.min(self.k.max(usize::from(at_once))),
            Redundancy::After(_) => self.k,
        }
    }

    /// Whether it is a read that wants no strip.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        match &self.work {
            Work::Read(read) => read.wanted.is_empty(),
            Work::Write(_) | Work::Mend(_) => false,
        }
    }

    pub(crate) fn is_mend(&self) -> bool {
        match self.work {
            Work::Mend(_) => true,
            Work::Read(_) | Work::Write(_) => false,
        }
    }

    /// Whether tasks that still run make no difference to the answer.
    pub(crate) fn is_decided(&self) -> bool {
        match self.progress {
            Progress::Decoding | Progress::Answered { .. } => true,
            Progress::Encoding | Progress::Waiting | Progress::Serving => false,
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.progress.is_answered()
    }
}

/// All requests that are not settled, and their timeouts.
#[derive(Debug)]
pub(crate) struct Requests {
    pub table: Table<Entry>,
    by_id: BTreeMap<RequestId, u32>,
    /// Emptied, to be used again.
    spare: Vec<Vec<Fragment>>,
    /// From a request's start to when its redundant tasks are to start as well.
    pub hedges: BTreeSet<(Timestamp, u32)>,
    /// From arrival to answer.
    pub timeouts: Timeouts,
    /// From the least durability with which a write may be answered to its answer.
    pub degraded: Timeouts,
    /// From a read's start, while it has not enough and other fragments could help.
    pub late: Timeouts,
}

impl Requests {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            table: Table::default(),
            by_id: BTreeMap::new(),
            spare: Vec::new(),
            hedges: BTreeSet::new(),
            timeouts: Timeouts::new(settings.request_timeout),
            degraded: Timeouts::new(settings.degraded_after),
            late: Timeouts::new(settings.late_after),
        }
    }

    pub(crate) fn find(&self, id: RequestId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    pub(crate) fn insert(&mut self, entry: Entry) -> u32 {
        let (id, arrived) = (entry.id, entry.arrived);
        let slot = self.table.insert(entry);
        self.by_id.insert(id, slot);
        self.timeouts.start(arrived, slot);
        slot
    }

    /// An empty list of fragments.
    pub(crate) fn spare(&mut self) -> Vec<Fragment> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back the fragments of a settled request.
    pub(crate) fn recycle(&mut self, mut fragments: Vec<Fragment>) {
        if self.spare.len() < SPARE_MAX {
            fragments.clear();
            self.spare.push(fragments);
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Entry {
        let entry = self.table.remove(slot).expect("a request is settled once");
        self.by_id.remove(&entry.id);
        entry
    }
}
