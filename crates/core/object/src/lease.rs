use crate::Session;
use ripstop_model::StripeId;

/// Who does alone what only one may do at a time, and until when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lease {
    /// The session that has it, or had it last.
    pub holder: Session,
    /// Until when, that not included, in milliseconds since 1970; 0 if it was released.
    pub until_ms: u64,
    /// Which turn it is, from 1: each holder that took it over has the next.
    pub epoch: u64,
}

/// Which stripes a session may still be writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watermark {
    /// It writes none below this that the catalog does not hold already.
    pub least: StripeId,
    /// Until when, that included, it counts as alive, in milliseconds since 1970.
    pub alive_until_ms: u64,
    /// Whether it was given up: it brings no stripes any more.
    pub is_retired: bool,
}

/// Most sessions that a catalog remembers to have given up.
pub const RETIRED_MAX: usize = 10_000;
