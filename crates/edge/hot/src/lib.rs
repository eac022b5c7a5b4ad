//! Keeps blocks that pools read often in memory servers, coded across them.
//!
//! * [`HotTier`] is a memory tier and what it decides of blocks: which are worth a place, how long
//!   reads wait for it, how much is on its way there.
//! * [`HotPool`] is what one pool sees of it ([`HotBlocks`](ripstop_runtime::HotBlocks)): it counts
//!   what its reads found, and what that spared.
//!
//! A block is named by its stripe, its strip and its number, and never changes, so nothing kept can
//! be out of date. It is kept as it stands at nodes, sealed, and encrypted where the pool encrypts;
//! the pool verifies it. It deliberately keeps nothing over a restart, and tells the pool's machine
//! nothing: that sees the reads which are left.

mod count;
mod pool;
mod tier;

pub use count::HotStatus;
pub use pool::HotPool;
pub use tier::{HotTier, HotTierSettings};
