use ripstop_model::StripeId;
use std::collections::HashSet;

/// Stripes that are known not to be of small objects, at most; beyond that all are looked at again.
const OTHERS_MAX: usize = 65_536;

/// Stripes that look as if they held one small object, and do not: parts of larger objects, say.
#[derive(Debug, Default)]
pub(super) struct Others(HashSet<StripeId>);

impl Others {
    pub(super) fn add(&mut self, id: StripeId) {
        if self.0.len() >= OTHERS_MAX {
            self.0.clear();
        }
        self.0.insert(id);
    }

    pub(super) fn has(&self, id: StripeId) -> bool {
        self.0.contains(&id)
    }
}
