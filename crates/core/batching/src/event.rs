use crate::{BatchId, BatchMember, WriteTicket};
use alloc::vec::Vec;

/// What happened to a batcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchEvent {
    /// Somebody wants to write.
    MemberCame(BatchMember),
    /// A batch is durable where its bytes are, and may be committed.
    BatchStored(BatchId),
    /// A batch was committed, or could not be stored or committed. One that was not told to commit
    /// cannot be committed: then this is passed over.
    BatchEnded(BatchId, BatchEnd),
    /// The deadline has come.
    TimerFired,
    /// This many batchers, this one among them, share the store now.
    WritersCounted(u32),
}

/// How a batch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchEnd {
    /// It is committed: each of its members has a result, which the commit told.
    Committed,
    /// Nothing of it is.
    Failed,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchAction {
    /// Nothing was done for this write, and nothing will be.
    Refuse {
        /// Which.
        ticket: WriteTicket,
        /// Why.
        why: BatchRefusal,
    },
    /// A later write of the same key takes this one's place: its bytes never leave. Its answer
    /// comes with that of the later one.
    Drop(WriteTicket),
    /// Store these together.
    Depart(Departure),
    /// Commit this batch: all before it have ended.
    Commit(BatchId),
    /// Answer this write.
    Answer {
        /// Which.
        ticket: WriteTicket,
        /// What became of it.
        fate: Fate,
    },
}

/// Members that leave together, of no key more than one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Their batch.
    pub batch: BatchId,
    /// Which they are, in the order in which they are to be applied.
    pub tickets: Vec<WriteTicket>,
    /// Their bytes.
    pub bytes: u64,
}

/// Why a write was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchRefusal {
    /// It has more bytes than a batch may have.
    TooLarge,
    /// As much waits as may: come again later.
    Full,
    /// As many of its key wait as may: come again later.
    KeyFull,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It left in a batch that was committed.
    Committed,
    /// A later write of its key, answered after it, was committed in its place: as if this one had
    /// been committed just before.
    Collapsed,
    /// Its batch failed.
    Failed,
}
