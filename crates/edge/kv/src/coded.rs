use crate::{
    envelope,
    item::{KvItem, Marks},
    shelf::{Changed, ItemDeed, Shelf, ShelfError, ShelfGauge, Sight, Trace},
};
use bytes::Bytes;
use ripstop_memory::{CodedMemory, CodedMemoryError, Presence, StoredValue, Version};
use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

/// How often a change is tried while others change the same key.
const TRIES_MAX: usize = 256;

/// Items in a memory tier: what is answered survives the loss of servers.
///
/// That an item was fetched is not stored: it would be a write for every read.
#[derive(Debug)]
pub struct CodedShelf {
    memory: CodedMemory,
    /// The latest version that was seen.
    latest: AtomicU64,
    /// What has this version or an earlier one is flushed.
    flushed: AtomicU64,
    /// What was last stored in this second or before is flushed, once that second has come; 0:
    /// nothing.
    flushed_s: AtomicU32,
    stored: AtomicU64,
    found_ended: AtomicU64,
    found_flushed: AtomicU64,
}

/// What a key has, whether it lives or not.
struct Held {
    version: Version,
    item: KvItem,
}

impl CodedShelf {
    /// Over a memory that nobody else writes to.
    pub fn new(memory: CodedMemory) -> Self {
        Self {
            memory,
            latest: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            flushed_s: AtomicU32::new(0),
            stored: AtomicU64::new(0),
            found_ended: AtomicU64::new(0),
            found_flushed: AtomicU64::new(0),
        }
    }

    fn open(&self, stored: StoredValue) -> Option<Held> {
        let StoredValue { bytes, version } = stored;
        self.latest.fetch_max(version.0, Relaxed);
        let mut item = envelope::open(bytes)?;
        if item.cas == 0 {
            item.cas = version.0;
        }
        Some(Held { version, item })
    }

    fn lives(&self, held: &Held, now_s: u32) -> bool {
        let flushed_s = self.flushed_s.load(Relaxed);
        let is_flushed = held.version.0 <= self.flushed.load(Relaxed)
            || (flushed_s != 0 && flushed_s <= now_s && held.item.used_s <= flushed_s);
        let has_ended = held.item.has_ended(now_s);
        if is_flushed {
            self.found_flushed.fetch_add(1, Relaxed);
        } else if has_ended {
            self.found_ended.fetch_add(1, Relaxed);
        }
        !is_flushed && !has_ended
    }

    /// The item, if it lives; one that does not is removed.
    async fn living(&self, key: &[u8], stored: Option<StoredValue>, now_s: u32) -> Option<KvItem> {
        let held = self.open(stored?)?;
        if self.lives(&held, now_s) {
            return Some(held.item);
        }
        // If others were faster, or it cannot be done, it goes another time.
        let _ = self.memory.delete(key, Presence::Is(held.version)).await;
        None
    }

    /// Stores an item if the condition holds; what it is then.
    async fn put(
        &self,
        key: &[u8],
        item: KvItem,
        presence: Presence,
    ) -> Result<KvItem, CodedMemoryError> {
        let value = envelope::wrap(&item);
        let version = self.memory.put_until(key, value, presence, expiry(&item)).await?;
        self.latest.fetch_max(version.0, Relaxed);
        let cas = if item.cas == 0 { version.0 } else { item.cas };
        Ok(KvItem { cas, ..item })
    }

    /// Does what was decided of what is there; what is there then.
    async fn carry_out(
        &self,
        key: &[u8],
        deed: ItemDeed,
        before: Option<&KvItem>,
        presence: Presence,
    ) -> Result<Option<KvItem>, CodedMemoryError> {
        match deed {
            ItemDeed::Keep => Ok(before.cloned()),
            ItemDeed::Edit(item) if before.is_some_and(|before| is_trace(before, &item)) => {
                Ok(Some(item))
            }
            ItemDeed::Edit(item) => self.put(key, item, presence).await.map(Some),
            ItemDeed::Store(item) => {
                let item = self.put(key, KvItem { cas: 0, ..item }, presence).await?;
                self.stored.fetch_add(1, Relaxed);
                Ok(Some(item))
            }
            ItemDeed::Remove => {
                self.memory.delete(key, presence).await?;
                Ok(None)
            }
        }
    }
}

/// When the tier lets the item go, if nobody does before. Its clock and that of commands begin at
/// other moments, so it is a second late, and a read still looks at the end.
fn expiry(item: &KvItem) -> Option<SystemTime> {
    let end_s = u64::from(item.exptime_s);
    (end_s > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(end_s + 1))
}

/// Whether an edit only says that the item is in use.
fn is_trace(before: &KvItem, item: &KvItem) -> bool {
    before.exptime_s == item.exptime_s
        && before.flags == item.flags
        && before.marks.with(Marks::FETCHED) == item.marks.with(Marks::FETCHED)
}

impl From<CodedMemoryError> for ShelfError {
    fn from(error: CodedMemoryError) -> Self {
        match error {
            CodedMemoryError::Busy => Self::Busy,
            CodedMemoryError::TooLong | CodedMemoryError::Key(_) => Self::TooLong,
            CodedMemoryError::Condition(_) => Self::Contended,
            CodedMemoryError::Unavailable | CodedMemoryError::Ended => Self::Unavailable,
        }
    }
}

impl Shelf for CodedShelf {
    async fn read(
        &self,
        key: &[u8],
        _trace: Trace,
        now_s: u32,
    ) -> Result<Option<KvItem>, ShelfError> {
        let stored = self.memory.get(key).await?;
        Ok(self.living(key, stored, now_s).await)
    }

    async fn read_many(
        &self,
        keys: &[Bytes],
        now_s: u32,
    ) -> Result<Vec<Option<KvItem>>, ShelfError> {
        let named: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let stored = self.memory.get_many(&named).await?;
        let mut items = Vec::with_capacity(keys.len());
        for (key, stored) in keys.iter().zip(stored) {
            items.push(self.living(key, stored, now_s).await);
        }
        Ok(items)
    }

    async fn change<T: Send>(
        &self,
        key: &[u8],
        sight: Sight,
        now_s: u32,
        mut decide: impl FnMut(Option<&KvItem>) -> (ItemDeed, T) + Send,
    ) -> Result<Changed<T>, ShelfError> {
        if sight == Sight::Blind {
            let (deed, told) = decide(None);
            let after = self.carry_out(key, deed, None, Presence::Any).await?;
            return Ok(Changed { before: None, after, told });
        }
        for _ in 0..TRIES_MAX {
            let stored = self.memory.get(key).await?;
            let version = stored.as_ref().map(|stored| stored.version);
            let presence = version.map_or(Presence::Absent, Presence::Is);
            let held = stored.and_then(|stored| self.open(stored));
            let before = held.filter(|held| self.lives(held, now_s)).map(|held| held.item);
            let (deed, told) = decide(before.as_ref());
            match self.carry_out(key, deed, before.as_ref(), presence).await {
                Ok(after) => return Ok(Changed { before, after, told }),
                Err(CodedMemoryError::Condition(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ShelfError::Contended)
    }

    async fn flush(&self, at_s: u32, now_s: u32) {
        if at_s <= now_s {
            self.flushed_s.store(0, Relaxed);
            // What was answered was seen.
            self.flushed.fetch_max(self.latest.load(Relaxed), Relaxed);
            // What comes later waits until all is gone, at servers too. If too many of these are
            // lost, what they have left is flushed by its version.
            let _ = self.memory.flush().await;
        } else {
            self.flushed_s.store(at_s - 1, Relaxed);
        }
    }

    fn gauge(&self) -> ShelfGauge {
        let status = self.memory.status();
        ShelfGauge {
            items: status.keys as u64,
            bytes: status.chunk_bytes.saturating_sub(status.dead_bytes),
            stored: self.stored.load(Relaxed),
            found_ended: self.found_ended.load(Relaxed),
            found_flushed: self.found_flushed.load(Relaxed),
            ..ShelfGauge::default()
        }
    }

    fn waits(&self) -> bool {
        true
    }
}
