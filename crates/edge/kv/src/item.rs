use bytes::Bytes;

/// What is stored under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KvItem {
    /// The client's own number.
    pub flags: u32,
    /// The second since 1970 at which it ends; 0: never.
    pub exptime_s: u32,
    /// The second of its last use.
    pub used_s: u32,
    /// Its version: grows with every write of its key. Given by the shelf.
    pub cas: u64,
    /// What has become of it.
    pub marks: Marks,
    /// The bytes.
    pub value: Bytes,
}

impl KvItem {
    /// Whether it has ended by then.
    pub(crate) const fn has_ended(&self, now_s: u32) -> bool {
        self.exptime_s != 0 && self.exptime_s <= now_s
    }

    /// Seconds until it ends; none if it never does.
    pub(crate) const fn left_s(&self, now_s: u32) -> Option<u32> {
        match self.exptime_s {
            0 => None,
            end => Some(end.saturating_sub(now_s)),
        }
    }
}

/// What has become of an item, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Marks(pub u8);

impl Marks {
    /// It was fetched since it was stored.
    pub const FETCHED: Self = Self(1);
    /// Somebody said that it is out of date.
    pub const STALE: Self = Self(2);
    /// Somebody was told to bring a newer one.
    pub const WON: Self = Self(4);
    /// Its key is not text: clients sent it as base64.
    pub const BINARY: Self = Self(8);

    /// Whether it has this mark.
    pub const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    /// With this mark.
    #[must_use]
    pub const fn with(self, mark: Self) -> Self {
        Self(self.0 | mark.0)
    }

    /// Without this mark.
    #[must_use]
    pub const fn without(self, mark: Self) -> Self {
        Self(self.0 & !mark.0)
    }

    /// With this mark if that is so.
    #[must_use]
    pub(crate) const fn with_if(self, is_so: bool, mark: Self) -> Self {
        if is_so { self.with(mark) } else { self }
    }
}

/// What memcached 1.6.18 counts beside key and value: its header with a version, a zero behind the
/// key and the line's end behind the value.
const MEMCACHED_OVERHEAD: usize = 48 + 8 + 1 + 2;
/// Bytes of flags that are not 0.
const MEMCACHED_FLAGS_LEN: usize = 4;
/// Longer ones it stores in pieces, which it does not count in.
const MEMCACHED_PIECE_LEN: usize = 512 << 10;
/// Its smallest class, and how much larger the next one is.
const MEMCACHED_CLASS: (usize, f64) = (96, 1.25);

/// What memcached would say that an item comes to: its limits go by that.
pub(crate) const fn memcached_len(key: usize, flags: u32, value: usize) -> usize {
    let flags = if flags == 0 { 0 } else { MEMCACHED_FLAGS_LEN };
    MEMCACHED_OVERHEAD + key + flags + value
}

/// Whether memcached would store this in pieces.
pub(crate) const fn is_in_pieces(key: usize, flags: u32, value: usize) -> bool {
    memcached_len(key, flags, value) > MEMCACHED_PIECE_LEN
}

/// The class of lengths that memcached would put it in.
pub(crate) fn memcached_class(len: usize) -> usize {
    let (mut class, mut size) = (1, MEMCACHED_CLASS.0);
    while (size as f64) < MEMCACHED_PIECE_LEN as f64 / MEMCACHED_CLASS.1 {
        if len <= size {
            return class;
        }
        size = (((size as f64) * MEMCACHED_CLASS.1) as usize).next_multiple_of(8);
        class += 1;
    }
    class
}
