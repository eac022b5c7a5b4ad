//! Everything at once: what a gateway does that asks all k + m disks for every read.

use crate::{Choice, Limits, Load, Policy, PolicySettings, RequestClass, eager::eager};
use ripstop_model::Timestamp;

/// The largest k, and as many tasks as there may be.
#[derive(Clone, Copy, Debug)]
pub struct All {
    limits: Limits,
}

impl All {
    /// Within `settings.limits`.
    pub fn new(settings: &PolicySettings) -> Self {
        Self { limits: settings.limits }
    }
}

impl Policy for All {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, _load: Load) -> Choice {
        eager(self.limits.nearest(class, usize::MAX, usize::MAX))
    }
}
