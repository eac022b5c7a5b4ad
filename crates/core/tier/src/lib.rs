//! A memory tier over many servers, after ECHash (Cheng, Hu, Lee, `SoCC` 2019): objects lie on
//! hash rings, and are coded across rings where they lie.
//!
//! * [`MemoryTier`], [`TierEvent`], [`TierAction`]: what happened, and what is to be done.
//! * A key's hash names one of N rings, and a server on it. A *chunk* is a list of objects of one
//!   ring, 4 KiB together, wherever they are; K full chunks of K rings and N - K parity chunks on
//!   the others are a *stripe*. Coding takes bytes at equal offsets, so it does not matter to
//!   parity which server of a ring has them.
//! * A value is appended to its ring's open chunk, never written over. Until the chunk's stripe is
//!   sealed, copies are on N - K other rings.
//! * [`TierAdmission`]: which names are worth a place, by how often they were asked for.
//! * What a lost server had is decoded from what overlaps it in K other strips ([`ReadPlan`]).
//!
//! It deliberately has no bytes, no clock and no sockets: whatever takes time is an action that an
//! event answers.
#![no_std]
extern crate alloc;

mod admission;
mod bulk;
mod chunk;
mod clean;
mod death;
mod erasure;
mod errand;
mod event;
mod evict;
mod flush;
mod health;
mod id;
mod index;
mod machine;
mod mend;
mod read;
mod rebuild;
mod ring;
mod scale;
mod seal;
mod shift;
mod state;
mod table;
mod task;
mod write;

pub use admission::{TIER_ADMIT_AT, TierAdmission};
pub use bulk::TIER_VALUE_LEN_MAX;
pub use clean::TIER_CLEANINGS_MAX;
pub use event::{
    FetchEnd, Fragment, ItemLabel, ItemSource, Presence, ReadPlan, TierAction, TierAnswer,
    TierEvent, TierRefusal, TierWrite,
};
pub use evict::TIER_EVICTIONS_MAX;
pub use health::{TIER_PROBE_PAUSE_NANOS, TIER_PROBES_MAX};
pub use id::{ChunkId, ItemName, KeyHash, SealId, ServerId, TierTask, TierTicket, Version};
pub use mend::{TIER_MENDS_BUSY_MAX, TIER_MENDS_MAX};
pub use rebuild::FoundItem;
pub use state::{
    MemoryTier, TIER_READ_TRIES_MAX, TIER_READS_MAX, TIER_SEALS_MAX, TIER_TRIES_MAX,
    TIER_WRITES_MAX,
};
