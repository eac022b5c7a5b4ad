use crate::{Session, Unknown};
use alloc::string::String;
use alloc::vec::Vec;

/// A gateway, by the number that it drew when it began for the first time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct GatewayId(pub u64);

/// A gateway over a catalog, as it told of itself last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GatewayRecord {
    /// Which of its lives it is, from 1: each start has the next.
    pub epoch: u64,
    /// How often it has told that it is alive, in this life. Who sees it rise knows that it is,
    /// whatever clocks say.
    pub beat: u64,
    /// When it did so last, by its clock, in milliseconds since 1970.
    pub beat_ms: u64,
    /// In which session it names stripes: what it may still be writing is that session's
    /// [`Watermark`](crate::Watermark).
    pub session: Session,
    /// Where it serves.
    pub address: String,
    /// Which program it is.
    pub version: String,
    /// Whether it told that it stops.
    pub has_left: bool,
    /// What it wants, and takes, of what gateways have together; each thing once.
    pub claims: Vec<GatewayClaim>,
    /// What later programs tell.
    pub unknown: Unknown,
}

/// What a gateway wants, and takes, of one thing that gateways have together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GatewayClaim {
    /// The thing's name, which is the same at all gateways.
    pub of: String,
    /// How much it could use now, in the thing's unit.
    pub wanted: u64,
    /// How much it uses at most until it tells of itself again.
    pub taken: u64,
}

/// Most gateways that a catalog remembers.
pub const GATEWAYS_MAX: usize = 256;

/// For how long a catalog remembers a gateway that tells nothing any more, in milliseconds.
pub const GATEWAY_FORGOTTEN_MS: u64 = 24 * 60 * 60 * 1000;
