use crate::{ChunkId, ItemName, KeyHash, SealId, ServerId, TierTask, TierTicket, Version};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// On what a write depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// On nothing.
    Any,
    /// The key has no value.
    Absent,
    /// The key has a value.
    Present,
    /// The key's value has this version.
    Is(Version),
}

/// What a write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierWrite {
    /// Gives the key a value of this many bytes, as they are stored and coded.
    Put {
        /// How many.
        len: u32,
        /// From when on the key has no value again.
        expires: Option<Timestamp>,
    },
    /// Leaves the key without a value.
    Delete,
}

/// How fetching ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchEnd {
    /// All bytes came, and were decoded or encoded as asked.
    Done,
    /// A server answered that it has no such item.
    Missing {
        /// Which server.
        server: ServerId,
        /// Which item.
        name: ItemName,
    },
    /// What a server answered is not what was stored there: this item is an erasure.
    Damaged {
        /// Which server.
        server: ServerId,
        /// Which item.
        name: ItemName,
    },
    /// A server gave no answer in time.
    Silent {
        /// Which server.
        server: ServerId,
    },
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierEvent {
    /// A client asks for a value.
    ReadArrived {
        /// Names the answer.
        ticket: TierTicket,
        /// Whose value.
        key: KeyHash,
    },
    /// A client writes.
    WriteArrived {
        /// Names the answer, and the bytes.
        ticket: TierTicket,
        /// Whose value.
        key: KeyHash,
        /// What.
        write: TierWrite,
        /// On which condition, judged when the key's earlier writes are over.
        presence: Presence,
    },
    /// A server acknowledged an item.
    ItemStored(TierTask),
    /// A server did not acknowledge an item in time; it may be stored yet.
    StoreFailed(TierTask),
    /// A server acknowledged that an item is gone, or that it never had it.
    ItemDeleted(TierTask),
    /// A server did not acknowledge in time that an item is gone.
    DeleteFailed(TierTask),
    /// A server answered a probe.
    ServerAnswered(ServerId),
    /// A server did not answer a probe in time.
    ServerSilent(ServerId),
    /// A client wants everything to go.
    FlushArrived {
        /// Names the answer.
        ticket: TierTicket,
    },
    /// A server that no ring had belongs to this one; it is there, and empty.
    ServerAdded {
        /// Which ring.
        ring: u8,
        /// Which server. Numbers are not used again for others.
        server: ServerId,
    },
    /// A server is to have nothing any more. The last one of a ring has to stay.
    ServerLeaves(ServerId),
    /// Somebody wants what could not be mended to be tried again.
    RepairAsked,
    /// It is as late as [`MemoryTier::deadline`](crate::MemoryTier::deadline) said.
    TimePassed,
    /// What was to be fetched was fetched, or not.
    FetchEnded(TierTask, FetchEnd),
    /// A server lost what it had: it died, or restarted.
    ServerLost(ServerId),
    /// A server that was lost is there again, empty.
    ServerReturned(ServerId),
}

/// Part of an item that is to be fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Which strip of the stripe it belongs to.
    pub strip: u8,
    /// Where it begins in the range.
    pub at: u32,
    /// How many bytes of the item come before it.
    pub skip: u32,
    /// Bytes.
    pub len: u32,
    /// Where the item is.
    pub server: ServerId,
    /// What it is called.
    pub name: ItemName,
}

/// How a value's bytes are had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadPlan {
    /// As they are.
    Whole(Fragment),
    /// From the same range of other strips. What no fragment covers of these is zeros.
    Decode {
        /// The item whose bytes are wanted.
        item: ItemName,
        /// The strip that they are of.
        wanted: u8,
        /// The K strips it is decoded from, in their order.
        sources: Vec<u8>,
        /// Bytes of the range.
        len: u32,
        /// What is to be fetched.
        fragments: Vec<Fragment>,
    },
    /// A value that is coded by itself: its K data strips one after another, those that are not
    /// among the sources decoded. The last ends in zeros that do not belong to it.
    Join {
        /// The K strips that it is had from, in their order.
        sources: Vec<u8>,
        /// Bytes of a strip.
        strip_len: u32,
        /// Bytes of the value.
        len: u32,
        /// What is to be fetched: whole strips.
        fragments: Vec<Fragment>,
    },
}

/// Whose bytes an item gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemSource {
    /// Those that a client sent.
    Write(TierTicket),
    /// A strip of those that a client sent: K of equal length, filled up with zeros, and N - K of
    /// parity.
    Strip {
        /// Names the bytes.
        ticket: TierTicket,
        /// Which strip.
        strip: u8,
    },
    /// None: the item says that the key has no value.
    Tombstone,
    /// Those that were encoded.
    Parity(SealId),
}

/// What an item says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemLabel {
    /// What it is called: its chunk and its position there, or its strip.
    pub name: ItemName,
    /// Whose value it is.
    pub key: KeyHash,
    /// The value's version. Of items of one key those of the highest are right.
    pub version: Version,
    /// Where it begins in its chunk.
    pub offset: u16,
    /// Bytes of the value.
    pub len: u32,
    /// From when on it is none.
    pub expires: Option<Timestamp>,
    /// Whether it says that the key has no value.
    pub is_tombstone: bool,
}

/// Why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierRefusal {
    /// As many are under way as may be.
    Busy,
    /// The value is longer than may be.
    TooLong,
    /// The write's condition does not hold; this is the key's version, if it has a value.
    Condition(Option<Version>),
    /// Too many servers are lost.
    Unavailable,
}

/// What a client gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierAnswer {
    /// The bytes that were fetched last for this ticket.
    Value(Version),
    /// There is none.
    Nothing,
    /// It is written.
    Written(Version),
    /// It is deleted.
    Deleted,
    /// All that there was is gone.
    Flushed,
    /// It was not done.
    Refused(TierRefusal),
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TierAction {
    /// Store an item; answered by `ItemStored` or `StoreFailed`.
    Store {
        /// Names the answer.
        task: TierTask,
        /// Where.
        server: ServerId,
        /// What it is called.
        name: ItemName,
        /// What is in it.
        source: ItemSource,
        /// What it says of itself; none of parity, of which `Encode` said it.
        label: Option<ItemLabel>,
    },
    /// Store an item as another server has it, under the same name. Answered by `ItemStored` or
    /// `StoreFailed`, or by `FetchEnded` if it could not be had.
    Copy {
        /// Names the answer.
        task: TierTask,
        /// Who has it.
        from: ServerId,
        /// Who gets it.
        to: ServerId,
        /// What it is called.
        name: ItemName,
    },
    /// Fetch, and decode if need be; answered by `FetchEnded`.
    Fetch {
        /// Names the answer.
        task: TierTask,
        /// For whom.
        ticket: TierTicket,
        /// How.
        plan: ReadPlan,
    },
    /// Fetch these, and encode K chunks to parity; answered by `FetchEnded`. What no fragment
    /// covers is zeros.
    Encode {
        /// Names the answer.
        task: TierTask,
        /// The stripe.
        stripe: SealId,
        /// Its chunks, by strip.
        chunks: Vec<ChunkId>,
        /// What its chunks consist of.
        fragments: Vec<Fragment>,
        /// What its parity items say: all objects of its chunks.
        labels: Vec<ItemLabel>,
    },
    /// The stripe's parity is stored: the bytes that `Encode` left can go.
    Forget(SealId),
    /// Delete an item that nothing needs; answered by `ItemDeleted` or `DeleteFailed`.
    Delete {
        /// Names the answer.
        task: TierTask,
        /// Where.
        server: ServerId,
        /// What it is called.
        name: ItemName,
    },
    /// What was fetched for a ticket of the tier's own can go.
    Release(TierTicket),
    /// Ask a server for any sign of life; answered by `ServerAnswered` or `ServerSilent`.
    Probe(ServerId),
    /// This server counts as lost: it must be emptied before it returns, and no store of before
    /// may reach it after.
    Expel(ServerId),
    /// A server that was to leave has nothing any more, and belongs to no ring.
    Dismiss(ServerId),
    /// Answer a client.
    Answer(TierTicket, TierAnswer),
}
