//! The file as one transaction left it, while later ones write to it.
//!
//! A transaction writes pages to free places only, and places are free once nothing that is being
//! read needs them. So as long as a read transaction is open that is older than a commit, the
//! tables' pages of that commit stay in the file; together with the file's header as it was just
//! then they are the whole catalog, page checksums included. Nobody waits meanwhile: the file only
//! grows a little more.
//!
//! Only the tree in which redb keeps what is free is no reader's business, and its pages do not
//! stay. A snapshot's header names none: whatever its tables do not need is free.

use super::failure::unavailable;
use super::storage::Storage;
use crate::CatalogError;
use redb::{Database, ReadTransaction, ReadableDatabase, StorageBackend};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use twox_hash::XxHash3_128;

/// Bytes at the beginning of the file that say where everything else is: redb's page.
pub const HEADER_LEN: usize = 4096;
/// Where the header has redb's flags.
const FLAGS: usize = 9;
/// That the newest commit is whole, so that nothing may fall back to the one before it.
const NEWEST_IS_WHOLE: u8 = 4;

/// In the flags: which of the two commit slots is the newest's.
const NEWEST_IS_SECOND: u8 = 1;
/// Where the two commit slots are.
const SLOTS: [usize; 2] = [64, 192];
/// In a slot: whether there is a tree of what is free.
const HAS_FREE: usize = 2;
/// In a slot: where it is.
const FREE: Range<usize> = 40..72;
/// In a slot: bytes before their checksum.
const SLOT_LEN: usize = 112;

/// Takes the tree of what is free out of the newest commit, and has nothing get around what is
/// damaged in it by way of the one before. A slot that is not what was written stays as it is, to
/// be found.
fn leave_out_what_is_free(header: &mut [u8]) {
    let newest = usize::from(header[FLAGS] & NEWEST_IS_SECOND != 0);
    header[FLAGS] |= NEWEST_IS_WHOLE;
    let slot = &mut header[SLOTS[newest]..][..SLOT_LEN + size_of::<u128>()];
    let sum = |slot: &[u8]| XxHash3_128::oneshot(&slot[..SLOT_LEN]).to_le_bytes();
    if slot[SLOT_LEN..] != sum(slot) {
        return;
    }
    slot[HAS_FREE] = 0;
    slot[FREE].fill(0);
    let sum = sum(slot);
    slot[SLOT_LEN..].copy_from_slice(&sum);
}

/// Where a snapshot is in the file.
#[derive(Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The first [`HEADER_LEN`] bytes.
    pub header: Vec<u8>,
    /// How many bytes there are, the header's included.
    pub len: u64,
}

impl fmt::Debug for Extracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extracted").field("len", &self.len).finish_non_exhaustive()
    }
}

/// A state of the catalog whose pages stay in the file until this is dropped, or the database is
/// opened again.
pub struct Snapshot {
    pub(super) extracted: Extracted,
    pub(super) storage: Arc<dyn Storage>,
    /// Keeps the pages.
    _held: ReadTransaction,
    /// Whether they are kept.
    pub(super) kept: Arc<AtomicBool>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.extracted.fmt(f)
    }
}

impl Snapshot {
    /// Of a database without changes in memory only. `kept` says whether the database is open,
    /// `is_written` whether anybody may write to it meanwhile.
    pub(super) fn take(
        database: &Database,
        is_written: bool,
        storage: Arc<dyn Storage>,
        kept: Arc<AtomicBool>,
    ) -> Result<Self, CatalogError> {
        let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
        // The reader must be older than the commit that it keeps, whose pages a later one frees
        // else.
        let held = database.begin_read().map_err(unavailable)?;
        if is_written {
            database.begin_write().map_err(unavailable)?.commit().map_err(unavailable)?;
        }
        let file = storage.look().map_err(failed)?;
        let mut header = vec![0; HEADER_LEN];
        file.read(0, &mut header).map_err(failed)?;
        leave_out_what_is_free(&mut header);
        let extracted = Extracted { header, len: file.len().map_err(failed)? };
        Ok(Self { extracted, storage, _held: held, kept })
    }

    /// Where it is in the file.
    pub fn extracted(&self) -> &Extracted {
        &self.extracted
    }

    /// Whether its pages are still kept.
    pub fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Acquire)
    }
}

/// How far the reading of a snapshot has come, and whether it should stop. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub struct Reading(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    records: AtomicU64,
    stop: AtomicBool,
}

impl Reading {
    /// Bytes of pages read, those that are read twice twice.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Records looked at.
    pub fn records(&self) -> u64 {
        self.0.records.load(Ordering::Relaxed)
    }

    /// Has it end with an error.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Fails once it was stopped.
    pub(super) fn go_on(&self) -> io::Result<()> {
        if self.0.stop.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "stopped"));
        }
        Ok(())
    }

    pub(super) fn add_bytes(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_record(&self) {
        self.0.records.fetch_add(1, Ordering::Relaxed);
    }
}

/// A snapshot as a file of its own, which may be written: what is written stays in memory.
pub(super) struct Overlay {
    file: Box<dyn StorageBackend>,
    header: Vec<u8>,
    written: Mutex<Written>,
    reading: Reading,
    pace: Option<Pace>,
    last: LastRead,
}

/// Where the last read began, and what it read.
pub(super) type LastRead = Arc<Mutex<(u64, Vec<u8>)>>;

struct Written {
    len: u64,
    /// In the order in which they were written: few.
    bytes: Vec<(u64, Vec<u8>)>,
}

impl Overlay {
    /// `file` is where the snapshot's pages are.
    pub(super) fn new(
        file: Box<dyn StorageBackend>,
        extracted: &Extracted,
        reading: Reading,
        pace: Option<Pace>,
    ) -> Self {
        let header = extracted.header.clone();
        let written = Mutex::new(Written { len: extracted.len, bytes: Vec::new() });
        Self { file, header, written, reading, pace, last: Arc::default() }
    }

    /// Where the last read was: in a page that is not what was written, if opening ended with that.
    pub(super) fn last(&self) -> LastRead {
        Arc::clone(&self.last)
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay").finish_non_exhaustive()
    }
}

/// Copies what of `from`, which begins at `at`, falls into `to`, which begins at `offset`.
fn lay_over(to: &mut [u8], offset: u64, from: &[u8], at: u64) {
    let (begin, end) = (offset.max(at), (offset + to.len() as u64).min(at + from.len() as u64));
    if begin < end {
        let to = &mut to[(begin - offset) as usize..(end - offset) as usize];
        to.copy_from_slice(&from[(begin - at) as usize..(end - at) as usize]);
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reading.go_on()?;
        if let Some(pace) = &self.pace {
            pace.spend(out.len());
        }
        // The file may have become shorter behind the snapshot's last page.
        let there = self.file.len()?.saturating_sub(offset).min(out.len() as u64) as usize;
        self.file.read(offset, &mut out[..there])?;
        out[there..].fill(0);
        lay_over(out, offset, &self.header, 0);
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, bytes) in &written.bytes {
            lay_over(out, offset, bytes, *at);
        }
        self.reading.add_bytes(out.len());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.0 = offset;
        last.1.clear();
        last.1.extend_from_slice(out);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            written.bytes.iter_mut().find(|(at, bytes)| *at == offset && bytes.len() == data.len());
        match known {
            // Nothing lies over a page but the page itself.
            Some((_, bytes)) => bytes.copy_from_slice(data),
            None => written.bytes.push((offset, data.to_vec())),
        }
        Ok(())
    }
}

/// Most bytes a second that are read.
#[derive(Debug)]
pub(super) struct Pace {
    bytes_per_second: u64,
    begun: Instant,
    spent: AtomicU64,
}

impl Pace {
    pub(super) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, begun: ripstop_host::now(), spent: AtomicU64::new(0) }
    }

    /// Waits until `bytes` more may be read.
    fn spend(&self, bytes: usize) {
        /// Shorter waits are saved up.
        const WORTH_WHILE: Duration = Duration::from_millis(10);
        let spent = self.spent.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let due = Duration::from_secs_f64(spent as f64 / self.bytes_per_second.max(1) as f64);
        let ahead = due.saturating_sub(ripstop_host::since(self.begun));
        if ahead > WORTH_WHILE {
            thread::sleep(ahead);
        }
    }
}
