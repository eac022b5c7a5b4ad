//! Natural batching: a batch is what came while the one before was on its way. Plain group commit.

use crate::{Controller, Rhythm};
use core::time::Duration;

/// No interval.
#[derive(Debug)]
pub(crate) struct Natural;

impl Controller for Natural {
    fn rhythm(&self) -> Rhythm {
        Rhythm::AfterEnd(Duration::ZERO)
    }
}

/// No batching: each member alone, at once.
#[derive(Debug)]
pub(crate) struct Unbatched;

impl Controller for Unbatched {
    fn rhythm(&self) -> Rhythm {
        Rhythm::Alone
    }
}
