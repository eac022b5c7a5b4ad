use std::net::SocketAddr;

/// What a memory did and has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodedMemoryStatus {
    /// Keys that have a value.
    pub keys: usize,
    /// Bytes of memory of the index and of lists of objects.
    pub metadata_bytes: usize,
    /// Bytes of servers' memory that items take, about.
    pub stored_bytes: u64,
    /// Bytes of objects in chunks, dead ones included.
    pub chunk_bytes: u64,
    /// Those of them that are dead.
    pub dead_bytes: u64,
    /// Stripes whose parity is stored.
    pub sealed_stripes: usize,
    /// Chunks, long values and stripes that may lack an item.
    pub wounds: usize,
    /// Points of rings that are still to change, since servers come or go.
    pub points_left: usize,
    /// Requests of callers under way.
    pub calls: usize,
    /// Bytes that these count as.
    pub held_bytes: usize,
    /// Values that were decoded, since their server is lost.
    pub decoded: u64,
    /// Items whose seal did not hold.
    pub damaged: u64,
    /// Items that a server would not store, for want of memory for example.
    pub refused: u64,
}

/// A server of a memory, and how it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryServer {
    /// Its ring.
    pub ring: usize,
    /// Where it is.
    pub at: SocketAddr,
    /// How it stands.
    pub state: MemoryServerState,
}

/// How a server stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryServerState {
    /// It is in use.
    Up,
    /// It is not there, or lost what it had and is not back yet.
    Lost,
    /// What it has is being moved to others.
    Leaving,
}

impl MemoryServerState {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Up, Self::Lost, Self::Leaving];

    /// As metrics call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Lost => "lost",
            Self::Leaving => "leaving",
        }
    }
}
