//! An interval that never changes: after the end of the batch before, or, as Stout's baseline has
//! it, every so often whatever is outstanding.

use crate::{Controller, ControllerSettings, Rhythm};

/// A fixed rhythm.
#[derive(Debug)]
pub(crate) struct FixedInterval(Rhythm);

impl FixedInterval {
    /// This long after each end.
    pub(crate) fn after_end(settings: &ControllerSettings) -> Self {
        Self(Rhythm::AfterEnd(settings.interval))
    }

    /// This long after each departure.
    pub(crate) fn every(settings: &ControllerSettings) -> Self {
        Self(Rhythm::Every(settings.interval))
    }
}

impl Controller for FixedInterval {
    fn rhythm(&self) -> Rhythm {
        self.0
    }
}
