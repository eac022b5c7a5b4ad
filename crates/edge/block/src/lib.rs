//! Reusable blocks of memory: strips are received, read, computed and written in them.
//!
//! A [`Blocks`] hands out buffers of one size, aligned for direct access to disks, and takes them
//! back when the last reader lets go. They are carved from slabs that the system maps once and
//! fills with pages as they are first touched, so a gateway under load neither maps, unmaps nor
//! faults. Slabs that stay unused are given back. It deliberately refuses nobody: who may use how
//! much memory is decided where requests are admitted.
//!
//! ```
//! use ripstop_block::Blocks;
//!
//! let blocks = Blocks::new(1 << 20);
//! let mut buffer = blocks.buffer(50_000);
//! buffer.extend_from_slice(b"bytes");
//! let bytes = buffer.freeze();
//! assert_eq!(bytes, "bytes");
//! assert_eq!(blocks.in_use(), 1);
//! drop(bytes);
//! assert_eq!(blocks.in_use(), 0);
//! ```

mod blocks;
mod buffer;
mod pool;

pub use blocks::Blocks;
pub use buffer::Buffer;
pub use pool::{ALIGN, BLOCK_LEN};
