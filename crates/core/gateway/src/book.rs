//! The requests that are not settled, from arrival to settlement, and their timers.

mod draft;
mod entry;
mod fragment;
mod timers;
mod work;

pub(crate) use draft::Draft;
pub(crate) use entry::{Entry, Progress};
pub(crate) use fragment::{Fragment, FragmentState};
pub(crate) use timers::{Timer, Timers};
pub(crate) use work::{Mend, Read, Work, Write};

use crate::face::MachineSettings;
use alloc::{collections::BTreeMap, vec::Vec};
use core::{
    mem,
    ops::{Index, IndexMut},
};
use ripstop_model::RequestId;
use ripstop_scheduling::{RequestSlot, Table};

/// Most emptied lists of fragments that are kept.
const SPARE_MAX: usize = 1024;

/// All requests that are not settled, and the timers.
#[derive(Debug)]
pub(crate) struct Book {
    table: Table<RequestSlot, Entry>,
    by_id: BTreeMap<RequestId, RequestSlot>,
    /// Emptied lists of fragments: a request that takes one allocates nothing.
    spare: Vec<Vec<Fragment>>,
    timers: Timers,
    /// Writes whose parity is being computed: the queue keeps places for them.
    encoding: usize,
    /// Reads and writes that have left the queue and are not answered: what policies see.
    serving: usize,
}

impl Book {
    pub(crate) fn new(settings: &MachineSettings) -> Self {
        Self {
            table: Table::default(),
            by_id: BTreeMap::new(),
            spare: Vec::new(),
            timers: Timers::new(settings),
            encoding: 0,
            serving: 0,
        }
    }

    #[inline]
    pub(crate) fn find(&self, id: RequestId) -> Option<RequestSlot> {
        self.by_id.get(&id).copied()
    }

    /// Takes a request in; its time runs from now on.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry) -> RequestSlot {
        let (id, arrived) = (entry.id(), entry.arrived());
        let slot = self.table.insert(entry);
        self.by_id.insert(id, slot);
        self.timers.start(arrived, Timer::Request(slot));
        slot
    }

    /// Takes a settled request out, and its fragments back. It is dropped where it is: moving it
    /// costs as much as all else that is done here.
    #[inline]
    pub(crate) fn settle(&mut self, slot: RequestSlot) {
        let entry = &mut self.table[slot];
        self.by_id.remove(&entry.id());
        let mut fragments = entry.take_fragments();
        self.table.discard(slot);
        if self.spare.len() < SPARE_MAX {
            fragments.clear();
            self.spare.push(fragments);
        }
    }

    /// The request is there from now on; returns where it was.
    #[inline]
    pub(crate) fn advance(&mut self, slot: RequestSlot, to: Progress) -> Progress {
        let entry = &mut self.table[slot];
        let from = mem::replace(entry.progress_mut(), to);
        let counts = usize::from(!entry.is_mend());
        self.encoding += usize::from(to == Progress::Encoding);
        self.encoding -= usize::from(from == Progress::Encoding);
        self.serving += usize::from(to.is_serving()) * counts;
        self.serving -= usize::from(from.is_serving()) * counts;
        from
    }

    /// An empty list of fragments.
    #[inline]
    pub(crate) fn spare(&mut self) -> Vec<Fragment> {
        self.spare.pop().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    #[inline]
    pub(crate) fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Writes whose parity is being computed.
    pub(crate) fn encoding(&self) -> usize {
        self.encoding
    }

    /// Reads and writes that have left the queue and are not answered.
    pub(crate) fn serving(&self) -> usize {
        self.serving
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RequestSlot, &Entry)> {
        self.table.iter()
    }

    /// What must hold between any two events: requests are found, run out and are counted as they
    /// are.
    pub(crate) fn assert_invariants(&self) {
        let (mut encoding, mut serving) = (0, 0);
        for (slot, entry) in self.table.iter() {
            assert_eq!(self.find(entry.id()), Some(slot));
            assert!(!entry.is_answered() || entry.open() > 0, "what is over is settled");
            assert_eq!(self.timers.runs_for_request(slot), !entry.is_answered());
            encoding += usize::from(entry.progress() == Progress::Encoding);
            serving += usize::from(entry.progress().is_serving() && !entry.is_mend());
        }
        assert_eq!((encoding, serving), (self.encoding, self.serving));
    }
}

impl Index<RequestSlot> for Book {
    type Output = Entry;
    #[inline]
    fn index(&self, slot: RequestSlot) -> &Entry {
        &self.table[slot]
    }
}

impl IndexMut<RequestSlot> for Book {
    #[inline]
    fn index_mut(&mut self, slot: RequestSlot) -> &mut Entry {
        &mut self.table[slot]
    }
}
