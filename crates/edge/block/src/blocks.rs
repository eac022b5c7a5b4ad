use crate::{
    Buffer,
    pool::{BLOCK_LEN, Block, Pool},
};
use std::{fmt, sync::Arc, time::Duration};

/// A pool of blocks. Cheap to clone; all clones are the same pool.
#[derive(Clone)]
pub struct Blocks(Arc<Pool>);

impl Blocks {
    /// A pool that keeps at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Pool::new(bytes_max / BLOCK_LEN)))
    }

    /// A buffer for `len` bytes, at most [`BLOCK_LEN`]: a block, or, for less than half of one, as
    /// much as it takes of the allocator's memory.
    ///
    /// # Panics
    /// If `len` is more than a block has.
    pub fn buffer(&self, len: usize) -> Buffer {
        assert!(len <= BLOCK_LEN, "a buffer of {len} bytes is more than a block");
        if len <= BLOCK_LEN / 2 { Buffer::small(len) } else { Buffer::block(self.take(), len) }
    }

    /// Blocks that somebody has now.
    pub fn in_use(&self) -> usize {
        self.0.in_use()
    }

    /// Bytes that are mapped, in use or not.
    pub fn mapped(&self) -> usize {
        self.0.mapped()
    }

    /// Gives slabs back to the system of which no block was used for as long as `idle`; answers how
    /// many bytes that were.
    pub fn trim(&self, idle: Duration) -> usize {
        self.0.trim(idle)
    }

    fn take(&self) -> Block {
        self.0.take()
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
            .field("blocks_max", &self.0.blocks_max())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{ALIGN, SLAB_BLOCKS};
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
