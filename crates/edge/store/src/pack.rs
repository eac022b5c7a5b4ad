//! Packs: stripes that hold many small objects, and tell of all of them and of deletions.
//!
//! The payload of a pack is a *directory*, which says what it tells of each key, and then the bytes
//! of its members. The headers say no more than that it is a pack, and how the directory can be
//! known. So what is told is coded and encrypted as bytes are, instead of standing in every header.

mod batch;
mod commit;
mod directory;
mod layout;
mod reassert;
mod retrieve;
mod survivors;
mod write;

pub(crate) use batch::ENTRIES_LEN_MAX;
pub use batch::{Batch, Deed, Done, Member};
pub use directory::{DIRECTORY_LEN_MAX, MEMBERS_MAX, PackDirectory, PackEntry, PackMark};
pub use layout::{PackLayout, lay_out};
