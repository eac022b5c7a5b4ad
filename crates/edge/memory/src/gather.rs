//! Fragments that are fetched for one purpose.

use crate::coder::Strips;
use ripstop_tier::{Fragment, SealId, TierTask, TierTicket};

/// What fragments are fetched for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To decode a value.
    Read { ticket: TierTicket, wanted: u8, sources: Vec<u8> },
    /// To put a long value together.
    Join { ticket: TierTicket, sources: Vec<u8>, len: u32 },
    /// To encode a stripe.
    Seal(SealId),
}

/// Fragments that are fetched, and where they go.
#[derive(Debug)]
pub(crate) struct Gather {
    pub(crate) task: TierTask,
    pub(crate) purpose: Purpose,
    pub(crate) strips: Strips,
    pub(crate) fragments: Vec<Fragment>,
    /// Of these, how many have not come.
    pub(crate) waiting: usize,
}

impl Gather {
    /// Puts the bytes of an item, without its seal, where its fragment belongs; false if it is
    /// shorter than it was.
    pub(crate) fn put(&mut self, at: u16, coded: &[u8]) -> bool {
        let fragment = &self.fragments[usize::from(at)];
        let (skip, len) = (fragment.skip as usize, fragment.len as usize);
        let bytes = coded.get(skip..).and_then(|rest| rest.get(..len));
        let Some(bytes) = bytes else { return false };
        self.strips.put(fragment, bytes);
        self.waiting -= 1;
        true
    }
}
