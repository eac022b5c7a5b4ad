use crate::{
    ChunkId, FetchEnd, ItemName, ItemSource, KeyHash, Presence, SealId, ServerId, TierAction,
    TierTask, TierTicket, TierWrite, Version,
    chunk::{Chunk, Member},
    index::KeyIndex,
    ring::Ring,
};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use ripstop_model::Code;

/// Reads under way at once, at most.
pub const TIER_READS_MAX: usize = 65_536;
/// Writes under way or waiting for an earlier one of their key, at most.
pub const TIER_WRITES_MAX: usize = 65_536;
/// Stripes that are being sealed at once, at most.
pub const TIER_SEALS_MAX: usize = 64;
/// As often a server may leave an item without acknowledgement, or a fetch without answer, before
/// it counts as lost.
pub const TIER_TRIES_MAX: u8 = 3;

/// A write that waits for its turn, or for acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingWrite {
    pub(crate) ticket: TierTicket,
    pub(crate) write: TierWrite,
    pub(crate) presence: Presence,
}

/// An object whose items are being stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appending {
    pub(crate) key: KeyHash,
    pub(crate) ticket: TierTicket,
    /// Acknowledgements that are outstanding.
    pub(crate) waiting: u16,
}

/// An item that is being stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Put {
    pub(crate) server: ServerId,
    pub(crate) name: ItemName,
    pub(crate) source: ItemSource,
    pub(crate) tries: u8,
}

/// What a fetch is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fetching {
    /// With the server, if it is one alone.
    Read {
        ticket: TierTicket,
        key: KeyHash,
        version: Version,
        from: Option<ServerId>,
    },
    Seal(SealId),
}

/// A stripe.
#[derive(Clone, Debug)]
pub(crate) struct Stripe {
    /// Its data chunks, by strip.
    pub(crate) chunks: Vec<ChunkId>,
    /// Servers of its parity chunks, by strip from K on; empty until it is encoded.
    pub(crate) parity: Vec<ServerId>,
}

/// A stripe that is being sealed.
#[derive(Clone, Debug)]
pub(crate) struct Sealing {
    /// The rings its parity goes to.
    pub(crate) parity_rings: Vec<usize>,
    /// Acknowledgements of parity that are outstanding.
    pub(crate) waiting: u16,
}

/// What a ring is filling.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filling {
    pub(crate) open: Option<ChunkId>,
    pub(crate) full: VecDeque<ChunkId>,
    /// Stripes whose parity it has: rings with more of them give data first.
    pub(crate) parities: u64,
}

/// Objects on hash rings of memory servers, coded across rings.
#[derive(Clone, Debug)]
pub struct MemoryTier {
    pub(crate) code: Code,
    pub(crate) rings: Vec<Ring>,
    pub(crate) fillings: Vec<Filling>,
    pub(crate) down: BTreeSet<ServerId>,
    /// How often in a row a server gave no answer to a fetch.
    pub(crate) silences: BTreeMap<ServerId, u8>,
    pub(crate) index: KeyIndex,
    pub(crate) chunks: BTreeMap<ChunkId, Chunk>,
    pub(crate) stripes: BTreeMap<SealId, Stripe>,
    pub(crate) sealing: BTreeMap<SealId, Sealing>,
    pub(crate) lines: BTreeMap<KeyHash, VecDeque<WaitingWrite>>,
    pub(crate) writes: usize,
    pub(crate) appending: BTreeMap<(ChunkId, u16), Appending>,
    pub(crate) puts: BTreeMap<TierTask, Put>,
    pub(crate) fetches: BTreeMap<TierTask, Fetching>,
    pub(crate) reads: usize,
    pub(crate) next_task: u64,
    pub(crate) next_version: u64,
    pub(crate) next_chunk: u32,
    pub(crate) next_stripe: u32,
}

impl MemoryTier {
    /// A tier over the servers of N rings; no server may be in two.
    pub fn new(code: Code, rings: &[Vec<ServerId>]) -> Self {
        assert_eq!(rings.len(), code.n(), "a ring for each strip");
        let all: BTreeSet<ServerId> = rings.iter().flatten().copied().collect();
        assert_eq!(all.len(), rings.iter().map(Vec::len).sum(), "a server has one ring");
        assert!(all.iter().all(|server| server.0 < u16::MAX - 1), "these numbers are no servers");
        Self {
            code,
            rings: rings.iter().map(|servers| Ring::new(servers)).collect(),
            fillings: rings.iter().map(|_| Filling::default()).collect(),
            down: BTreeSet::new(),
            silences: BTreeMap::new(),
            index: KeyIndex::new(),
            chunks: BTreeMap::new(),
            stripes: BTreeMap::new(),
            sealing: BTreeMap::new(),
            lines: BTreeMap::new(),
            writes: 0,
            appending: BTreeMap::new(),
            puts: BTreeMap::new(),
            fetches: BTreeMap::new(),
            reads: 0,
            next_task: 0,
            next_version: 1,
            next_chunk: 0,
            next_stripe: 0,
        }
    }

    pub(crate) const fn task(&mut self) -> TierTask {
        self.next_task += 1;
        TierTask(self.next_task)
    }

    pub(crate) fn store(&mut self, put: Put, actions: &mut Vec<TierAction>) {
        let task = self.task();
        self.puts.insert(task, put);
        let Put { server, name, source, tries: _ } = put;
        actions.push(TierAction::Store { task, server, name, source });
    }

    /// Whether the item should be where a server says it is not. If not, what was asked for has
    /// moved meanwhile, and the server is innocent.
    pub(crate) fn expects(&self, server: ServerId, name: ItemName) -> bool {
        match name {
            ItemName::Object { chunk, slot } => self.chunks.get(&chunk).is_some_and(|chunk| {
                chunk.members[usize::from(slot)].server == server
                    || chunk.copies.contains(&(slot, server))
            }),
            ItemName::Parity { stripe, strip } => self.stripes.get(&stripe).is_some_and(|stripe| {
                stripe.parity.get(usize::from(strip) - self.code.k()) == Some(&server)
            }),
        }
    }

    /// The server that is to be blamed for how a fetch ended.
    pub(crate) fn blamed(&mut self, end: FetchEnd) -> Option<ServerId> {
        match end {
            FetchEnd::Done => None,
            FetchEnd::Missing { server, name } => self.expects(server, name).then_some(server),
            FetchEnd::Silent { server } => {
                let silences = self.silences.entry(server).or_default();
                *silences += 1;
                (*silences >= TIER_TRIES_MAX).then_some(server)
            }
        }
    }

    /// Keys that have a value.
    pub const fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether no key has a value.
    pub const fn is_empty(&self) -> bool {
        self.index.len() == 0
    }

    /// Bytes of memory that the index takes, and the lists of objects with their stripes.
    pub fn metadata_bytes(&self) -> usize {
        let of_chunk = |chunk: &Chunk| {
            size_of::<(ChunkId, Chunk)>()
                + chunk.members.capacity() * size_of::<Member>()
                + chunk.copies.capacity() * size_of::<(u16, ServerId)>()
        };
        let of_stripe = |stripe: &Stripe| {
            size_of::<(SealId, Stripe)>()
                + stripe.chunks.capacity() * size_of::<ChunkId>()
                + stripe.parity.capacity() * size_of::<ServerId>()
        };
        self.index.bytes()
            + self.chunks.values().map(of_chunk).sum::<usize>()
            + self.stripes.values().map(of_stripe).sum::<usize>()
    }

    /// Bytes of objects in chunks, and those of them that are dead.
    pub fn chunk_bytes(&self) -> (u64, u64) {
        let sums = |(used, dead), chunk: &Chunk| {
            (used + u64::from(chunk.used), dead + u64::from(chunk.used - chunk.live))
        };
        self.chunks.values().fold((0, 0), sums)
    }

    /// Stripes whose parity is stored.
    pub fn sealed_stripes(&self) -> usize {
        self.stripes.len() - self.sealing.len()
    }
}
