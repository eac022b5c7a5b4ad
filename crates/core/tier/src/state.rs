use crate::{
    ChunkId, ItemName, KeyHash, SealId, ServerId, TierTask, TierTicket, Version,
    chunk::{Bulk, Chunk, Member},
    index::{KeyIndex, Location},
    ring::Ring,
    shift::Shifts,
    table::Table,
    task::{Appending, Cleaning, Errand, Fetching, Line, NONE_AVOIDED, Suspects, Weight, Wound},
};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use ripstop_model::{Code, Timestamp};

/// Reads under way at once, at most.
pub const TIER_READS_MAX: usize = 65_536;
/// Writes under way or waiting for an earlier one of their key, at most.
pub const TIER_WRITES_MAX: usize = 65_536;
/// Stripes that are being sealed at once, at most.
pub const TIER_SEALS_MAX: usize = 64;
/// As often a server may leave one item without acknowledgement, though it answers probes, before
/// it counts as lost.
pub const TIER_TRIES_MAX: u8 = 4;
/// As often servers may leave one read without answer before it is refused.
pub const TIER_READ_TRIES_MAX: u8 = 8;

/// A stripe.
#[derive(Clone, Debug)]
pub(crate) struct Stripe {
    /// Its data chunks, by strip.
    pub(crate) chunks: Vec<ChunkId>,
    /// Servers of its parity chunks, by strip from K on; empty until it is encoded.
    pub(crate) parity: Vec<ServerId>,
    pub(crate) weight: Weight,
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
    pub(crate) suspects: Suspects,
    pub(crate) now: Timestamp,
    pub(crate) index: KeyIndex,
    /// Last items of keys without a value.
    pub(crate) graves: BTreeMap<KeyHash, Location>,
    /// When values of keys expire, and the same by time.
    pub(crate) expiries: BTreeMap<KeyHash, Timestamp>,
    pub(crate) due: BTreeSet<(Timestamp, KeyHash)>,
    /// Chunks and long values that have dead items, by ring.
    pub(crate) tainted: BTreeSet<(usize, ChunkId)>,
    /// How many items of these are being deleted.
    pub(crate) leaving: BTreeMap<ChunkId, (usize, u32)>,
    /// Chunks of stripes whose parity is being deleted, and how many items that is.
    pub(crate) parting: BTreeMap<SealId, (Vec<(usize, ChunkId)>, usize)>,
    pub(crate) bulks: BTreeMap<ChunkId, Bulk>,
    /// Stripes of which something is dead, by how much.
    pub(crate) cleanable: BTreeSet<(u8, SealId)>,
    /// Of all that are neither sealed nor cleaned just now.
    pub(crate) weight: Weight,
    /// Stripes that could not be cleaned.
    pub(crate) uncleaned: Vec<SealId>,
    pub(crate) cleanings: BTreeMap<SealId, Cleaning>,
    /// What was evicted last, in order: the next waits until its items are deleted.
    pub(crate) evicted: Vec<ChunkId>,
    pub(crate) evicting: Vec<SealId>,
    /// Keys of which that has more than one item.
    pub(crate) evicted_twice: BTreeSet<KeyHash>,
    /// Keys whose first turn waits for room, or waited.
    pub(crate) stalled: VecDeque<KeyHash>,
    /// Where the clock's hand is among the long values.
    pub(crate) hand: ChunkId,
    pub(crate) bytes_max: u64,
    /// Bytes that servers have, in all and each.
    pub(crate) stored: u64,
    pub(crate) ledger: BTreeMap<ServerId, u64>,
    /// Of these, what is being deleted.
    pub(crate) deleting: u64,
    pub(crate) chunks: Table<ChunkId, Chunk>,
    pub(crate) stripes: Table<SealId, Stripe>,
    pub(crate) sealing: BTreeMap<SealId, Sealing>,
    pub(crate) lines: BTreeMap<KeyHash, Line>,
    pub(crate) writes: usize,
    pub(crate) appending: BTreeMap<(ChunkId, u16), Appending>,
    pub(crate) errands: Table<TierTask, Errand>,
    /// What lacks an item, or may; and what cannot be mended now.
    pub(crate) wounds: BTreeSet<Wound>,
    pub(crate) scars: BTreeSet<Wound>,
    /// Items that are made again or moved, and where to.
    pub(crate) mends: BTreeSet<(ItemName, ServerId)>,
    /// Stripes whose parity is encoded again, and how many items of it are not stored yet.
    pub(crate) reparities: BTreeMap<SealId, u16>,
    pub(crate) shifts: Shifts,
    /// Which ring a server is of.
    pub(crate) homes: BTreeMap<ServerId, usize>,
    /// Who wants everything to go.
    pub(crate) flushes: Vec<TierTicket>,
    pub(crate) fetches: Table<TierTask, Fetching>,
    pub(crate) reads: usize,
    pub(crate) next_task: u64,
    pub(crate) next_version: u64,
    pub(crate) next_chunk: u64,
    pub(crate) next_stripe: u64,
}

impl MemoryTier {
    /// A tier over the servers of N rings; no server may be in two.
    pub fn new(code: Code, rings: &[Vec<ServerId>]) -> Self {
        assert_eq!(rings.len(), code.n(), "a ring for each strip");
        let all: BTreeSet<ServerId> = rings.iter().flatten().copied().collect();
        assert_eq!(all.len(), rings.iter().map(Vec::len).sum(), "a server has one ring");
        assert!(all.iter().all(|server| server.0 < u16::MAX - 1), "these numbers are no servers");
        let homes = rings.iter().enumerate();
        let homes = homes.flat_map(|(ring, servers)| servers.iter().map(move |it| (*it, ring)));
        Self {
            code,
            rings: rings.iter().map(|servers| Ring::new(servers)).collect(),
            fillings: rings.iter().map(|_| Filling::default()).collect(),
            down: BTreeSet::new(),
            suspects: NONE_AVOIDED,
            now: Timestamp::from_nanos(0),
            index: KeyIndex::new(),
            graves: BTreeMap::new(),
            expiries: BTreeMap::new(),
            due: BTreeSet::new(),
            tainted: BTreeSet::new(),
            leaving: BTreeMap::new(),
            parting: BTreeMap::new(),
            bulks: BTreeMap::new(),
            cleanable: BTreeSet::new(),
            weight: Weight::default(),
            uncleaned: Vec::new(),
            cleanings: BTreeMap::new(),
            evicted: Vec::new(),
            evicting: Vec::new(),
            evicted_twice: BTreeSet::new(),
            stalled: VecDeque::new(),
            hand: ChunkId(0),
            bytes_max: u64::MAX,
            stored: 0,
            ledger: BTreeMap::new(),
            deleting: 0,
            chunks: Table::new(),
            stripes: Table::new(),
            sealing: BTreeMap::new(),
            lines: BTreeMap::new(),
            writes: 0,
            appending: BTreeMap::new(),
            errands: Table::new(),
            wounds: BTreeSet::new(),
            scars: BTreeSet::new(),
            mends: BTreeSet::new(),
            reparities: BTreeMap::new(),
            shifts: Shifts::default(),
            homes: homes.collect(),
            flushes: Vec::new(),
            fetches: Table::new(),
            reads: 0,
            next_task: 0,
            next_version: 1,
            next_chunk: 0,
            next_stripe: 0,
        }
    }

    /// Versions go on above this one.
    pub fn number_from(&mut self, version: Version) {
        self.next_version = self.next_version.max(version.0);
    }

    pub(crate) const fn task(&mut self) -> TierTask {
        self.next_task += 1;
        TierTask(self.next_task)
    }

    pub(crate) const fn version(&mut self) -> Version {
        self.next_version += 1;
        Version(self.next_version)
    }

    pub(crate) const fn chunk_id(&mut self) -> ChunkId {
        self.next_chunk += 1;
        ChunkId(self.next_chunk)
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
            chunk.members.capacity() * size_of::<Member>()
                + chunk.copies.capacity() * size_of::<(u16, ServerId)>()
        };
        let of_stripe = |stripe: &Stripe| {
            stripe.chunks.capacity() * size_of::<ChunkId>()
                + stripe.parity.capacity() * size_of::<ServerId>()
        };
        let of_bulk = |bulk: &Bulk| {
            size_of::<(ChunkId, Bulk)>() + bulk.servers.capacity() * size_of::<ServerId>()
        };
        self.index.bytes()
            + self.bulks.values().map(of_bulk).sum::<usize>()
            + self.graves.len() * size_of::<(KeyHash, Location)>()
            + self.expiries.len() * 2 * size_of::<(KeyHash, Timestamp)>()
            + self.tainted.len() * size_of::<ChunkId>()
            + self.chunks.bytes()
            + self.chunks.values().map(of_chunk).sum::<usize>()
            + self.stripes.bytes()
            + self.stripes.values().map(of_stripe).sum::<usize>()
    }

    /// Bytes of objects in chunks, and those of them that are dead.
    pub fn chunk_bytes(&self) -> (u64, u64) {
        let sums = |(used, dead), chunk: &Chunk| {
            (used + u64::from(chunk.used - chunk.gone), dead + u64::from(chunk.dead))
        };
        self.chunks.values().fold((0, 0), sums)
    }

    /// Stripes whose parity is stored.
    pub fn sealed_stripes(&self) -> usize {
        self.stripes.len() - self.sealing.len()
    }
}
