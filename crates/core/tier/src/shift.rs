//! Rings that change, and how far that has come.

use crate::{ChunkId, SealId, ServerId};
use alloc::collections::VecDeque;
use ripstop_model::Timestamp;

/// A ring gets a point of a server, or loses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) ring: usize,
    pub(crate) server: ServerId,
    pub(crate) point: u64,
    pub(crate) is_leaving: bool,
}

/// Where looking for what is to be moved has come to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    Chunks(ChunkId),
    Values(ChunkId),
    Stripes(SealId),
    Done,
}

/// A step that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift {
    pub(crate) step: Step,
    pub(crate) look: Look,
    /// Something was found that could not be moved: once more.
    pub(crate) is_dirty: bool,
    /// Items that are being moved.
    pub(crate) moving: u32,
    pub(crate) at: Timestamp,
}

/// Rings that change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shifts {
    pub(crate) steps: VecDeque<Step>,
    pub(crate) current: Option<Shift>,
}

impl Shifts {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.current.is_none()
    }

    /// Whether a server is to have nothing any more.
    pub(crate) fn is_leaving(&self, server: ServerId) -> bool {
        let current = self.current.iter().map(|shift| &shift.step);
        self.steps.iter().chain(current).any(|it| it.server == server && it.is_leaving)
    }

    /// When to look on, if that waits for nothing else.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let is_looking = |shift: &Shift| shift.moving == 0 || !matches!(shift.look, Look::Done);
        self.current.filter(is_looking).map(|shift| shift.at)
    }
}
