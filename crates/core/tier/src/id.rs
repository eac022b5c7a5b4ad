/// A keyed hash of a key, made by the caller: it names the ring and the place on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KeyHash(pub u128);

/// A memory server. It belongs to one ring. The highest two numbers are not servers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ServerId(pub u16);

/// A list of objects, or a value that is coded by itself; numbers are never used again. 48 bits
/// are used: an exbibyte of chunks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChunkId(pub u64);

/// A sealed stripe; numbers are never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SealId(pub u64);

/// Version of a value: grows with every write, whatever the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version(pub u64);

/// By which the caller knows what it asked for. Numbers from 2^63 on are the tier's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TierTicket(pub u64);

/// By which the tier knows what it asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TierTask(pub u64);

/// What an item is called at a server: by its place, so that nothing is ever overwritten.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ItemName {
    /// An object, or a copy of it at a server of another ring.
    Object {
        /// The chunk whose list it is in.
        chunk: ChunkId,
        /// Its position in that list.
        slot: u16,
    },
    /// A parity chunk.
    Parity {
        /// Its stripe.
        stripe: SealId,
        /// Its strip, K..N.
        strip: u8,
    },
    /// A strip of a value that is coded by itself.
    Strip {
        /// The value.
        value: ChunkId,
        /// Which strip, 0..N.
        strip: u8,
    },
}
