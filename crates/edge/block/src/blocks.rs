use crate::Buffer;
use bytes::BytesMut;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
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
const SLAB_BLOCKS: usize = 32;

/// A pool of blocks. Cheap to clone; all clones are the same pool.
#[derive(Clone)]
pub struct Blocks(Arc<Pool>);

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

impl Blocks {
    /// A pool that keeps at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Pool {
            slabs: Mutex::default(),
            blocks_max: bytes_max / BLOCK_LEN,
            in_use: AtomicUsize::new(0),
        }))
    }

    /// A buffer for `len` bytes, at most [`BLOCK_LEN`]: a block, or, for less than half of one, as much
    /// as it takes of the allocator's memory.
    ///
    /// # Panics
    /// If `len` is more than a block has.
    pub fn buffer(&self, len: usize) -> Buffer {
        assert!(len <= BLOCK_LEN, "a buffer of {len} bytes is more than a block");
        if len <= BLOCK_LEN / 2 { Buffer::small(len) } else { Buffer::block(self.take(), len) }
    }

    /// Blocks that somebody has now.
    pub fn in_use(&self) -> usize {
        self.0.in_use.load(Relaxed)
    }

    /// Bytes that are mapped, in use or not.
    pub fn mapped(&self) -> usize {
        self.0.lock().by_number.len() * SLAB_BLOCKS * BLOCK_LEN
    }

    /// Gives slabs back to the system of which no block was used for as long as `idle`; answers how many
    /// bytes that were.
    pub fn trim(&self, idle: Duration) -> usize {
        let mut slabs = self.0.lock();
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

    fn take(&self) -> Block {
        let pool = &self.0;
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
}

impl Pool {
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

impl Default for Blocks {
    /// A pool that keeps 64 MiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("in_use", &self.in_use())
            .field("blocks_max", &self.0.blocks_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLAB_LEN: usize = SLAB_BLOCKS * BLOCK_LEN;

    #[test]
    fn blocks_are_aligned_and_never_overlap() {
        let blocks = Blocks::new(2 * SLAB_LEN);
        let held: Vec<Block> = (0..2 * SLAB_BLOCKS).map(|_| blocks.take()).collect();
        let mut starts: Vec<usize> = held.iter().map(|block| block.bytes.as_ptr().addr()).collect();
        starts.sort_unstable();
        assert!(starts.iter().all(|start| start % ALIGN == 0));
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= BLOCK_LEN));
    }

    #[test]
    fn a_block_that_came_back_is_used_again() {
        let blocks = Blocks::new(SLAB_LEN);
        let first = blocks.take();
        let at = first.bytes.as_ptr().addr();
        drop(first);
        assert_eq!(blocks.take().bytes.as_ptr().addr(), at);
        assert_eq!(blocks.mapped(), SLAB_LEN, "one slab, mapped once");
    }

    #[test]
    fn what_is_beyond_the_limit_is_served_and_not_kept() {
        let blocks = Blocks::new(SLAB_LEN);
        let held: Vec<Block> = (0..SLAB_BLOCKS + 5).map(|_| blocks.take()).collect();
        assert_eq!((blocks.in_use(), blocks.mapped()), (SLAB_BLOCKS + 5, SLAB_LEN));
        let is_block = |block: &Block| {
            block.bytes.len() == BLOCK_LEN && block.bytes.as_ptr().addr().is_multiple_of(ALIGN)
        };
        assert!(held.iter().all(is_block));
        drop(held);
        assert_eq!((blocks.in_use(), blocks.mapped()), (0, SLAB_LEN));
    }

    #[test]
    fn idle_slabs_go_back_to_the_system_and_used_ones_stay() {
        let blocks = Blocks::new(3 * SLAB_LEN);
        let mut held: Vec<Block> = (0..3 * SLAB_BLOCKS).map(|_| blocks.take()).collect();
        assert_eq!(blocks.trim(Duration::ZERO), 0, "all are in use");
        held.truncate(1);
        assert_eq!(blocks.trim(Duration::from_hours(1)), 0, "none is idle for an hour");
        assert_eq!(blocks.trim(Duration::ZERO), 2 * SLAB_LEN);
        assert_eq!(blocks.mapped(), SLAB_LEN);
        drop(held);
        assert_eq!(blocks.trim(Duration::ZERO), SLAB_LEN);
        drop(blocks.take());
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(
            lens in prop::collection::vec(1..=BLOCK_LEN, 1..40), keep in 0..8usize,
        ) {
            let blocks = Blocks::new(SLAB_LEN);
            let mut held = Vec::new();
            for (at, len) in lens.into_iter().enumerate() {
                let mut buffer = blocks.buffer(len);
                buffer.extend_from_slice(&vec![at as u8; len]);
                held.push((at, len, buffer.freeze()));
                if held.len() > keep {
                    held.remove(0);
                }
                for (at, len, bytes) in &held {
                    prop_assert_eq!(bytes.len(), *len);
                    prop_assert!(bytes.iter().all(|&byte| byte == *at as u8));
                }
            }
        }
    }
}
