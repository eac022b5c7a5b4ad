//! Batches that have departed and not ended.

use crate::{BatchId, Fate, WriteTicket};
use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;
use ripstop_model::Timestamp;

/// One batch under way.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) id: BatchId,
    /// Those that are answered with it, in their order.
    pub(crate) answers: Vec<(WriteTicket, Fate)>,
    pub(crate) left: usize,
    pub(crate) bytes: u64,
    pub(crate) departed: Timestamp,
    pub(crate) held: Option<Duration>,
    pub(crate) since_departure: Option<Duration>,
    is_stored: bool,
    is_committing: bool,
}

impl Outgoing {
    pub(crate) fn new(
        id: BatchId,
        departed: Timestamp,
        held: Option<Duration>,
        since_departure: Option<Duration>,
    ) -> Self {
        let (answers, left, bytes) = (Vec::new(), 0, 0);
        let (is_stored, is_committing) = (false, false);
        Self { id, answers, left, bytes, departed, held, since_departure, is_stored, is_committing }
    }
}

/// Batches under way, by departure.
#[derive(Default, Debug)]
pub(crate) struct Outstanding(VecDeque<Outgoing>);

impl Outstanding {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.0.push_back(outgoing);
    }

    fn place(&self, id: BatchId) -> Option<usize> {
        self.0.binary_search_by_key(&id, |outgoing| outgoing.id).ok()
    }

    pub(crate) fn store(&mut self, id: BatchId) {
        if let Some(place) = self.place(id) {
            self.0[place].is_stored = true;
        }
    }

    /// The batch that may commit now: the first, once it is stored.
    pub(crate) fn commit(&mut self) -> Option<BatchId> {
        let first = self.0.front_mut()?;
        let may = first.is_stored && !first.is_committing;
        first.is_committing |= may;
        may.then_some(first.id)
    }

    /// Takes out one that ended; none if there is no such, or if it was committed without being
    /// told to.
    pub(crate) fn end(&mut self, id: BatchId, is_committed: bool) -> Option<Outgoing> {
        let place = self.place(id)?;
        if is_committed && !self.0[place].is_committing {
            return None;
        }
        self.0.remove(place)
    }
}
