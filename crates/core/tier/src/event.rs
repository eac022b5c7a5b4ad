use crate::{ItemName, KeyHash, SealId, ServerId, TierTask, TierTicket, Version};
use alloc::vec::Vec;

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
    /// A server gave no answer.
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
    /// A server did not acknowledge an item.
    StoreFailed(TierTask),
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
    pub at: u16,
    /// How many bytes of the item come before it.
    pub skip: u16,
    /// Bytes.
    pub len: u16,
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
        /// The strip that is wanted.
        wanted: u8,
        /// The K strips it is decoded from, in their order.
        sources: Vec<u8>,
        /// Bytes of the range.
        len: u16,
        /// What is to be fetched.
        fragments: Vec<Fragment>,
    },
}

/// Whose bytes an item gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemSource {
    /// Those that a client sent.
    Write(TierTicket),
    /// Those that were encoded.
    Parity(SealId),
}

/// Why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierRefusal {
    /// As many are under way as may be.
    Busy,
    /// The value is longer than a chunk.
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
        /// What its chunks consist of.
        fragments: Vec<Fragment>,
    },
    /// The stripe's parity is stored: the bytes that `Encode` left can go.
    Forget(SealId),
    /// Delete an item that nothing needs; no answer is expected.
    Delete {
        /// Where.
        server: ServerId,
        /// What it is called.
        name: ItemName,
    },
    /// This server counts as lost: it must be emptied before it returns.
    Expel(ServerId),
    /// Answer a client.
    Answer(TierTicket, TierAnswer),
}
