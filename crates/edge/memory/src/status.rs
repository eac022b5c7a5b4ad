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
