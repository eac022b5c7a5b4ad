use bytes::BytesMut;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Bytes of a block.
pub const BLOCK_LEN: usize = 64 << 10;
/// Every block begins at a multiple of this: what direct access to any disk of today asks for.
pub const ALIGN: usize = 4096;
/// Blocks that are mapped together, and given back together.
pub(crate) const SLAB_BLOCKS: usize = 32;

/// The blocks there are: slabs of them, and how many may be kept.
pub(crate) struct Pool {
    slabs: Mutex<Slabs>,
    /// Blocks that may be kept; a buffer beyond them is the allocator's, and goes back to it.
    blocks_max: usize,
    in_use: AtomicUsize,
}

#[derive(Default)]
struct Slabs {
    by_number: BTreeMap<u32, Slab>,
    /// Those with a free block. The lowest is used first, so that the others can empty.
    with_free: BTreeSet<u32>,
    numbered: u32,
}

struct Slab {
    free: Vec<BytesMut>,
    /// When its last block came back.
    whole_since: Instant,
}

/// A block out of the pool, which returns as this is dropped.
pub(crate) struct Block {
    /// All of it, whatever was in it before.
    pub bytes: BytesMut,
    /// Its slab, if it is of one.
    home: Option<(u32, Arc<Pool>)>,
}

impl Pool {
    pub(crate) fn new(blocks_max: usize) -> Self {
        Self { slabs: Mutex::default(), blocks_max, in_use: AtomicUsize::new(0) }
    }

    pub(crate) fn blocks_max(&self) -> usize {
        self.blocks_max
    }

    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Relaxed)
    }

    /// Bytes that are mapped, in use or not.
    pub(crate) fn mapped(&self) -> usize {
        self.lock().by_number.len() * SLAB_BLOCKS * BLOCK_LEN
    }

    /// Gives back slabs that were idle for this long; answers how many bytes that were.
    pub(crate) fn trim(&self, idle: Duration) -> usize {
        let mut slabs = self.lock();
        let is_idle = |slab: &Slab| {
            slab.free.len() == SLAB_BLOCKS && ripstop_host::since(slab.whole_since) >= idle
        };
        let gone: Vec<u32> =
            slabs.by_number.iter().filter(|(_, slab)| is_idle(slab)).map(|(&at, _)| at).collect();
        let unmapped: Vec<Slab> = gone
            .iter()
            .filter_map(|number| {
                slabs.with_free.remove(number);
                slabs.by_number.remove(number)
            })
            .collect();
        drop(slabs);
        // Unmapping takes time: not under the lock.
        unmapped.len() * SLAB_BLOCKS * BLOCK_LEN
    }

    /// A block: of a slab, if it may be kept.
    pub(crate) fn take(self: &Arc<Self>) -> Block {
        let pool = self;
        let in_use = pool.in_use.fetch_add(1, Relaxed);
        let mut slabs = pool.lock();
        let number = match slabs.with_free.first() {
            Some(&number) => number,
            None if in_use < pool.blocks_max => slabs.map(),
            None => {
                drop(slabs);
                let mut bytes = aligned(BLOCK_LEN);
                bytes.truncate(BLOCK_LEN);
                return Block { bytes, home: Some((0, pool.clone())) };
            }
        };
        let slab = slabs.by_number.get_mut(&number).expect("a slab with free blocks is there");
        let bytes = slab.free.pop().expect("it has a free block");
        if slab.free.is_empty() {
            slabs.with_free.remove(&number);
        }
        drop(slabs);
        Block { bytes, home: Some((number, pool.clone())) }
    }

    fn lock(&self) -> MutexGuard<'_, Slabs> {
        // Nothing that can panic leaves the lists half changed.
        self.slabs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slabs {
    /// Maps a slab; its pages come as they are touched.
    fn map(&mut self) -> u32 {
        let mut bytes = aligned(SLAB_BLOCKS * BLOCK_LEN);
        let free = (0..SLAB_BLOCKS).map(|_| bytes.split_to(BLOCK_LEN)).rev().collect();
        // Zero is no slab's number: blocks without one have it.
        self.numbered = self.numbered.wrapping_add(1).max(1);
        let number = self.numbered;
        self.by_number.insert(number, Slab { free, whole_since: ripstop_host::now() });
        self.with_free.insert(number);
        number
    }
}

/// At least `len` bytes of zeros that begin where a block may.
fn aligned(len: usize) -> BytesMut {
    let mut bytes = BytesMut::zeroed(len + ALIGN);
    let ahead = bytes.as_ptr().align_offset(ALIGN);
    drop(bytes.split_to(ahead));
    bytes
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some((number, pool)) = self.home.take() else { return };
        pool.in_use.fetch_sub(1, Relaxed);
        if number == 0 {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let mut slabs = pool.lock();
        if let Some(slab) = slabs.by_number.get_mut(&number) {
            slab.free.push(bytes);
            if slab.free.len() == SLAB_BLOCKS {
                slab.whole_since = ripstop_host::now();
            }
            slabs.with_free.insert(number);
        }
    }
}
