//! Whole copies: the baseline *replication (2,1)* of Liang and Kozat, TOFEC.

use crate::{Choice, Load, Policy, PolicySettings, RequestClass, eager::eager};
use ripstop_model::Timestamp;

/// Every request fetches (or stores) the whole payload twice at once, and the first wins. Where
/// chunks are strips: one more than needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replication;

impl Replication {
    /// Needs no settings.
    pub fn new(_: &PolicySettings) -> Self {
        Self
    }
}

impl Policy for Replication {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, _load: Load) -> Choice {
        let k = class.k_below(1);
        eager(class.nearest(k + 1, k))
    }
}
