use ripstop_model::StripeId;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

/// Stripes that are known not to be of small objects, at most; beyond that all are looked at again.
const OTHERS_MAX: usize = 65_536;
/// After how long they are: what held one may have changed as it was looked at.
const KNOWN_FOR: Duration = Duration::from_hours(1);

/// Stripes that look as if they held one small object, and do not: parts of larger objects, say.
#[derive(Debug)]
pub(super) struct Others {
    known: HashSet<StripeId>,
    since: Instant,
}

impl Others {
    pub(super) fn new() -> Self {
        Self { known: HashSet::new(), since: ripstop_host::now() }
    }

    pub(super) fn add(&mut self, id: StripeId) {
        if self.known.len() >= OTHERS_MAX {
            self.known.clear();
        }
        self.known.insert(id);
    }

    /// Forgets them all when it is time.
    pub(super) fn expire(&mut self) {
        if ripstop_host::since(self.since) > KNOWN_FOR {
            *self = Self::new();
        }
    }

    pub(super) fn has(&self, id: StripeId) -> bool {
        self.known.contains(&id)
    }
}
