//! What is under way, or waits for its turn: none of it decides anything.

use crate::{
    ChunkId, ItemLabel, ItemName, ItemSource, KeyHash, Presence, SealId, ServerId, TierTicket,
    TierWrite, Version, index::Location,
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use ripstop_model::Timestamp;

/// What is appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Append {
    pub(crate) key: KeyHash,
    pub(crate) origin: Origin,
    pub(crate) version: Version,
    pub(crate) len: u32,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) is_tombstone: bool,
    /// Judged once more when it is stored: the value that there was may have expired.
    pub(crate) presence: Presence,
}

impl Append {
    pub(crate) const fn tombstone(key: KeyHash, origin: Origin, version: Version) -> Self {
        let (presence, is_tombstone) = (Presence::Any, true);
        Self { key, origin, version, len: 0, expires: None, is_tombstone, presence }
    }
}

/// A write that waits for its turn, or for acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingWrite {
    pub(crate) ticket: TierTicket,
    pub(crate) write: TierWrite,
    pub(crate) presence: Presence,
}

/// What waits for its turn at a key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) turns: VecDeque<Turn>,
    /// The first waits for room, not for servers.
    pub(crate) is_stalled: bool,
}

/// An object whose items are being stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appending {
    pub(crate) append: Append,
    /// Acknowledgements that are outstanding.
    pub(crate) waiting: u16,
}

/// What has its turn at a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    Client(WaitingWrite),
    /// The key's grave is a long value: a tombstone is to take its place.
    Bury(Location),
    /// What a stripe has of it is to be appended again.
    Rewrite(Rewrite),
}

/// Who wants something appended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    Client(TierTicket),
    /// The key's grave is a long value.
    Burial,
    /// A write whose condition held no more when it was stored.
    Refusal(TierTicket),
    Rewrite(Rewrite),
}

/// What a fetch is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fetching {
    /// With the server, if it is one alone.
    Read {
        reading: Reading,
        version: Version,
        from: Option<ServerId>,
    },
    Seal(SealId),
    Rewrite(Rewrite),
    Mend(Mend),
    /// A stripe is encoded again.
    Parity(SealId),
}

/// A read that is not answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) ticket: TierTicket,
    pub(crate) key: KeyHash,
    /// How often a server gave no answer.
    pub(crate) tries: u8,
}

/// An object that is to be appended again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rewrite {
    pub(crate) key: KeyHash,
    pub(crate) from: Location,
    pub(crate) stripe: SealId,
    /// Names its bytes.
    pub(crate) ticket: TierTicket,
}

/// A stripe that is being cleaned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleaning {
    /// Objects that are not appended again yet.
    pub(crate) left: u32,
    /// One of them could not be: the stripe stays.
    pub(crate) is_failed: bool,
    /// Of the servers' memory.
    pub(crate) bytes: u64,
}

/// Parts of a stripe, by which it is told how much of it is dead.
pub(crate) const SHARES: u8 = 32;

/// Bytes of servers' memory, about, without parity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Weight {
    pub(crate) all: u64,
    pub(crate) dead: u64,
}

impl Weight {
    pub(crate) const fn share(self) -> u8 {
        match (self.dead * SHARES as u64).checked_div(self.all) {
            Some(share) => share as u8,
            None => 0,
        }
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self { all: self.all + other.all, dead: self.dead + other.dead }
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self { all: self.all - other.all, dead: self.dead - other.dead }
    }
}

/// What is to be done with an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    Store {
        source: ItemSource,
        label: Option<ItemLabel>,
    },
    /// It is made again.
    Mend {
        mend: Mend,
        source: ItemSource,
        label: Option<ItemLabel>,
    },
    /// It is moved.
    Move {
        from: ServerId,
    },
    Delete,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand {
    pub(crate) server: ServerId,
    pub(crate) name: ItemName,
    pub(crate) deed: Deed,
    pub(crate) tries: u8,
    /// Of its server's memory.
    pub(crate) bytes: u64,
}

/// What lacks an item, or may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Wound {
    Chunk(ChunkId),
    Value(ChunkId),
    /// Its parity.
    Stripe(SealId),
}

/// An item that is made again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mend {
    pub(crate) name: ItemName,
    pub(crate) to: ServerId,
    /// Names its bytes.
    pub(crate) ticket: TierTicket,
}

pub(crate) const fn wound_of(name: ItemName) -> Wound {
    match name {
        ItemName::Object { chunk, .. } => Wound::Chunk(chunk),
        ItemName::Strip { value, .. } => Wound::Value(value),
        ItemName::Parity { stripe, .. } => Wound::Stripe(stripe),
    }
}

/// What waits until a suspect answers or is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held {
    Errand(Errand),
    Read(Reading),
    Encode(SealId),
    Mend(Mend),
    /// The first turn of the key's line is begun again.
    Turn(KeyHash),
}

/// A server that let something down and has answered nothing since.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) silent_probes: u8,
    pub(crate) probe_at: Timestamp,
    pub(crate) is_probed: bool,
    pub(crate) held: Vec<Held>,
}

pub(crate) type Suspects = BTreeMap<ServerId, Suspect>;

/// For what may ask servers that are suspect too.
pub(crate) const NONE_AVOIDED: Suspects = BTreeMap::new();
